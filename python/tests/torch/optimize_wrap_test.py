#!/usr/bin/env python3
"""genscope.optimize.wrap with real diffusers pipelines: the same bytes as without, from any thread."""
import asyncio
import contextlib
import io
import pathlib
import threading
import unittest

import torch
from diffusers import DiffusionPipeline, EulerDiscreteScheduler

import genscope as gs

import tiny
import tiny_text
from tiny_text import pixels, seeded


def in_threads(calls):
    """The results of all calls, each on a thread of its own; they begin together."""
    results = [None] * len(calls)
    gate = threading.Barrier(len(calls))

    def work(at):
        gate.wait()
        results[at] = calls[at]()
    threads = [threading.Thread(target=work, args=(at,)) for at in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class EveryShape(unittest.TestCase):
    def test_the_same_bytes_and_the_second_call_is_kept(self):
        for name, make in tiny_text.ALL.items():
            with self.subTest(name):
                pipe, arguments = make()
                drawn = seeded()
                plain = pixels(pipe(**arguments, generator=drawn))
                wrapped = gs.optimize.wrap(make()[0], cache="64MB")
                first, second = seeded(), seeded()
                self.assertEqual(pixels(wrapped(**arguments, generator=first)), plain)
                self.assertEqual(pixels(wrapped(**arguments, generator=second)), plain)
                stats = wrapped.genscope.stats()
                self.assertEqual((stats["runs"], stats["hits"]), (1, 1))
                for generator in (first, second):  # both are where a run leaves them
                    self.assertTrue(generator.get_state().equal(drawn.get_state()))

    def test_another_seed_has_the_embeddings_of_before(self):
        for name in ("sd", "sdxl", "flux", "qwen"):
            with self.subTest(name):
                pipe, arguments = tiny_text.ALL[name]()
                plain = pixels(pipe(**arguments, generator=seeded(8)))
                wrapped = gs.optimize.wrap(tiny_text.ALL[name]()[0], cache="64MB")
                wrapped(**arguments, generator=seeded(7))
                missed = wrapped.genscope.stats()["embeddings"]["misses"]
                self.assertEqual(pixels(wrapped(**arguments, generator=seeded(8))), plain)
                embeddings = wrapped.genscope.stats()["embeddings"]
                self.assertEqual((embeddings["misses"], embeddings["hits"]), (missed, missed))
                self.assertNotIn("encode_prompt", vars(wrapped.genscope.raw))

    def test_eight_threads_make_what_one_makes(self):
        for name in ("sd", "flux"):
            with self.subTest(name):
                pipe, arguments = tiny_text.ALL[name]()
                serial = [pixels(pipe(**arguments, generator=seeded(i))) for i in range(8)]
                wrapped = gs.optimize.wrap(tiny_text.ALL[name]()[0], cache="64MB")
                found = in_threads([lambda i=i: pixels(wrapped(**arguments, generator=seeded(i)))
                                    for i in range(8)])
                self.assertEqual(found, serial)
                self.assertEqual(len(set(serial)), 8)
                self.assertEqual(wrapped.genscope.stats()["runs"], 8)


class Sharing(unittest.TestCase):
    def setUp(self):
        self.pipe, self.arguments = tiny_text.sd()
        self.wrapped = gs.optimize.wrap(self.pipe, cache="64MB")

    def made(self, seed=7, **changes):
        return pixels(self.wrapped(**{**self.arguments, **changes}, generator=seeded(seed)))

    def plain(self, seed=7, **changes):
        """What the pipeline makes as it is now."""
        return pixels(self.wrapped.genscope.raw(**{**self.arguments, **changes}, generator=seeded(seed)))

    def test_eight_identical_calls_at_once_run_once(self):
        found = in_threads([self.made] * 8)
        self.assertEqual(set(found), {self.plain()})
        stats = self.wrapped.genscope.stats()
        self.assertEqual((stats["runs"], stats["hits"] + stats["shared"]), (1, 7))

    def test_nobody_sees_what_another_does_to_the_result(self):
        first = self.wrapped(**self.arguments, generator=seeded())
        kept = first.images.copy()
        first.images[:] = 0
        second = self.wrapped(**self.arguments, generator=seeded())
        self.assertEqual(second.images.tobytes(), kept.tobytes())
        second.images[:] = 1
        self.assertEqual(self.made(), kept.tobytes())
        self.assertEqual(self.wrapped.genscope.stats()["runs"], 1)

    def test_pictures_and_tuples(self):
        pictures = [self.wrapped(**{**self.arguments, "output_type": "pil"}, generator=seeded()).images[0]
                    for _ in range(2)]
        self.assertEqual(pictures[0].tobytes(), pictures[1].tobytes())
        self.assertIsNot(pictures[0], pictures[1])
        tuples = [self.wrapped(**self.arguments, return_dict=False, generator=seeded()) for _ in range(2)]
        self.assertEqual(type(tuples[1]), tuple)
        self.assertEqual(tuples[0][0].tobytes(), tuples[1][0].tobytes())
        self.assertEqual(self.wrapped.genscope.stats()["hits"], 2)

    def test_one_generator_for_several_calls(self):
        raw = seeded()
        serial = [pixels(self.pipe(**self.arguments, generator=raw)) for _ in range(3)]
        for _ in range(2):  # the second time from the cache
            drawn = seeded()
            found = [pixels(self.wrapped(**self.arguments, generator=drawn)) for _ in range(3)]
            self.assertEqual(found, serial)
        self.assertEqual(len(set(serial)), 3)
        self.assertEqual(self.wrapped.genscope.stats()["runs"], 3)

    def test_lists_of_generators(self):
        arguments = {**self.arguments, "num_images_per_prompt": 2}
        once = [seeded(1), seeded(2)]
        plain = pixels(self.pipe(**arguments, generator=[seeded(1), seeded(2)]))
        self.assertEqual(pixels(self.wrapped(**arguments, generator=once)), plain)
        again = [seeded(1), seeded(2)]
        self.assertEqual(pixels(self.wrapped(**arguments, generator=again)), plain)
        self.assertTrue(all(a.get_state().equal(b.get_state()) for a, b in zip(once, again)))
        same = seeded(1)  # one that stands twice is another request than two that are equal
        twice = pixels(self.wrapped(**arguments, generator=[same, same]))
        apart = pixels(self.wrapped(**arguments, generator=[seeded(1), seeded(1)]))
        self.assertNotEqual(twice, apart)
        self.assertEqual(self.wrapped.genscope.stats()["hits"], 1)

    def test_what_differs_is_not_served(self):
        base = self.made()
        for change in (dict(num_inference_steps=4), dict(guidance_scale=3.0), dict(prompt="a blue cat"),
                       dict(negative_prompt="sharp"), dict(width=64), dict(clip_skip=1), dict(eta=0.5)):
            with self.subTest(**change):
                hits = self.wrapped.genscope.stats()["hits"]
                self.assertEqual(self.made(**change), self.plain(**change))
                self.assertEqual(self.wrapped.genscope.stats()["hits"], hits)
        self.assertNotEqual(self.made(seed=8), base)
        self.assertEqual(self.made(), base)
        self.assertEqual(self.wrapped.genscope.stats()["hits"], 1)

    def test_what_cannot_be_keyed_runs_each_time_and_is_counted(self):
        seen = []

        def callback(pipe, step, timestep, tensors):
            seen.append(step)
            return tensors
        for _ in range(2):
            self.wrapped(**self.arguments, generator=seeded(), callback_on_step_end=callback)
            self.wrapped(**self.arguments)
        stats = self.wrapped.genscope.stats()
        self.assertEqual(seen, [0, 1, 2] * 2)
        self.assertEqual((stats["runs"], stats["hits"]), (4, 0))
        self.assertEqual(stats["bypassed"], {"callback": 2, "no_generator": 2})

    def test_a_call_from_a_callback_does_not_wait_for_itself(self):
        def callback(pipe, step, timestep, tensors):
            self.wrapped.set_progress_bar_config(disable=True)
            return tensors
        self.wrapped(**self.arguments, generator=seeded(), callback_on_step_end=callback)
        self.assertEqual(self.wrapped.genscope.stats()["runs"], 1)

    def test_a_pipeline_inside_of_another_of_the_device(self):
        other = gs.optimize.wrap(tiny_text.sd()[0], cache="64MB")
        made = []

        def callback(pipe, step, timestep, tensors):
            if step == 0:
                made.append(pixels(other(**self.arguments, generator=seeded())))
            return tensors
        self.wrapped(**self.arguments, generator=seeded(), callback_on_step_end=callback)
        self.assertEqual(made, [self.plain()])

    def test_random_numbers_of_nobody_are_seen(self):
        self.pipe.text_encoder.train()  # dropout draws from the global generator
        self.pipe.text_encoder.text_model.config.attention_dropout = 0.5
        for layer in self.pipe.text_encoder.text_model.encoder.layers:
            layer.self_attn.dropout = 0.5
        self.made()
        self.made()
        stats = self.wrapped.genscope.stats()
        self.assertEqual((stats["runs"], stats["hits"]), (2, 0))
        self.assertEqual(stats["bypassed"], {"global_random_numbers": 2,
                                             "embedding_global_random_numbers": 2})

    def test_exceptions_pass_and_are_not_kept(self):
        for _ in range(2):
            with self.assertRaises(ValueError) as raised:
                self.made(width=33)
            self.assertIn("divisible by 8", str(raised.exception))
        with self.assertRaises(TypeError):
            self.wrapped("a cat", prompt="a dog")
        failed = in_threads([lambda: self.assertRaises(ValueError, self.made, width=33)] * 4)
        self.assertEqual(failed, [None] * 4)
        self.assertEqual(self.made(), self.plain())

    def test_the_modes_of_the_caller_hold(self):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            plain, made = self.plain(), self.made()
        self.assertEqual(made, plain)
        self.assertNotEqual(self.made(), plain)


class Changes(unittest.TestCase):
    def check(self, wrapped, arguments, change, differs=True):
        """After `change`, the result is that of the pipeline as it is now."""
        before = pixels(wrapped(**arguments, generator=seeded()))
        change()
        after = pixels(wrapped(**arguments, generator=seeded()))
        self.assertEqual(after, pixels(wrapped.genscope.raw(**arguments, generator=seeded())))
        self.assertEqual(after != before, differs)

    def test_a_component_that_is_replaced(self):
        pipe, arguments = tiny_text.sd()
        wrapped = gs.optimize.wrap(pipe, cache="64MB")

        def replace():
            wrapped.scheduler = EulerDiscreteScheduler.from_config(wrapped.scheduler.config)
        self.check(wrapped, arguments, replace)
        self.assertIs(pipe.scheduler, wrapped.scheduler)
        self.assertIsInstance(pipe.scheduler, EulerDiscreteScheduler)
        other, _ = tiny_text.sd()
        torch.nn.init.normal_(other.text_encoder.text_model.embeddings.token_embedding.weight)
        self.check(wrapped, arguments, lambda: setattr(wrapped, "text_encoder", other.text_encoder))

    def test_changes_behind_its_back(self):
        pipe, arguments = tiny_text.sd()
        wrapped = gs.optimize.wrap(pipe, cache="64MB")
        scheduler = EulerDiscreteScheduler.from_config(pipe.scheduler.config)
        self.check(wrapped, arguments, lambda: setattr(pipe, "scheduler", scheduler))
        self.check(wrapped, arguments, lambda: pipe.unet.conv_in.weight.data.mul_(1.5))
        self.check(wrapped, arguments, lambda: pipe.text_encoder.text_model.final_layer_norm.weight.data.mul_(2))
        self.check(wrapped, arguments, lambda: setattr(pipe.scheduler, "sigmas", None) or
                   pipe.scheduler.register_to_config(timestep_spacing="trailing"))

    def test_loras(self):
        pipe, arguments = tiny_text.flux()
        wrapped = gs.optimize.wrap(pipe, cache="64MB")
        self.check(wrapped, arguments, lambda: wrapped.load_lora_weights(
            tiny.lora(pipe.transformer, 1), adapter_name="a"))
        self.check(wrapped, arguments, lambda: wrapped.set_adapters(["a"], [0.5]))
        self.check(wrapped, arguments, lambda: pipe.set_adapters(["a"], [2.0]))  # behind its back
        self.check(wrapped, arguments, lambda: pipe.disable_lora())
        self.check(wrapped, arguments, lambda: pipe.enable_lora())

        def fuse():  # afterwards modules and addresses are as at the beginning; weights are not
            pipe.fuse_lora()
            pipe.unload_lora_weights()
        plain = tiny_text.flux()[0]
        unchanged = pixels(plain(**arguments, generator=seeded()))
        fuse()
        made = pixels(wrapped(**arguments, generator=seeded()))
        self.assertEqual(made, pixels(pipe(**arguments, generator=seeded())))
        self.assertNotEqual(made, unchanged)

    def test_a_lora_leaves_the_embeddings(self):
        pipe, arguments = tiny_text.flux()
        wrapped = gs.optimize.wrap(pipe, cache="64MB")
        wrapped(**arguments, generator=seeded())
        pipe.load_lora_weights(tiny.lora(pipe.transformer, 1), adapter_name="a")
        wrapped(**arguments, generator=seeded())
        self.assertEqual(wrapped.genscope.stats()["embeddings"], {"hits": 1, "misses": 1})

    def test_what_is_told(self):
        pipe, arguments = tiny_text.sd()
        wrapped = gs.optimize.wrap(pipe, cache="64MB")
        self.check(wrapped, arguments, wrapped.genscope.changed, differs=False)
        self.assertEqual(wrapped.genscope.stats()["runs"], 2)


class Proxy(unittest.TestCase):
    def test_it_stands_for_the_pipeline(self):
        pipe, _ = tiny_text.sd()
        wrapped = gs.optimize.wrap(pipe, cache="1MB")
        self.assertIsInstance(wrapped, DiffusionPipeline)
        self.assertIs(gs.optimize.wrap(wrapped), wrapped)
        self.assertIs(wrapped.to("cpu"), wrapped)
        self.assertIs(wrapped.unet, pipe.unet)
        self.assertEqual(wrapped.device, pipe.device)
        self.assertEqual(set(wrapped.components), set(pipe.components))
        wrapped.mark = 3
        self.assertEqual(pipe.mark, 3)
        del wrapped.mark
        self.assertFalse(hasattr(pipe, "mark"))
        with self.assertRaises(AttributeError):
            wrapped.nothing_of_this_name
        self.assertIn("unet", dir(wrapped))
        self.assertIs(wrapped.genscope.raw, pipe)

    def test_methods_take_turns_with_calls(self):
        pipe, arguments = tiny_text.sd()
        wrapped = gs.optimize.wrap(pipe, cache="64MB")
        steps = []

        def callback(raw, step, timestep, tensors):
            steps.append(raw.unet.dtype)
            if step == 0:
                begun.set()
            return tensors
        begun = threading.Event()

        def cast():
            begun.wait()
            wrapped.to(torch.float64)
        in_threads([lambda: wrapped(**arguments, generator=seeded(), callback_on_step_end=callback), cast])
        self.assertEqual(steps, [torch.float32] * 3)
        self.assertEqual(pipe.unet.dtype, torch.float64)

    def test_anything_else_gets_the_lane_alone(self):
        inside = []

        class Engine:
            def __call__(self, prompt):
                inside.append(1)
                most.append(len(inside))
                inside.pop()
                return prompt.upper()
        most = []
        engine = gs.optimize.wrap(Engine(), cache="1MB")
        self.assertEqual(in_threads([lambda: engine("a cat")] * 4), ["A CAT"] * 4)
        self.assertEqual((len(most), max(most)), (4, 1))
        self.assertEqual(engine.genscope.stats()["bypassed"], {"no_diffusers_pipeline": 4})

    def test_without_a_cache(self):
        pipe, arguments = tiny_text.sd()
        plain = pixels(pipe(**arguments, generator=seeded()))
        wrapped = gs.optimize.wrap(pipe, cache=None)
        for _ in range(2):
            self.assertEqual(pixels(wrapped(**arguments, generator=seeded())), plain)
        self.assertEqual(wrapped.genscope.stats()["runs"], 2)


class Page(unittest.TestCase):
    def test_its_sample_runs(self):
        page = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "optimize.md").read_text()
        sample = page.split("```python\n")[1].split("```")[0]
        names = {"pipe": tiny_text.sd()[0]}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(sample, "optimize.md", "exec"), names)
        self.assertEqual(out.getvalue(), "1\n")
        self.assertEqual(names["image"].tobytes(), names["again"].tobytes())


class Tasks(unittest.IsolatedAsyncioTestCase):
    async def test_tasks_make_what_one_makes(self):
        pipe, arguments = tiny_text.sd()
        serial = [pixels(pipe(**arguments, generator=seeded(i))) for i in range(4)]
        wrapped = gs.optimize.wrap(pipe, cache="64MB")
        found = await asyncio.gather(*(wrapped.acall(**arguments, generator=seeded(i % 4)) for i in range(8)))
        self.assertEqual([pixels(each) for each in found], serial * 2)
        self.assertEqual(wrapped.genscope.stats()["runs"], 4)

    async def test_a_leader_that_is_cancelled_leaves_the_run_to_who_waits(self):
        pipe, arguments = tiny_text.sd()
        plain = pixels(pipe(**arguments, generator=seeded()))
        wrapped = gs.optimize.wrap(pipe, cache="64MB")
        wrapped(**arguments, generator=seeded(1))  # what runs change is known
        may_run = threading.Event()
        handle = pipe.unet.register_forward_pre_hook(lambda module, given: may_run.wait() and None)
        leader = asyncio.ensure_future(wrapped.acall(**arguments, generator=seeded()))
        runner = wrapped._genscope_runner
        while not runner._flights:
            await asyncio.sleep(0.001)
        (flight,) = runner._flights.values()
        follower = asyncio.ensure_future(wrapped.acall(**arguments, generator=seeded()))
        while flight.waiters < 2:
            await asyncio.sleep(0.001)
        leader.cancel()
        await asyncio.sleep(0)
        may_run.set()
        self.assertEqual(pixels(await follower), plain)
        with self.assertRaises(asyncio.CancelledError):
            await leader
        self.assertEqual(wrapped.genscope.stats()["runs"], 2)
        handle.remove()

    async def test_a_call_that_nobody_waits_for_stops_at_its_next_step(self):
        pipe, arguments = tiny_text.sd(steps=40)
        wrapped = gs.optimize.wrap(pipe, cache="64MB")
        loop, begun, forwards = asyncio.get_running_loop(), asyncio.Event(), []

        def forward(module, given):
            forwards.append(1)
            if len(forwards) == 2:
                loop.call_soon_threadsafe(begun.set)
                cancelled.wait()
        cancelled = threading.Event()
        handle = pipe.unet.register_forward_pre_hook(forward)
        task = asyncio.ensure_future(wrapped.acall(**arguments, generator=seeded()))
        await begun.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        cancelled.set()
        await asyncio.to_thread(wrapped.maybe_free_model_hooks)  # after it, in the lane
        self.assertEqual(len(forwards), 2)
        handle.remove()
        after = await wrapped.acall(**arguments, generator=seeded())
        self.assertEqual(pixels(after), pixels(pipe(**arguments, generator=seeded())))


if __name__ == "__main__":
    unittest.main()
