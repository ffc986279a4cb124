#!/usr/bin/env python3
"""What the extension keeps for genscope.compat: stages, steps, events, batches, generations."""
import asyncio
import gc
import sys
import threading
import unittest
import weakref

from genscope import _core
from genscope.compat import generation, training
from genscope.compat.inferix.session import ProfilingSession

from inferix_case import Case


class Stages(Case):
    def book(self):
        return ProfilingSession("s", {}, 10)

    def test_generators_end_their_stages_in_any_order(self):
        book = self.book()

        def generator(name):
            with book.stage(name):
                yield
        with book.stage("outer"):
            one, two = generator("one"), generator("two")
            next(one), next(two)
            one.close()  # "two", inside of it, is still open
            two.close()
            with book.stage("inner"):
                pass
        rows = book.stages
        self.assertEqual({name: row.count for name, row in rows.items()},
                         {"one": 1, "two": 1, "inner": 1, "outer": 1})
        self.assertEqual(book.book.unfinished, 0)
        with book.stage("after"):
            pass
        self.assertEqual(book.stages["after"].own, book.stages["after"].total)

    def test_a_stage_that_another_thread_ends_leaves_its_own_thread_in_order(self):
        book = self.book()
        with book.stage("outer"):
            lent = book.stage("lent")
            lent.__enter__()
            thread = threading.Thread(target=lent.__exit__, args=(None, None, None))
            thread.start()
            thread.join()
            with book.stage("inner"):
                pass
        outer, inner, lent = (book.stages[name] for name in ("outer", "inner", "lent"))
        self.assertAlmostEqual(outer.own, outer.total - inner.total - lent.total)
        self.assertEqual(book.book.unfinished, 0)

    def test_a_stage_is_used_again_and_within_itself(self):
        book = self.book()
        stage = book.stage("again")
        for _ in range(3):
            with stage:
                with stage:
                    pass
        self.assertEqual(book.stages["again"].count, 3)
        stage.__exit__(None, None, None)  # was not entered
        self.assertEqual(book.stages["again"].count, 3)

    def test_bounds_and_failures(self):
        book = self.book()
        for fails in (False, True):
            try:
                with book.stage("s"):
                    if fails:
                        raise KeyError
            except KeyError:
                pass
        row = book.stages["s"]
        self.assertEqual((row.count, row.failed), (2, 1))
        self.assertLessEqual(row.least, row.mean)
        self.assertLessEqual(row.mean, row.most)
        self.assertEqual(row.least + row.most, row.total)

    def test_metadata_of_any_kind(self):
        book = self.book()
        for given, kept in (({1: 2}, {"1": 2}), ({"a": (1, {"b": object()})},
                                                 {"a": [1, {"b": "<object>"}]}), ("text", "text")):
            with book.stage("m", given):
                pass
            self.assertEqual(book.stages["m"].metadata, kept)
        with book.stage("m", {}):
            pass
        self.assertEqual(book.stages["m"].metadata, "text")
        with self.assertRaises(TypeError):
            book.stage(5)

    def test_a_name_that_is_not_utf8_harms_nobody(self):
        book = self.book()
        with book.stage("\udc80", {"\udc80": "\udc80"}):
            book.add_event("\udc80", {"\udc80": 1}, True)
        self.assertEqual(book.stages["\udc80"].count, 1)
        self.assertEqual(book.events.rows[0][0], "\udc80")

    def test_nothing_is_held_after_the_end(self):
        book = self.book()

        class Thing:
            pass
        thing = Thing()
        gone = weakref.ref(thing)
        with book.stage("outer"):
            for _ in range(3):
                with book.stage("s", {"thing": thing}):
                    pass
        del thing
        gc.collect()
        self.assertIsNone(gone())

    def test_a_task_that_is_cancelled(self):
        book = self.book()

        async def work():
            with book.stage("work"):
                await asyncio.sleep(60)

        async def main():
            with book.stage("main"):
                task = asyncio.ensure_future(work())
                await asyncio.sleep(0)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                with book.stage("inner"):
                    pass
        asyncio.run(main())
        rows = book.stages
        self.assertEqual((rows["work"].failed, rows["main"].failed), (1, 0))
        self.assertAlmostEqual(rows["main"].own, rows["main"].total - rows["inner"].total)


class Told(Case):
    def test_whole_numbers_stay_whole(self):
        book = ProfilingSession("s", {}, 10)
        book.add_step(3, 0.5, 4, 10.0, None, False)
        book.add_step(True, 0.25, 2, 20, 7.5, False)
        self.assertEqual(book.steps.rows, [
            {"step": 3, "timestep": 0.5, "block_size": 4, "computation_time_ms": 10.0,
             "guidance_scale": None},
            {"step": True, "timestep": 0.25, "block_size": 2, "computation_time_ms": 20,
             "guidance_scale": 7.5}])
        self.assertEqual(repr(book.steps.block_size), "(6.0, 3.0, 2, 4)")
        self.assertEqual((book.steps.passes, book.steps.longest_pass, book.steps.pass_frames),
                         (2, 1, 6.0))

    def test_what_cannot_be_a_number_is_absent(self):
        class OnGpu:
            device = "cuda:0"

            def __float__(self):
                raise AssertionError("waits for a GPU")
        book = ProfilingSession("s", {}, 10)
        for value in (OnGpu(), "text", 10 ** 400, object()):
            book.add_step(0, value, 1, value, value, True)
        self.assertEqual({row["timestep"] for row in book.steps.rows}, {None})
        self.assertEqual(book.steps.timestep, (0.0, None, None, None))
        self.assertEqual(book.steps.count, 4)

    def test_the_newest_rows_in_their_order(self):
        book = ProfilingSession("s", {}, 3)
        for i in range(8):
            book.add_step(i, None, None, i, None, False)
            book.add_event("e", {"i": i}, False)
        self.assertEqual([row["step"] for row in book.steps.rows], [5, 6, 7])
        self.assertEqual(book.steps.ms, (28.0, 3.5, 0, 7))
        self.assertEqual([data["i"] for _, _, data in book.events.rows], [5, 6, 7])
        self.assertEqual(book.events.dropped, 5)

    def test_references_are_given_back(self):
        class Number(float):
            pass
        value = Number(0.5)
        before = sys.getrefcount(value)
        book = ProfilingSession("s", {}, 2)
        for _ in range(5):
            book.add_step(value, value, value, value, value, True)
            book.steps.rows, book.steps.ms
        del book
        self.assertEqual(sys.getrefcount(value), before)

    def test_threads(self):
        book = ProfilingSession("s", {}, 100)

        def work():
            for i in range(2000):
                book.add_step(i, 0.5, 1, 1.0, None, False)
                with book.stage("s"):
                    pass
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((book.steps.count, book.stages["s"].count), (8000, 8000))

    def test_a_plain_copy_is_bounded(self):
        endless = []
        endless.append(endless)
        text = repr(_core.plain(endless))
        self.assertIn("<list>", text)
        self.assertEqual(_core.plain({"a": [1, None, True, "t", 2.5]}),
                         {"a": [1, None, True, "t", 2.5]})


class Batches(Case):
    def test_a_class_of_the_programs_own(self):
        seen = []

        class Mine(training.EpochPerformanceMonitor):
            def __init__(self, extra):
                super().__init__(True, 0)
                self.extra = extra

            def on_batch_end(self, batch_idx, loss=None, samples=0):
                seen.append(batch_idx)
                super().on_batch_end(batch_idx, loss=loss, samples=samples)
        monitor = Mine("x")
        monitor.on_epoch_start()
        for batch in range(3):
            monitor.on_batch_start(batch_idx=batch)
            monitor.on_batch_end(batch, 0.5)
        monitor.on_epoch_end()
        self.assertEqual(seen, [0, 1, 2])
        self.assertEqual((monitor.get_statistics()["num_batches"], monitor.extra), (3, "x"))
        gone = weakref.ref(monitor)
        del monitor
        gc.collect()
        self.assertIsNone(gone())

    def test_arguments(self):
        monitor = training.EpochPerformanceMonitor(verbose_batches=1)
        monitor.on_epoch_start()
        monitor.on_batch_start(0)
        monitor.on_batch_end(loss=-1.0, batch_idx=0)
        self.assertIn("loss=-1.000000", self.out.getvalue())
        for call in (lambda: monitor.on_batch_end(), lambda: monitor.on_batch_end(0, lose=1),
                     lambda: monitor.on_batch_end(0, batch_idx=0), lambda: monitor.on_batch_start("a"),
                     lambda: monitor.on_batch_end(0, None, 0, 1)):
            with self.assertRaises(TypeError):
                call()

    def test_without_init(self):
        monitor = training.EpochPerformanceMonitor.__new__(training.EpochPerformanceMonitor)
        with self.assertRaisesRegex(RuntimeError, "__init__"):
            monitor.on_epoch_start()
        self.assertEqual(monitor.get_statistics(), {})


class Generations(Case):
    def test_metrics_outlive_the_monitor_and_stay_their_own(self):
        monitor = generation.PerformanceMonitor(5.0)
        with monitor.monitor_generation("first", num_steps=2) as first:
            self.assertIsNone(first.metrics)
        with monitor.monitor_generation("second"):
            pass
        del monitor
        gc.collect()
        self.assertEqual((first.metrics.model_name, first.metrics.num_inference_steps), ("first", 2))
        self.assertIs(first.metrics, first.metrics)


if __name__ == "__main__":
    unittest.main()
