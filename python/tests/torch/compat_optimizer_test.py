#!/usr/bin/env python3
"""genscope.compat.optimizer with a real, tiny pipeline in a folder that save_pretrained() wrote: the
document's examples as they stand but for the import line, and what its original does wrong."""
import ast
import asyncio
import contextlib
import io
import logging
import os
import pathlib
import re
import shutil
import tempfile
import types
import unittest

import torch
from PIL import Image

import genscope as gs
from genscope.compat import optimizer as compat
from genscope.compat.optimizer import (ModelMissing, OptimizationConfig, calculate_memory_usage,
                                       create_performance_optimizer)
from genscope.hooks.diffusers_state import offload

import tiny_text
from harness import spans_of

EXAMPLES = pathlib.Path(__file__).parent.parent / "data" / "seed_examples"
QUIET = dict(enable_gradient_checkpointing=False, gradient_accumulation_steps=1,
             enable_attention_slicing=False, enable_tensorboard=False)
SMALL = dict(width=32, height=32)
_MODELS = tempfile.mkdtemp(prefix="genscope-models-")


def setUpModule():
    """Folders with the document's names, so that its examples find them."""
    os.environ["WANDB_MODE"] = "disabled"
    logging.getLogger("genscope.compat.optimizer").setLevel(logging.ERROR)
    for name, make in (("stabilityai/stable-diffusion-2-1", tiny_text.sd),
                       ("stabilityai/stable-diffusion-xl-base-1.0", tiny_text.sdxl)):
        make()[0].save_pretrained(os.path.join(_MODELS, name))
    tiny_text.clip_tokenizer().save_pretrained(os.path.join(_MODELS, "openai/clip-vit-large-patch14"))


def tearDownModule():
    shutil.rmtree(_MODELS, ignore_errors=True)


class Here(unittest.TestCase):
    def setUp(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(_MODELS)

    def run_example(self, number, **names):
        """What it prints, and its names. Top-level awaits are run."""
        (path,) = EXAMPLES.glob(f"003_{number}_*.py")
        source = re.sub(r"from [\w.]*performance_optimizer import", "from genscope.compat.optimizer import",
                        path.read_text())
        code = compile(source, path.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        names.setdefault("asyncio", asyncio)
        for name in compat.__all__:
            names.setdefault(name, getattr(compat, name))
        with contextlib.redirect_stdout(io.StringIO()) as out:
            found = eval(code, names)
            if asyncio.iscoroutine(found):
                asyncio.run(self.ended(found, names))
        return out.getvalue(), names

    async def ended(self, found, names):
        await found
        for made in list(names.values()):
            if isinstance(made, compat.PerformanceOptimizer):
                await made.cleanup()


class Examples(Here):
    def test_basic_usage(self):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["GENSCOPE_OUT"] = folder
            self.addCleanup(os.environ.pop, "GENSCOPE_OUT", None)
            out, _ = self.run_example("02")
            self.assertIn("'total_requests': 2", out)
            self.assertIn("video_generation_time", out)
            (run,) = os.listdir(folder)  # enable_profiling
            names = {span["name"] for span in spans_of(os.path.join(folder, run))}
        self.assertLessEqual({"text_processing", "video_generation"}, names)

    def test_batches(self):
        _, names = self.run_example("03")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            asyncio.run(names["batch_optimization_example"]())
        self.assertEqual(re.findall(r"Task (\d) result: <class '[\w.]*\.(\w+)'>", out.getvalue()), [
            ("0", "ProcessedText"), ("1", "ProcessedText"), ("2", "VideoData"), ("3", "VideoData")])

    def test_custom_configuration(self):
        _, names = self.run_example("04")

        async def use():
            optimizer = await names["custom_config_example"]()
            try:
                video = await optimizer.optimize_video_generation("a lake", num_inference_steps=2, **SMALL)
                return optimizer.notes, Image.open(io.BytesIO(video)).size
            finally:
                await optimizer.cleanup()
        notes, size = asyncio.run(use())
        self.assertEqual(size, (32, 32))
        if not torch.cuda.is_available():
            self.assertIn("gpu_0: torch sees 0 CUDA devices; gpu_1", notes["gpu_ids"])

    def test_resource_management(self):
        _, names = self.run_example("07", config=OptimizationConfig(**QUIET))
        self.assertEqual(names["optimizer"].model_manager.loaded(), [])

    def test_error_handling(self):
        async def both():
            names["optimizer"] = await create_performance_optimizer(OptimizationConfig(**QUIET))
            code = compile(source, "08", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            await eval(code, names)
            await names["optimizer"].cleanup()
        names = {"retry_operation": compat.retry_operation}
        source = next(EXAMPLES.glob("003_08_*.py")).read_text()
        asyncio.run(both())
        self.assertEqual(names["result"], "Your text here")

    def test_performance_monitoring(self):
        out, _ = self.run_example("09")
        self.assertEqual(out, "Cache hit rate: n/a\n")

    def test_memory_management(self):
        async def both():
            names["optimizer"] = await create_performance_optimizer(OptimizationConfig(**QUIET))
            await eval(compile(source, "10", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
            await names["optimizer"].cleanup()
        names = {}
        source = next(EXAMPLES.glob("003_10_*.py")).read_text()
        with contextlib.redirect_stdout(io.StringIO()) as out:
            asyncio.run(both())
        self.assertEqual(len(out.getvalue().splitlines()), len(names["memory_info"]))
        self.assertEqual(len(names["memory_info"]), 1 if torch.cuda.is_available() else 0)

    def test_configuration_validation(self):
        self.run_example("11")

    def test_an_existing_system(self):
        _, names = self.run_example("12", VideoRequest=types.SimpleNamespace, VideoResponse=types.SimpleNamespace)

        async def use():
            system = names["AIVideoSystem"]()
            await system.initialize()
            answer = await system.generate_video(types.SimpleNamespace(prompt="a lake", num_steps=2))
            await system.performance_optimizer.cleanup()
            return answer.video_data
        self.assertTrue(asyncio.run(use()).startswith(b"\x89PNG"))

    def test_debug_mode(self):
        self.run_example("13")


class Page(Here):
    def test_its_sample_runs(self):
        page = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "python-compat.md").read_text()
        source = re.findall(r"```python\n(.*?)```", page, re.S)[1]
        os.symlink("stabilityai/stable-diffusion-2-1", "my-pipeline")
        self.addCleanup(os.remove, "my-pipeline")
        exec(compile(source, "python-compat.md", "exec"), {"__name__": "page"})
        self.assertEqual(Image.open("lake.png").size, (32, 32))
        os.remove("lake.png")


class WithOptimizer(Here):
    """Each test gets an optimizer in a loop."""

    def use(self, test, **settings):
        async def run():
            optimizer = await create_performance_optimizer(OptimizationConfig(**{**QUIET, **settings}))
            try:
                return await test(optimizer)
            finally:
                await optimizer.cleanup()
        return asyncio.run(run())


class Behaviour(WithOptimizer):
    def test_the_same_picture_as_the_pipeline_itself(self):
        pipe, _ = tiny_text.sd()
        expected = pipe("a lake", num_inference_steps=2, generator=tiny_text.seeded(5), **SMALL).images[0]

        async def test(optimizer):
            made = await optimizer.optimize_video_generation("a lake", num_inference_steps=2, seed=5, **SMALL)
            self.assertEqual(made.frames[0].tobytes(), expected.tobytes())
            self.assertEqual(Image.open(io.BytesIO(made)).tobytes(), expected.tobytes())
            self.assertEqual(made.seed, 5)
        self.use(test)

    def test_several_frames_are_a_moving_picture(self):
        frames = [Image.new("RGB", (8, 8), (i * 40, 0, 0)) for i in range(4)]
        made = Image.open(io.BytesIO(compat.VideoData(frames, 0, 8.0)))
        self.assertEqual(made.n_frames, 4)

    def test_processed_texts_know_their_tokens(self):
        async def test(optimizer):
            text = await optimizer.optimize_text_processing("a red cat")
            self.assertEqual(text, "a red cat")
            self.assertEqual((text.token_count, text.truncated), (9, False))
            self.assertEqual(tuple(text.embedding.shape), (1, 9, 32))
            self.assertTrue((await optimizer.optimize_text_processing("cat " * 60)).truncated)
            again = await optimizer.optimize_text_processing("a red cat")
            self.assertTrue(again.embedding.equal(text.embedding))
            stats = await optimizer.get_optimization_stats()
            self.assertEqual((stats["cache_hits"], stats["cache_misses"]), (1, 2))
        self.use(test)

    def test_a_missing_model_is_an_error_that_says_how_to_get_it(self):
        with self.assertRaises(ModelMissing) as raised:
            asyncio.run(create_performance_optimizer(OptimizationConfig(model_name="nobody/nothing", **QUIET)))
        self.assertIn("hf download nobody/nothing", str(raised.exception))
        with self.assertRaises(ModelMissing):
            asyncio.run(create_performance_optimizer(OptimizationConfig(model_name="./nothing", **QUIET)))

    def test_a_bad_task_is_told_before_any_runs(self):
        async def test(optimizer):
            with self.assertRaises(ValueError) as raised:
                await optimizer.run_batch_optimization([{"type": "text", "text": "a"}, {"type": "audio"}])
            self.assertIn("tasks[1]", str(raised.exception))
            self.assertEqual((await optimizer.get_optimization_stats())["total_requests"], 0)
        self.use(test)

    def test_void_settings_are_warned_about(self):
        with self.assertLogs("genscope.compat.optimizer", "WARNING") as logs:
            async def test(optimizer):
                await optimizer.optimize_text_processing("a")
                return optimizer.notes
            notes = self.use(test, enable_gradient_checkpointing=True, gradient_accumulation_steps=4,
                             enable_attention_slicing=True)
        for name in ("enable_gradient_checkpointing", "gradient_accumulation_steps", "enable_attention_slicing"):
            self.assertIn(name, notes)
            self.assertIn(name, "\n".join(logs.output))
        self.assertIn("sdpa", notes["enable_attention_slicing"])

    def test_bytes_of_a_tensor(self):
        self.assertEqual(calculate_memory_usage(torch.zeros(3, 5, dtype=torch.float16)), 30)


class Original(WithOptimizer):
    def video(self, optimizer, prompt="a lake", **more):
        return optimizer.optimize_video_generation(prompt, **{"num_inference_steps": 2, **SMALL, **more})

    def test_optimize_text_processing_is_a_type_error(self):
        self.use(lambda optimizer: optimizer.optimize_text_processing("a red cat"))

    def test_every_task_of_a_batch_gets_the_whole_list(self):
        async def test(optimizer):
            found = await optimizer.run_batch_optimization([
                {"type": "text", "text": "one"}, {"type": "video", "prompt": "two", "kwargs": {
                    "num_inference_steps": 2, **SMALL}}, {"type": "video", "prompt": "x", "kwargs": {
                    "width": 33, "height": 33}}])
            self.assertEqual(found[0], "one")
            self.assertEqual(found[1], await self.video(optimizer, "two"))
            self.assertIsInstance(found[2], ValueError)
        self.use(test)

    def test_a_generation_raises_after_its_work_with_default_settings(self):
        self.use(self.video, enable_tensorboard=True)

    def test_the_key_is_only_the_prompt(self):
        async def test(optimizer):
            base = await self.video(optimizer)
            self.assertNotEqual(base, await self.video(optimizer, seed=1))
            self.assertNotEqual(base, await self.video(optimizer, num_inference_steps=3))
            self.assertNotEqual(base, await self.video(optimizer, guidance_scale=1.5))
            self.assertEqual(base, await self.video(optimizer))
            stats = await optimizer.get_optimization_stats()
            self.assertEqual((stats["cache_hits"], stats["cache_misses"]), (1, 4))
            fresh = [await self.video(optimizer, seed=None) for _ in range(2)]
            self.assertNotEqual(*fresh)
        self.use(test)

    def test_a_cache_that_is_off_still_serves(self):
        async def test(optimizer):
            self.assertEqual(await self.video(optimizer), await self.video(optimizer))
            await optimizer.optimize_text_processing("a")
            await optimizer.optimize_text_processing("a")
            (pipe,) = optimizer.model_manager.pipelines()
            self.assertEqual(pipe.genscope.stats()["runs"], 2)
            stats = await optimizer.get_optimization_stats()
            self.assertEqual((stats["cache_hits"], stats["cache_misses"], stats["cache_size"]), (0, 0, 0))
        self.use(test, cache_enabled=False)

    def test_settings_are_never_read(self):
        manager = compat.GPUManager([0], 0.5, use_gpu=False)
        self.assertEqual(manager.get_primary_device().type, "cpu")
        self.assertEqual(manager.absent, {"gpu_0": "use_gpu is off"})
        whole = compat.GPUManager([0], 1.0, use_gpu=False)
        cpu = torch.device("cpu")
        self.assertAlmostEqual(manager.memory_bytes(cpu) / whole.memory_bytes(cpu), 0.5)
        for settings, probes in ((dict(profile_cpu=False, profile_memory=False), []),
                                 (dict(profile_cpu=True, profile_memory=False), ["process", "system"])):
            made = compat.PerformanceOptimizer(OptimizationConfig(**settings))
            self.assertEqual(made.profiler._probes, probes)

    def test_two_generations_share_a_file(self):
        before = set(os.listdir("."))

        async def test(optimizer):
            found = await asyncio.gather(*(self.video(optimizer, seed=i) for i in range(4)))
            self.assertEqual(len(set(found)), 4)
        self.use(test)
        self.assertEqual(set(os.listdir(".")) - before, set())

    def test_mixed_precision_switches_offload_on(self):
        async def test(optimizer):
            pipe = await optimizer.model_manager.load_diffusion_pipeline()
            modules = [part for part in pipe.components.values() if isinstance(part, torch.nn.Module)]
            self.assertEqual(offload(modules), {"set.offload": "none"})
            if not torch.cuda.is_available():
                self.assertEqual(pipe.unet.dtype, torch.float32)
                self.assertIn("float32", optimizer.notes["mixed_precision"])
        self.use(test, mixed_precision=True)

    def test_figures_are_never_updated(self):
        async def test(optimizer):
            stats = await optimizer.get_optimization_stats()
            self.assertEqual((stats["total_requests"], f"{stats['average_processing_time']:.1f}"), (0, "n/a"))
            await self.video(optimizer)
            with self.assertRaises(ValueError):
                await self.video(optimizer, width=33)
            stats = await optimizer.get_optimization_stats()
            self.assertEqual((stats["total_requests"], stats["failed_requests"]), (2, 1))
            self.assertGreater(stats["average_processing_time"], 0)
            self.assertEqual(stats["metrics_summary"]["video_generation_time"]["count"], 2)
            if not torch.cuda.is_available():
                self.assertEqual(f"{stats['gpu_utilization']:.0f}", "n/a")
                self.assertTrue(stats["gpu_utilization"].reason)
        self.use(test)

    def test_the_timeout_applies_to_nothing(self):
        async def test(optimizer):
            await optimizer.model_manager.load_diffusion_pipeline()
            with self.assertRaises(asyncio.TimeoutError):
                await self.video(optimizer, num_inference_steps=500)
            await optimizer.task_manager.cancel_all_tasks()
            self.assertEqual((await optimizer.get_optimization_stats())["active_tasks"], 0)
        self.use(test, task_timeout=0.2)

    def test_what_was_profiled_is_thrown_away(self):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["GENSCOPE_OUT"] = folder
            self.addCleanup(os.environ.pop, "GENSCOPE_OUT", None)

            async def test(optimizer):
                await self.video(optimizer)
                return optimizer
            run = self.use(test, enable_profiling=True).profiler.run_dir
            self.assertIn("video_generation", gs.load(run).spans["name"])


if __name__ == "__main__":
    unittest.main()
