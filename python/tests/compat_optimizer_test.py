#!/usr/bin/env python3
"""genscope.compat.optimizer without torch: settings, tasks, cache, figures, functions. Tests of class
Original are named after what the document's original does wrong."""
import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import genscope as gs
from genscope.compat import optimizer
from genscope.compat.optimizer import (AsyncTaskManager, ConfigError, ExperimentTracker,
                                       OptimizationConfig, PerformanceCache, PerformanceProfiler,
                                       create_optimization_config, get_optimal_batch_size,
                                       measure_execution_time, optimization_config_errors, parallel_map,
                                       retry_operation, validate_optimization_config)
from genscope.compat.optimizer.values import Count


def no_wait():
    """Waits of retries end at once; their lengths are in the list."""
    waited = []

    async def sleep(seconds):
        waited.append(seconds)
    return waited, mock.patch("asyncio.sleep", sleep)


class Config(unittest.TestCase):
    def test_the_documents_twenty_fields(self):
        config = OptimizationConfig()
        self.assertEqual(len(config.to_dict()), 20)
        self.assertEqual(config.to_dict()["gpu_ids"], [0])
        self.assertEqual((config.cache_size, config.cache_ttl, config.task_timeout), (1000, 3600, 300.0))
        self.assertTrue(validate_optimization_config(config))
        self.assertIsNot(OptimizationConfig().gpu_ids, OptimizationConfig().gpu_ids)

    def test_every_error_with_path_and_remedy(self):
        config = OptimizationConfig(
            use_gpu="yes", gpu_ids=[0, 0], gradient_accumulation_steps=0, max_memory_usage=80,
            cache_size=0, cache_ttl=-1, max_concurrent_tasks=0, task_timeout=float("nan"), model_name="")
        config.max_workers = 3
        self.assertFalse(validate_optimization_config(config))
        found = {problem.path: problem for problem in optimization_config_errors(config)}
        self.assertEqual(set(found), {"use_gpu", "gpu_ids", "gradient_accumulation_steps",
                                      "max_memory_usage", "cache_size", "cache_ttl",
                                      "max_concurrent_tasks", "task_timeout", "model_name", "max_workers"})
        self.assertEqual(found["max_memory_usage"].remedy, "write 0.8")
        self.assertTrue(all(problem.reason and problem.remedy for problem in found.values()))
        with self.assertRaises(ConfigError) as raised:
            optimizer.PerformanceOptimizer(config)
        self.assertEqual(len(raised.exception.problems), 10)
        self.assertIn("task_timeout: is nan", str(raised.exception))

    def test_unknown_names(self):
        with self.assertRaises(ConfigError) as raised:
            create_optimization_config(max_concurent_tasks=4)
        self.assertIn("did you mean max_concurrent_tasks?", str(raised.exception))
        (problem,) = optimization_config_errors({"cache_sise": 3})
        self.assertEqual(problem.remedy, "did you mean cache_size?")
        (problem,) = optimization_config_errors({3: 3})
        self.assertEqual((problem.path, problem.reason), ("3", "is no setting"))
        (problem,) = optimization_config_errors({"task_timeout": 10 ** 400})
        self.assertEqual(problem.path, "task_timeout")
        self.assertEqual(create_optimization_config(cache_size=3).cache_size, 3)

    def test_settings_that_do_nothing_are_told(self):
        self.assertEqual(set(OptimizationConfig().void_settings()),
                         {"enable_gradient_checkpointing", "gradient_accumulation_steps"})
        self.assertEqual(OptimizationConfig(enable_gradient_checkpointing=False,
                                            gradient_accumulation_steps=1).void_settings(), {})


class Functions(unittest.IsolatedAsyncioTestCase):
    async def test_parallel_map_keeps_order_and_limit(self):
        running, most = 0, 0

        async def double(item):
            nonlocal running, most
            running += 1
            most = max(most, running)
            for _ in range(item % 3):
                await asyncio.sleep(0)
            running -= 1
            return item * 2
        self.assertEqual(await parallel_map(double, list(range(20)), max_workers=3),
                         [i * 2 for i in range(20)])
        self.assertEqual(most, 3)
        self.assertEqual(await parallel_map(double, []), [])
        with self.assertRaises(ValueError):
            await parallel_map(double, [1], max_workers=0)

    async def test_parallel_map_stops_at_an_error(self):
        begun = []

        async def work(item):
            begun.append(item)
            if item == 2:
                raise KeyError(item)
            await asyncio.sleep(0 if item < 2 else 3600)
        with self.assertRaises(KeyError):
            await parallel_map(work, range(100), max_workers=2)
        self.assertLess(len(begun), 5)

    async def test_retry_waits_longer_each_time(self):
        calls = []

        async def flaky(what):
            calls.append(what)
            if len(calls) < 4:
                raise ConnectionError
            return what
        waited, patch = no_wait()
        with patch:
            self.assertEqual(await retry_operation(flaky, 4, 1.0, "x"), "x")
        self.assertEqual((calls, len(waited)), (["x"] * 4, 3))
        for at, seconds in enumerate(waited):
            self.assertTrue(0 <= seconds <= 2 ** at, waited)

    async def test_retry_gives_up_and_never_repeats_what_comes_again(self):
        for error, times in ((ConnectionError, 3), (ValueError, 1), (FileNotFoundError, 1)):
            calls = []

            async def fail():
                calls.append(1)
                raise error("no")
            waited, patch = no_wait()
            with patch, self.assertRaises(error):
                await retry_operation(fail, max_retries=3)
            self.assertEqual(len(calls), times)

    async def test_measured(self):
        async def add(a, b=0):
            return a + b
        result, seconds = await measure_execution_time(add, 1, b=2)
        self.assertEqual(result, 3)
        self.assertGreaterEqual(seconds, 0)

    async def test_batch_sizes(self):
        self.assertEqual(get_optimal_batch_size(24, 3), 4)  # the document's rule
        self.assertEqual(get_optimal_batch_size(1, 3), 1)
        self.assertEqual(get_optimal_batch_size(24, 8, item_memory=2), 8)
        with self.assertRaises(ValueError):
            get_optimal_batch_size(24, 0)


class Parts(unittest.IsolatedAsyncioTestCase):
    async def test_tasks_keep_within_their_number(self):
        manager, running, most = AsyncTaskManager(max_concurrent=2), 0, 0

        async def work(item):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            if item == 3:
                raise KeyError("three")
            return item
        found = await manager.run_batch([work(i) for i in range(6)])
        self.assertEqual([found[i] for i in (0, 1, 2, 4, 5)], [0, 1, 2, 4, 5])
        self.assertIsInstance(found[3], KeyError)
        self.assertEqual((most, manager.completed, manager.failed), (2, 5, 1))
        self.assertEqual(await manager.run_task(lambda a: a + 1, 1), 2)

    async def test_all_can_be_cancelled(self):
        manager = AsyncTaskManager(max_concurrent=4)
        tasks = [asyncio.ensure_future(manager.run_task(asyncio.sleep, 3600)) for _ in range(3)]
        while len(manager.active_tasks) < 3:
            await asyncio.sleep(0)
        self.assertEqual(await manager.cancel_all_tasks(), 3)
        for task in tasks:
            with self.assertRaises(asyncio.CancelledError):
                await task
        self.assertEqual(manager.active_tasks, set())

    async def test_cached_values_may_be_none_or_false(self):
        cache = PerformanceCache(max_size=100, ttl=60)
        for value in (None, 0, "", []):
            await cache.set("key", value)
            self.assertEqual(await cache.get("key", "missing"), value)
        self.assertEqual(await cache.get("other", "missing"), "missing")
        self.assertEqual(await cache.size(), 1)
        await cache.clear()
        self.assertEqual((await cache.size(), await cache.get("key")), (0, None))

    async def test_a_cache_keeps_within_its_size(self):
        cache = PerformanceCache(max_size=20, ttl=60)
        for i in range(200):
            await cache.set(i, i)
        self.assertLessEqual(await cache.size(), 20)

    async def test_metrics_are_figures_and_counters(self):
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            with gs.session("metrics", run_dir=run, quiet=True, probes=[]):
                profiler = PerformanceProfiler()
                for value in (1, 2, 6):
                    profiler.record_metric("seconds", value)
                profiler.record_metric("many", {"a": 1.5, "b": "text"})
            counted = list(gs.load(run).counters["name"])
        self.assertEqual(profiler.get_metrics_summary(), {
            "seconds": {"mean": 3.0, "min": 1.0, "max": 6.0, "count": 3},
            "many/a": {"mean": 1.5, "min": 1.5, "max": 1.5, "count": 1}})
        self.assertEqual(counted, ["seconds"] * 3 + ["many/a"])


class Original(unittest.IsolatedAsyncioTestCase):
    def test_the_head_is_a_syntax_error(self):
        for name in optimizer.__all__:
            self.assertIsNotNone(getattr(optimizer, name), name)

    def test_wandb_tensorboard_and_aiohttp_are_imported_by_force(self):
        program = ("import sys, genscope.compat.optimizer as o; o.PerformanceOptimizer; "
                   "print([m for m in ('torch', 'wandb', 'tensorboard', 'aiohttp', 'diffusers') if m in sys.modules])")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.strip(), "[]")

    def test_a_dict_logged_as_a_number_raises(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(sys.modules, {"torch.utils.tensorboard": None}), \
                self.assertLogs("genscope.compat.optimizer", "INFO") as logs:
            tracker = ExperimentTracker(OptimizationConfig(experiment_name=folder))
            tracker.log_metric("memory", {"gpu_0": {"free": 1}})
            tracker.log_metric("note", "text")
            tracker.finish()
            tracker.finish()
        self.assertEqual(len(logs.output), 1)
        self.assertIn("tensorboard is not used", logs.output[0])

    def test_a_hit_rate_of_no_request_divides_by_zero(self):
        hits, misses = Count(0), Count(0)
        self.assertEqual(f"{hits / (hits + misses):.2%}", "n/a")
        self.assertEqual(f"{Count(1) / (Count(1) + Count(3)):.2%}", "25.00%")

    async def test_timed_out_tasks_stay_active(self):
        manager = AsyncTaskManager(max_concurrent=2, timeout=0.01)
        for _ in range(3):
            with self.assertRaises(asyncio.TimeoutError):
                await manager.run_task(asyncio.sleep, 3600)
        for _ in range(5):  # turns of the loop, in which they end
            await asyncio.sleep(0)
        self.assertEqual((manager.active_tasks, manager.timed_out), (set(), 3))

    async def test_a_timeout_frees_a_place_that_is_still_in_use(self):
        manager = AsyncTaskManager(max_concurrent=1, timeout=0.01)
        order, may_end = [], asyncio.Event()

        async def stubborn():  # as a kernel that runs: it ends when it ends
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                await may_end.wait()
                order.append("first")
        with self.assertRaises(asyncio.TimeoutError):
            await manager.run_task(stubborn)
        later = asyncio.ensure_future(manager.run_task(lambda: order.append("second")))
        for _ in range(10):
            await asyncio.sleep(0)
        self.assertEqual(order, [])
        may_end.set()
        await later
        self.assertEqual(order, ["first", "second"])

    async def test_a_function_on_a_thread_keeps_its_place_until_it_has_returned(self):
        for stop in ("timeout", "cancel"):
            with self.subTest(stop):
                manager = AsyncTaskManager(max_concurrent=1, timeout=0.01 if stop == "timeout" else 3600)
                order, began, may_end = [], threading.Event(), threading.Event()

                def stubborn():
                    began.set()
                    may_end.wait()
                    order.append("first")
                first = asyncio.ensure_future(manager.run_task(stubborn))
                await asyncio.to_thread(began.wait)
                if stop == "cancel":
                    first.cancel()
                with self.assertRaises(asyncio.TimeoutError if stop == "timeout" else asyncio.CancelledError):
                    await first
                later = asyncio.ensure_future(manager.run_task(lambda: order.append("second")))
                for _ in range(10):
                    await asyncio.sleep(0)
                self.assertEqual((order, len(manager.active_tasks)), ([], 1))
                may_end.set()
                manager.timeout = 3600
                await later
                self.assertEqual(order, ["first", "second"])

    async def test_an_update_at_capacity_evicts_another_entry(self):
        cache = PerformanceCache(max_size=2, ttl=60)
        await cache.set("a", 1)
        await cache.set("b", 2)
        for i in range(10):
            await cache.set("b", i)
        self.assertEqual((await cache.get("a"), await cache.get("b"), await cache.size()), (1, 9, 2))

    async def test_a_lock_of_asyncio_is_called_thread_safe(self):
        cache, failures = PerformanceCache(max_size=1000, ttl=60), []

        async def work(thread):
            for i in range(200):
                await cache.set((thread, i % 10), (thread, i))
                found = await cache.get((thread, i % 10))
                if found != (thread, i):
                    failures.append((thread, i, found))
        threads = [threading.Thread(target=lambda at=at: asyncio.run(work(at))) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    async def test_no_retries_silently_give_none(self):
        async def work():
            return 1
        with self.assertRaises(ValueError):
            await retry_operation(work, max_retries=0)

    def test_the_tests_assert_nothing(self):
        """So each of these can fail: one of them with a cache that forgets."""
        with mock.patch.object(PerformanceCache, "set", lambda self, key, value: asyncio.sleep(0)):
            result = unittest.TestResult()
            Parts("test_cached_values_may_be_none_or_false").run(result)
        self.assertEqual(len(result.failures) + len(result.errors), 1)


if __name__ == "__main__":
    unittest.main()
