"""The hooks of diffusers on tiny pipelines of the real classes."""
from __future__ import annotations

import copy
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch

import tiny
from recorded import GENSCOPE, Recorded, RecordedCase

# Before any hook is installed.
PLAIN = {name: tiny.run(*make()) for name, make in tiny.ALL.items()}

from genscope import hooks

hooks.install(["torch", "diffusers"])

STAGES = ["text_encode", "denoise", "vae_decode", "post"]


class Structure(RecordedCase):
    def check(self, name: str, stages: "list[str]") -> Recorded:
        pipe, arguments = tiny.ALL[name]()
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assertEqual(self.result.tobytes(), PLAIN[name].tobytes())
        (request,) = run.of("request", type(pipe).__name__)
        self.assertEqual(run.stages(request), stages)
        self.assertEqual(request["args"]["steps"], 4)
        self.assertEqual(request["args"]["images"], 1)
        (denoise,) = run.of("stage", "denoise")
        steps = run.children(denoise)
        self.assertEqual([(s["kind"], s["args"]["index"]) for s in steps],
                         [("step", i) for i in range(4)])
        self.assertEqual([s for s in run.spans if "failed" in s["flags"]], [])
        self.steps, self.request = steps, request
        return run

    def passes(self, run: Recorded) -> "list[list[tuple]]":
        return [[(f["name"], f["args"].get("pass")) for f in run.children(step, "forward")]
                for step in self.steps]

    def test_flux(self):
        run = self.check("flux", STAGES)
        self.assertEqual(self.passes(run), [[("transformer", "cond")]] * 4)
        self.assertEqual(self.steps[0]["args"]["timestep"], 1000)
        self.assert_facts(run, [
            "set.steps == 4", 'model.arch[denoiser] == "flux"', 'model.family[denoiser] == "mmdit"',
            'model.dtype[denoiser] == "fp32"', 'model.dtype[vae] == "fp32"',
            "model.params[denoiser] > 500000", "model.bytes_per_param[denoiser] == 4",
            'set.offload == "none"', 'set.compile == "none"', 'set.cache == "none"',
            "!set.vae_tiling", 'set.attn == "sdpa"', "!set.autocast", "lora.active == 0",
            'model.quant[denoiser] == "none"', 'model.device[denoiser] == "cpu"',
            'env.backend == "cpu"', "model.experts == 1", "!model.conv3d", "utilisation.forwards_per_step == 1",
            'version(env.torch) >= version("2.0")', 'set.device_map == "none"'])

    def test_steps_are_gapless(self):
        run = self.check("flux", STAGES)
        (denoise,) = run.of("stage", "denoise")
        for step, following in zip(self.steps, self.steps[1:]):
            gap = following["begin_ns"] - step["begin_ns"] - step["duration_ns"]
            self.assertGreaterEqual(gap, 0)
        # Nothing but the steps is in the stage.
        self.assertEqual(len(run.children(denoise)), 4)
        self.assertGreaterEqual(denoise["begin_ns"] + denoise["duration_ns"],
                                self.steps[-1]["begin_ns"] + self.steps[-1]["duration_ns"])

    def test_qwen_runs_two_passes(self):
        run = self.check("qwen", ["text_encode", *STAGES])
        self.assertEqual(self.passes(run),
                         [[("transformer", "cond"), ("transformer", "uncond")]] * 4)
        self.assertEqual(self.request["args"]["true_cfg_scale"], 4.0)
        self.assert_advice(run, {"CFG-2X"})
        self.assert_facts(run, ['model.arch[denoiser] == "qwen_image"', "model.conv3d"])

    def test_sdxl_batches_its_passes(self):
        run = self.check("sdxl", STAGES)
        self.assertEqual(self.passes(run), [[("unet", None)]] * 4)
        forward = run.of("forward", "unet")[0]
        self.assertEqual(forward["args"]["shape"], "2x4x16x16")
        self.assertNotIn("CFG-2X", run.advice())
        self.assert_facts(run, ['model.arch[denoiser] == "sdxl"',
                                'set.attn_processor == "AttnProcessor2_0"',
                                'set.memory_format == "contiguous"'])

    def test_wan_switches_experts(self):
        run = self.check("wan", STAGES)
        names = [each[0][0] for each in self.passes(run)]
        self.assertEqual(sorted(set(names)), ["transformer", "transformer_2"])
        self.assertEqual(names, sorted(names))  # the first expert first, one switch
        self.assertEqual(self.request["args"]["frames"], 9)
        self.assert_facts(run, ["model.experts == 2", "set.frames == 9", "model.conv3d"])


class Modular(RecordedCase):
    def test_blocks_of_flux(self):
        from diffusers.modular_pipelines.flux import FluxAutoBlocks
        pipe, arguments = tiny.flux()
        blocks = FluxAutoBlocks()
        blocks.sub_blocks.pop("text_encoder")  # embeddings are given
        modular = blocks.init_pipeline()
        modular.update_components(transformer=pipe.transformer, vae=pipe.vae,
                                  scheduler=pipe.scheduler)
        run = self.record(lambda: modular(**arguments, output="images"))
        (request,) = run.of("request", "FluxModularPipeline")
        self.assertEqual(run.stages(request), ["denoise", "vae_decode", "post"])
        self.assertEqual(len(run.of("step")), 4)
        self.assertEqual(len(run.of("forward", "transformer")), 4)


class Unharmed(RecordedCase):
    def test_copies_and_pickles(self):
        pipe, arguments = tiny.flux()
        tiny.run(pipe, arguments)
        for part in (pipe.transformer, pipe.scheduler, pipe.vae):
            again = pickle.loads(pickle.dumps(part))
            self.assertIs(type(again), type(part))
            self.assertNotIn("__call__", vars(copy.deepcopy(part)))
            self.assertNotIn("step", vars(again))
        pipe.scheduler = copy.deepcopy(pipe.scheduler)
        pipe.transformer = copy.deepcopy(pipe.transformer)
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assertEqual(self.result.tobytes(), PLAIN["flux"].tobytes())
        self.assertEqual(len(run.of("forward", "transformer")), 4)

    def test_signatures_are_the_originals(self):
        import inspect
        from diffusers import FlowMatchEulerDiscreteScheduler, FluxPipeline
        self.assertIn("num_inference_steps", inspect.signature(FluxPipeline.__call__).parameters)
        step = inspect.signature(FlowMatchEulerDiscreteScheduler.step).parameters
        self.assertIn("s_churn", step)

    def test_without_a_session(self):
        pipe, arguments = tiny.flux()
        self.assertEqual(tiny.run(pipe, arguments).tobytes(), PLAIN["flux"].tobytes())

    def test_users_callback_and_an_interrupt(self):
        pipe, arguments = tiny.flux(6)
        seen = []

        def callback(pipe, i, t, kwargs):
            seen.append(i)
            if i == 2:
                pipe._interrupt = True
            return kwargs
        run = self.record(lambda: tiny.run(pipe, {**arguments, "callback_on_step_end": callback}))
        self.assertEqual(seen, [0, 1, 2])
        good = [s for s in run.of("step") if not s["flags"]]
        self.assertEqual([s["args"]["index"] for s in good], [0, 1, 2])
        # The step that began and never came is no step that ended well.
        self.assertEqual([s["args"]["error"] for s in run.of("step") if s["flags"]],
                         ["Interrupted"])
        self.assertEqual(run.of("request")[0]["flags"], [])

    def test_an_exception_in_a_stage(self):
        pipe, arguments = tiny.flux()

        def broken(*args, **kwargs):
            raise RuntimeError("no such luck")

        def call():
            with self.assertRaisesRegex(RuntimeError, "no such luck"):
                tiny.run(pipe, arguments)
        with mock.patch.object(pipe.vae.decoder, "forward", broken):
            run = self.record(call)
        self.assertEqual([(s["name"], s["args"].get("error")) for s in run.spans if "failed" in s["flags"]],
                         [("FluxPipeline", "RuntimeError"), ("vae_decode", "RuntimeError")])
        self.assert_advice(run, {"RUN-FAILED"})
        # The next call is recorded as if nothing had been.
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assertEqual(run.stages(run.of("request")[0]), STAGES)

    def test_threads_do_not_mix(self):
        made = [tiny.flux(3), tiny.sdxl(5)]

        def call():
            threads = [threading.Thread(target=tiny.run, args=each) for each in made]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        run = self.record(call)
        for request in run.of("request"):
            (denoise,) = [s for s in run.children(request) if s["name"] == "denoise"]
            steps = run.children(denoise, "step")
            self.assertEqual(len(steps), {"FluxPipeline": 3}.get(request["name"], 5))
            self.assertEqual({s["tid"] for s in steps}, {request["tid"]})

    def test_a_pipeline_that_calls_another(self):
        from diffusers import FluxPipeline
        inner, arguments = tiny.flux(2)

        class Twice(FluxPipeline):
            def __call__(self, **kwargs):
                inner(**{**kwargs, "output_type": "latent"})
                return super().__call__(**kwargs)
        outer = Twice(**inner.components)
        outer.set_progress_bar_config(disable=True)
        run = self.record(lambda: tiny.run(outer, arguments))
        (top,) = run.of("request", "Twice")
        self.assertEqual([s["name"] for s in run.children(top)], ["FluxPipeline", *STAGES])
        # One request: what the user called. The pipeline inside of it is a stage.
        self.assertEqual(run.of("request"), [top])
        self.assertEqual(run.stages(run.of("stage", "FluxPipeline")[0]), STAGES[:2])


class Compiled(RecordedCase):
    def setUp(self):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()

    def program(self, text: str) -> Recorded:
        folder = tempfile.mkdtemp(prefix="genscope-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        here = os.path.dirname(os.path.abspath(__file__))
        done = subprocess.run(
            [GENSCOPE, "run", "--live", "never", "--no-gpu", "--run-dir", folder + "/run", "--",
             sys.executable, path], capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": here + ":" + os.environ.get("PYTHONPATH", "")})
        self.assertEqual(done.returncode, 0, done.stderr)
        return Recorded(folder + "/run")

    def assert_no_breaks(self):
        self.assertEqual(dict(torch._dynamo.utils.counters["graph_break"]), {})
        self.assertGreaterEqual(torch._dynamo.utils.counters["stats"]["unique_graphs"], 1)

    def test_compiled_module(self):
        pipe, arguments = tiny.flux()
        pipe.transformer = torch.compile(pipe.transformer, backend="eager", fullgraph=True)
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_no_breaks()
        self.assertEqual(torch._dynamo.utils.counters["stats"]["unique_graphs"], 1)
        self.assertEqual([f["name"] for f in run.of("forward")], ["transformer"] * 4)
        self.assertEqual(self.result.tobytes(), PLAIN["flux"].tobytes())
        self.assert_facts(run, ['set.compile == "eager:default"'])

    def test_compiled_before_its_class_was_seen(self):
        """In a process of its own: others have shown the classes already."""
        run = self.program("""
            import tiny, torch
            pipe, arguments = tiny.flux()
            pipe.transformer = torch.compile(pipe.transformer, backend="eager", fullgraph=True)
            pipe.vae.decode = torch.compile(pipe.vae.decode, backend="eager", fullgraph=True)
            for _ in range(2):
                tiny.run(pipe, arguments)
            assert not torch._dynamo.utils.counters["graph_break"]
        """)
        self.assertEqual(len(run.of("forward", "transformer")), 8)
        self.assertEqual(len(run.of("stage", "vae_decode")), 2)
        first, second = run.of("stage", "compile")
        inside = run.parent(run.parent(first))
        self.assertEqual((inside["kind"], inside["args"]["index"]), ("step", 0))
        self.assertEqual(run.parent(second)["name"], "vae_decode")
        self.assert_facts(run, ["compile.active", "compile.graph_growth == 0"])

    def test_another_size_compiles_again(self):
        pipe, arguments = tiny.flux(2)
        pipe.transformer.compile(backend="eager", dynamic=False)
        run = self.record(lambda: [tiny.run(pipe, {**arguments, "width": width})
                                   for width in (32, 64, 96)])
        self.assertEqual(len(run.of("stage", "compile")), 3)
        self.assert_facts(run, ["compile.graph_growth == 2"])
        self.assert_advice(run, {"COMPILE-RECOMP"})

    def test_compiled_in_place(self):
        pipe, arguments = tiny.flux()
        pipe.transformer.compile(backend="eager", fullgraph=True)
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_no_breaks()
        self.assertEqual([f["name"] for f in run.of("forward")], ["transformer"] * 4)
        self.assertEqual(self.result.tobytes(), PLAIN["flux"].tobytes())
        self.assert_facts(run, ['set.compile == "eager:default"'])

    def test_compiled_blocks(self):
        pipe, arguments = tiny.flux()
        pipe.transformer.compile_repeated_blocks(backend="eager", fullgraph=True)
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assertEqual(dict(torch._dynamo.utils.counters["graph_break"]), {})
        self.assertEqual(len(run.of("forward", "transformer")), 4)
        self.assert_facts(run, ['set.compile == "eager:default"'])

    def test_compiled_vae_decode(self):
        pipe, arguments = tiny.flux()
        pipe.vae.decode = torch.compile(pipe.vae.decode, backend="eager", fullgraph=True)
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_no_breaks()
        self.assertEqual(len(run.of("stage", "vae_decode")), 1)

    def test_inlined_in_a_function_of_the_users(self):
        pipe, arguments = tiny.flux()
        tiny.run(pipe, arguments)  # the classes are wrapped by now
        given = {}
        with mock.patch.object(pipe.transformer, "forward",
                               lambda *args, **kwargs: given.update(kwargs) or 1 / 0):
            with self.assertRaises(ZeroDivisionError):
                tiny.run(pipe, arguments)
        seen = torch._dynamo.explain(lambda: pipe.transformer(**given)[0])()
        self.assertEqual((seen.graph_break_count, seen.graph_count), (0, 1))

    def test_a_method_inlined_in_a_function_of_the_users(self):
        pipe, arguments = tiny.flux()
        tiny.run(pipe, arguments)
        decode = torch.compile(lambda z: pipe.vae.decode(z, return_dict=False)[0] + 1,
                               backend="eager", fullgraph=True)
        with torch.no_grad():
            self.assertEqual(decode(torch.zeros(1, 4, 4, 4)).shape, (1, 3, 8, 8))
        self.assert_no_breaks()

    def test_what_was_compiled_is_told_at_the_end(self):
        from genscope.hooks import diffusers_later
        pipe, arguments = tiny.flux()
        pipe.transformer.compile(backend="eager")
        with mock.patch.multiple(diffusers_later, _calls=0, _graphs={"first": 0, "again": 0}):
            run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_facts(run, ["compile.active", "compile.graph_growth == 0"])

    def test_hooks_added_after_compiling_still_run(self):
        pipe, arguments = tiny.flux()
        inner = pipe.transformer
        pipe.transformer = torch.compile(inner, backend="eager")
        tiny.run(pipe, arguments)
        seen = []
        inner.register_forward_pre_hook(lambda *_: seen.append(1))
        tiny.run(pipe, arguments)
        self.assertEqual(len(seen), 4)


def slowed(method, seconds: float, only: "set[int] | None" = None):
    count = [0]

    def slow(*args, **kwargs):
        if only is None or count[0] in only:
            time.sleep(seconds)
        count[0] += 1
        return method(*args, **kwargs)
    return slow


class Advice(RecordedCase):
    """Faults that we put in are found by the rules that name them. They sleep far longer than the
    rest takes, so that a busy machine does not hide them."""

    def test_slow_scheduler(self):
        pipe, arguments = tiny.flux()
        kind = type(pipe.scheduler)
        with mock.patch.object(kind, "_init_step_index", slowed(kind._init_step_index, 0.3)), \
                mock.patch.object(kind, "index_for_timestep", lambda *_: 0):
            run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_advice(run, {"STEP-SCHED"})

    def test_slow_decoder(self):
        pipe, arguments = tiny.flux()
        tiny.run(pipe, arguments)  # what a first call costs is not the decoder's rival
        with mock.patch.object(pipe.vae.decoder, "forward", slowed(pipe.vae.decoder.forward, 3)):
            run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_advice(run, {"VAE-SHARE", "STAGE-TOP"})

    def test_experts_that_are_swapped(self):
        pipe, arguments = tiny.wan(10)
        for module in (pipe.transformer, pipe.transformer_2):
            module.forward = slowed(module.forward, 0.2)
            module.forward = slowed(module.forward, 3, {0})
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_advice(run, {"OFFL-SWITCH"})

    def test_many_steps_of_a_distilled_model(self):
        pipe, arguments = tiny.flux(60)
        pipe.register_to_config(_name_or_path="black-forest-labs/FLUX.1-schnell")
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_advice(run, {"STEP-MANY", "STEP-DISTIL"})
        self.assertEqual(len(run.of("step")), 60)

    def test_slow_pictures(self):
        pipe, arguments = tiny.flux()
        processor = pipe.image_processor
        with mock.patch.object(processor, "denormalize", slowed(processor.denormalize, 2)):
            run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_advice(run, {"SAVE-SLOW"})

    def test_cache_over_few_steps(self):
        from diffusers import FirstBlockCacheConfig
        pipe, arguments = tiny.flux()
        pipe.transformer.enable_cache(FirstBlockCacheConfig(threshold=0.1))
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_advice(run, {"STEP-CACHE-FEW"})
        self.assert_facts(run, ['set.cache == "fbc"'])

    def test_sliced_attention(self):
        pipe, arguments = tiny.sdxl()
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assertNotIn("ATT-SLICE", run.advice())
        self.assert_facts(run, ["!set.attn_slicing"])
        pipe.enable_attention_slicing(1)  # after a call, too
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_advice(run, {"ATT-SLICE", "ATT-PROC-UNET", "ATT-MATH"})
        self.assert_facts(run, ["set.attn_slicing"])

    def test_slicing_that_a_model_does_not_have(self):
        pipe, arguments = tiny.flux(2)
        pipe.enable_attention_slicing()  # does nothing to a transformer
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assertNotIn("ATT-SLICE", run.advice())

    def test_settings_that_differ_between_calls(self):
        pipe, arguments = tiny.flux(2)

        def calls():
            for steps in (2, 3, 3):
                tiny.run(pipe, {**arguments, "num_inference_steps": steps})
        run = self.record(calls)
        self.assert_facts(run, ["set.steps == 3"])  # of most calls, not of the first
        report = subprocess.run([GENSCOPE, "report", run.run_dir, "-f", "json"], check=True,
                                capture_output=True, text=True).stdout
        self.assertEqual(json.loads(report)["settings_that_differ"], [
            {"key": "steps", "values": [{"value": "2", "requests": 1},
                                        {"value": "3", "requests": 2}]}])
        report = subprocess.run([GENSCOPE, "report", run.run_dir, "--full"], check=True,
                                capture_output=True, text=True).stdout
        self.assertIn("steps differs between calls: 2 (1 request), 3 (2 requests)", report)

    def test_serialised_launches(self):
        pipe, arguments = tiny.flux(2)
        with mock.patch.dict(os.environ, CUDA_LAUNCH_BLOCKING="1"):
            run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_facts(run, ["env.launch_blocking"])
        if not torch.cuda.is_available():  # it matters to a GPU only
            self.assertNotIn("TIME-BLOCKING", run.advice())

    def test_t5_in_half(self):
        from transformers import T5Config, T5EncoderModel
        pipe, arguments = tiny.flux(2)
        pipe.text_encoder_2 = T5EncoderModel(T5Config(
            vocab_size=64, d_model=32, d_kv=8, d_ff=32, num_layers=1, num_heads=4)).half()
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_advice(run, {"TE-FP16-T5"})

    def test_settings_of_the_vae(self):
        pipe, arguments = tiny.flux(2)
        pipe.vae.enable_tiling()
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_facts(run, ["set.vae_tiling"])

    def test_autograd_in_the_decoder(self):
        pipe, arguments = tiny.flux(2)
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_facts(run, ["!set.vae_grad"])
        self.assertNotIn("VAE-GRAD", run.advice())
        latents = torch.zeros(1, 4, 4, 4)
        for _ in range(2):  # in each session
            run = self.record(lambda: pipe.vae.decode(latents))
            self.assert_facts(run, ["set.vae_grad"])
            self.assert_advice(run, {"VAE-GRAD"})
            self.assertEqual([s["name"] for s in run.of("stage")], ["vae_decode"])

    def test_gradients_that_are_wanted_or_cannot_be(self):
        from genscope.hooks import loops
        pipe, arguments = tiny.flux(2)
        tiny.run(pipe, arguments)
        latents = torch.zeros(1, 4, 4, 4)

        def training():
            torch.optim.SGD(pipe.vae.parameters(), lr=0.1)
            pipe.vae.decode(latents)
        with mock.patch.dict(loops._state):
            self.assertNotIn("VAE-GRAD", self.record(training).advice())
        with torch.inference_mode():
            self.assertNotIn("VAE-GRAD", self.record(lambda: pipe.vae.decode(latents)).advice())
        pipe.vae.requires_grad_(False)
        self.assertNotIn("VAE-GRAD", self.record(lambda: pipe.vae.decode(latents)).advice())

    def test_loading_twice(self):
        from diffusers import FluxTransformer2DModel
        pipe, _ = tiny.flux()
        with tempfile.TemporaryDirectory() as folder:
            pipe.transformer.save_pretrained(folder)
            run = self.record(lambda: [FluxTransformer2DModel.from_pretrained(folder)
                                       for _ in range(2)])
            self.assertEqual([(s["kind"], s["name"], s["args"]["file"]) for s in run.of("load")],
                             [("load", "FluxTransformer2DModel", folder)] * 2)
        self.assert_advice(run, {"LOAD-REPEAT"})

    def test_a_pipeline_from_a_folder(self):
        from diffusers import StableDiffusionXLPipeline
        pipe, arguments = tiny.sdxl(2)
        with tempfile.TemporaryDirectory() as folder:
            pipe.save_pretrained(folder)

            def call():
                again = StableDiffusionXLPipeline.from_pretrained(folder)
                again.set_progress_bar_config(disable=True)
                return tiny.run(again, arguments)
            run = self.record(call)
        (load,) = [s for s in run.of("load") if run.parent(s) is None
                   or run.parent(s)["kind"] != "load"]
        self.assertEqual(load["name"], "StableDiffusionXLPipeline")
        self.assertEqual({s["name"] for s in run.children(load)},
                         {"UNet2DConditionModel", "AutoencoderKL"})
        self.assertEqual(run.stages(run.of("request")[0]), STAGES)


class Offload(RecordedCase):
    def test_group_offload(self):
        pipe, arguments = tiny.flux(2)
        with mock.patch.object(torch.accelerator, "current_accelerator",
                               lambda *_: torch.device("cpu")):
            pipe.transformer.enable_group_offload(torch.device("cpu"), torch.device("cpu"),
                                                  offload_type="leaf_level")
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_facts(run, ['set.offload == "group"', 'set.offload_type == "leaf_level"'])

    def test_model_and_sequential_offload(self):
        from accelerate import cpu_offload, cpu_offload_with_hook
        for name, apply in (("model", lambda m: cpu_offload_with_hook(m, "cpu")),
                            ("sequential", lambda m: cpu_offload(m, "cpu"))):
            pipe, arguments = tiny.flux(2)
            apply(pipe.transformer), apply(pipe.vae)
            run = self.record(lambda: tiny.run(pipe, arguments))
            self.assert_facts(run, [f'set.offload == "{name}"'])
            self.assertEqual(len(run.of("forward", "transformer")), 2)


class OwnCallback(RecordedCase):
    def test_steps_and_the_users_callback(self):
        from genscope.callbacks.diffusers import StepCallback
        pipe, arguments = tiny.flux()
        seen = []

        def mine(pipe, i, t, kwargs):
            seen.append(i)
            return kwargs
        callback = StepCallback(mine)
        run = self.record(lambda: tiny.run(pipe, {**arguments, "callback_on_step_end": callback}))
        self.assertEqual(seen, [0, 1, 2, 3])
        # The hooks tell the steps already: nothing is counted twice.
        self.assertEqual(len(run.of("step")), 4)
        self.assertEqual(self.result.tobytes(), PLAIN["flux"].tobytes())


class Page(RecordedCase):
    def test_the_example(self):
        docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs")
        with open(os.path.join(docs, "python-hooks.md"), encoding="utf-8") as file:
            example = file.read().split("```python\n")[1].split("```")[0]
        pipe, arguments = tiny.flux()
        with tempfile.TemporaryDirectory() as folder:
            run_dir = os.path.join(folder, "run")
            exec(example, {"pipe": pipe, "arguments": arguments, "run_dir": run_dir})
            run = Recorded(run_dir)
        self.assertEqual(run.stages(run.of("request", "FluxPipeline")[0]), STAGES)


class UnderRun(unittest.TestCase):
    def test_no_change_to_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "gen.py")
            with open(script, "w", encoding="utf-8") as file:
                file.write("import sys\n"
                           f"sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
                           "import tiny\nassert 'genscope.hooks' in sys.modules\n"
                           "sys.stdout.buffer.write(tiny.run(*tiny.qwen()).tobytes())\n")
            environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
            done = subprocess.run(
                [GENSCOPE, "run", "--no-gpu", "--run-dir", os.path.join(folder, "run"), "--",
                 sys.executable, script], capture_output=True, env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, PLAIN["qwen"].tobytes())
            run = Recorded(os.path.join(folder, "run"))
            self.assertEqual(run.stages(run.of("request")[0]), ["text_encode", *STAGES])
            self.assertEqual(len(run.of("step")), 4)
            self.assertEqual(len(run.of("forward")), 8)


if __name__ == "__main__":
    unittest.main()
