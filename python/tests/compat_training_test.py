#!/usr/bin/env python3
"""Document 004 through genscope.compat: what its implementation gets wrong, row by row."""
import contextlib
import faulthandler
import io
import os
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

from genscope.compat import (BatchMemoryProfiler, EpochMemoryMonitor, EpochPerformanceMonitor,
                             MemoryMonitor, MemoryTracker, PerformanceMonitor, monitor_memory,
                             monitor_performance, track_memory, track_performance)

MB = 1024 * 1024


def said(function, *args):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        function(*args)
    return out.getvalue()


class Cuda:
    """torch.cuda's allocator, without a GPU."""
    def __init__(self):
        self.used, self.peak, self.reserved = 0, 0, 64 * MB
        self.asked_for, self.synchronized = [], 0

    def is_available(self):
        return True

    def device_count(self):
        return 1

    def memory_stats(self, device):
        self.asked_for.append(device)
        return {"allocated_bytes.all.current": self.used, "allocated_bytes.all.peak": self.peak,
                "reserved_bytes.all.current": self.reserved}

    def reset_peak_memory_stats(self, device):
        self.peak = self.used

    def get_device_properties(self, device):
        return types.SimpleNamespace(total_memory=1024 * MB)

    def synchronize(self, *_):
        self.synchronized += 1

    def set_device(self, *_):
        raise AssertionError("the current device is the program's")

    def allocate(self, size):
        self.used += size
        self.peak = max(self.peak, self.used)


class WithCuda(unittest.TestCase):
    def setUp(self):
        self.cuda = Cuda()
        patch = mock.patch.dict(sys.modules, {"torch": types.SimpleNamespace(cuda=self.cuda)})
        patch.start()
        self.addCleanup(patch.stop)

    def test_an_inner_span_keeps_the_peak_of_the_outer(self):
        monitor = PerformanceMonitor()
        with monitor.track("outer"):
            self.cuda.allocate(100 * MB)
            self.cuda.allocate(-90 * MB)
            with monitor.track("inner"):
                self.cuda.allocate(5 * MB)
        found = {row.operation: row for row in monitor.get_metrics()}
        self.assertEqual(found["outer"].gpu_peak_mb, 100)
        self.assertEqual(found["inner"].gpu_peak_mb, 15)
        self.assertEqual(found["outer"].gpu_delta_mb, 15)
        self.assertEqual(self.cuda.synchronized, 0)

    def test_lines_to_the_character(self):
        def work():
            with track_performance("critical_operation"):
                self.cuda.allocate(512 * MB)
        self.assertRegex(said(work), r"^\[Performance\] critical_operation: 0\.\d{3}s, CPU \+\d+\.\dMB,"
                                     r" GPU \+512\.0MB\n              GPU peak: 512\.0MB\n$")
        monitor = EpochPerformanceMonitor()
        monitor.on_epoch_start()
        monitor.on_batch_start(0)
        self.assertRegex(said(monitor.on_batch_end, 0, 0.009458),
                         r"^  Batch 0: 0\.\d{3}s, GPU 512\.0MB, CPU \d+\.\dMB, loss=0\.009458\n$")
        self.assertRegex(said(monitor.on_epoch_end),
                         r"^  Epoch end: \d\.\d{3}s total, GPU 512\.0MB, 64MB reserved, peak 512MB\n"
                         r"  Batch timing: avg=0\.\d{3}s, min=0\.\d{3}s, max=0\.\d{3}s\n$")

    def test_threads_and_the_allocator_do_not_wait_for_each_other(self):
        monitor = PerformanceMonitor()

        def work():
            for _ in range(200):
                with monitor.track("outer", aggregate=True):
                    with monitor.track("inner", aggregate=True):
                        pass
        # A thread that waits for a lock with the GIL stops this one too: end without it.
        faulthandler.dump_traceback_later(100, exit=True)
        self.addCleanup(faulthandler.cancel_dump_traceback_later)
        threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({row.operation: row.call_count for row in monitor.get_metrics()},
                         {"outer": 800, "inner": 800})

    def test_an_allocator_that_raises_costs_only_the_figure(self):
        self.cuda.memory_stats = lambda device: 1 / 0
        monitor = PerformanceMonitor()
        with monitor.track("x"):
            pass
        self.assertIsNone(monitor.get_metrics()[0].gpu_delta_mb)

    def test_a_device_that_is_not_there_is_not_replaced_by_0(self):
        monitor = PerformanceMonitor(device=7)
        with monitor.track("x"):
            pass
        self.assertNotIn(0, self.cuda.asked_for)
        self.assertIsNone(monitor.get_metrics()[0].gpu_delta_mb)
        self.assertTrue(monitor.gpu_reason())

    def test_memory_tools(self):
        self.cuda.allocate(10 * MB)
        tracker = MemoryTracker()
        tracker.record("start")
        self.cuda.allocate(20 * MB)
        tracker.record("after")
        table = said(tracker.print_summary).splitlines()
        self.assertEqual(table[4], f"{'Label':<30} {'CPU (MB)':<12} {'GPU Alloc (MB)':<15} "
                                   f"{'GPU Reserved (MB)':<15}")
        self.assertRegex(table[6], r"^start {25} +\d+\.\d +10\.0 +64\.0$")
        self.assertEqual(tracker.get_peak_memory()["gpu_peak_mb"], 30)
        self.assertEqual(MemoryMonitor.get_memory_summary()["gpu_memory_free_mb"], 960)
        self.assertRegex(said(MemoryMonitor.print_memory_usage, "now: "),
                         r"^now: CPU: [\d.]+ MB \| GPU Allocated: 30\.0 MB \| GPU Reserved: 64\.0 MB\n$")

        @monitor_memory("training epoch")
        def epoch():
            self.cuda.allocate(5 * MB)
        self.assertRegex(said(epoch), r"^\[Memory\] training epoch: CPU [+-][\d.]+ MB, GPU \+5\.0 MB\n"
                                      r"         Peak GPU: 35\.0 MB\n$")
        profiler = BatchMemoryProfiler()
        self.cuda.allocate(-5 * MB)
        profiler.checkpoint("forward")
        profiler.checkpoint("backward")
        self.assertEqual(said(profiler.print_summary),
                         "    Memory profile:\n      start → forward: GPU 30.0 MB (-5.0 MB)\n"
                         "      forward → backward: GPU 30.0 MB ( 0.0 MB)\n")
        monitor = EpochMemoryMonitor()
        monitor.on_epoch_start()
        monitor.on_batch_start(0)
        self.assertRegex(said(monitor.on_batch_end, 0, 0.5),
                         r"^  Batch 0: GPU 30\.0 MB, CPU [\d.]+ MB, loss=0\.500000\n$")
        self.assertEqual(said(monitor.on_epoch_end),
                         "  Epoch end: GPU 30.0 MB allocated, 64.0 MB reserved, peak 30.0 MB\n")


class WithoutGpu(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.dict(sys.modules, {"torch": None})
        patch.start()
        self.addCleanup(patch.stop)

    def test_nested_spans_count_once(self):
        monitor = PerformanceMonitor()
        with monitor.track("epoch"):
            with monitor.track("batch"):
                time.sleep(0.02)
        rows = {row.operation: row for row in monitor.get_metrics()}
        self.assertLess(monitor.get_total_time(), rows["epoch"].duration_seconds
                        + rows["batch"].duration_seconds)
        self.assertAlmostEqual(monitor.get_total_time(),
                               rows["epoch"].self_seconds + rows["batch"].self_seconds, 6)

    def test_aggregate_keeps_no_record_per_call(self):
        monitor = PerformanceMonitor()
        for _ in range(5000):
            with monitor.track("batch", aggregate=True):
                pass
        (row,) = monitor.get_metrics()
        self.assertEqual((row.call_count, row.aggregate), (5000, True))

    def test_single_calls_are_bounded(self):
        monitor = PerformanceMonitor(max_records=10)
        for _ in range(100):
            with monitor.track("x"):
                pass
        self.assertEqual(sum(row.call_count for row in monitor.get_metrics()), 100)
        self.assertEqual(len(monitor.get_metrics()), 11)

    def test_the_second_epoch_is_not_lost(self):
        monitor = EpochPerformanceMonitor(verbose_batches=0)
        with contextlib.redirect_stdout(io.StringIO()):
            for _ in range(3):
                monitor.on_epoch_start()
                for i in range(4):
                    monitor.on_batch_start(i)
                    monitor.on_batch_end(i)
                monitor.on_epoch_end()
        found = monitor.get_statistics()
        self.assertEqual((found["num_batches"], found["num_epochs"]), (12, 3))
        self.assertEqual(len(found["epochs"]), 3)
        self.assertEqual((found["warmup_batches"], found["steady_batches"]), (1, 11))
        self.assertIn("p99_batch_time", found)

    def test_statistics_before_the_first_batch(self):
        self.assertEqual(EpochPerformanceMonitor().get_statistics(), {})

    def test_the_decorator_tells_of_a_call_that_raises(self):
        @monitor_performance("breaks")
        def breaks():
            raise ValueError("of the program")
        with self.assertRaisesRegex(ValueError, "of the program"), \
                contextlib.redirect_stdout(io.StringIO()) as out:
            breaks()
        self.assertRegex(out.getvalue(), r"^\[Performance\] breaks: .*, failed\n$")

    def test_a_tracked_call_that_raises_is_counted(self):
        monitor = PerformanceMonitor()
        with self.assertRaises(KeyError):
            with monitor.track("x"):
                raise KeyError
        self.assertEqual(monitor.get_metrics()[0].failed, 1)

    def test_what_was_not_measured_is_absent(self):
        monitor = PerformanceMonitor()
        with monitor.track("x"):
            pass
        (row,) = monitor.get_metrics()
        self.assertIsNone(row.gpu_delta_mb)
        self.assertIsNotNone(row.cpu_start_mb)
        self.assertTrue(monitor.gpu_reason())
        self.assertIsNone(monitor.get_operation_time("never"))
        self.assertIsNone(MemoryMonitor.get_gpu_memory_mb())
        self.assertIn("GPU: Not available", said(MemoryMonitor.print_memory_usage))

    def test_a_monitor_that_is_off_does_nothing(self):
        monitor = PerformanceMonitor(False)
        with monitor.track("x"):
            pass
        self.assertEqual(monitor.get_metrics(), [])
        epochs = EpochPerformanceMonitor(enabled=False)
        epochs.on_batch_start(0)
        self.assertEqual(said(epochs.on_batch_end, 0, 1.0), "")

    def test_threads_have_their_own_stacks(self):
        monitor = PerformanceMonitor()
        inside, leave = threading.Event(), threading.Event()

        def other():
            with monitor.track("other"):
                inside.set()
                leave.wait(10)
        thread = threading.Thread(target=other)
        thread.start()
        inside.wait(10)
        with monitor.track("mine"):
            pass
        leave.set()
        thread.join()
        rows = {row.operation: row for row in monitor.get_metrics()}
        self.assertEqual(rows["mine"].self_seconds, rows["mine"].duration_seconds)
        self.assertEqual(rows["other"].self_seconds, rows["other"].duration_seconds)

    def test_settings_from_yaml(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trainer.yaml")
            with open(path, "w") as file:
                file.write("trainer_params:\n  enable_memory_monitoring: true\n"
                           "  memory_monitor_batches: 1\n  batch_size: 32\n")
            monitor = EpochPerformanceMonitor.from_yaml(path)
            monitor.on_epoch_start()
            lines = ""
            for i in range(3):
                monitor.on_batch_start(i)
                lines += said(monitor.on_batch_end, i)
            said(monitor.on_epoch_end)
            self.assertEqual(lines.count("Batch"), 1)
            self.assertGreater(monitor.get_statistics()["samples_per_second"], 0)
            with open(path, "w") as file:
                file.write("trainer_params:\n  memory_monitor_batch: 1\n")
            with self.assertRaisesRegex(ValueError, "did you mean 'memory_monitor_batches'"):
                EpochPerformanceMonitor.from_yaml(path)

    def test_a_loss_on_a_gpu_is_not_waited_for(self):
        class Loss:
            device = types.SimpleNamespace(type="cuda")

            def __float__(self):
                raise AssertionError("waits")
        monitor = EpochPerformanceMonitor()
        monitor.on_epoch_start()
        monitor.on_batch_start(0)
        self.assertNotIn("loss", said(monitor.on_batch_end, 0, Loss()))


if __name__ == "__main__":
    unittest.main()
