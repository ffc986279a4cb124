#!/usr/bin/env python3
"""Document 000 through genscope.compat: what its implementation gets wrong, row by row."""
import asyncio
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

import genscope as gs
from genscope.compat import (PerformanceMetrics, PerformanceMonitor, PipelineOptimizer,
                             create_mmdit_performance_monitor)

from harness import spans_of

logging.getLogger("genscope.compat").setLevel(logging.CRITICAL)


class Faults(unittest.TestCase):
    def setUp(self):
        self.monitor = PerformanceMonitor(target_generation_time=5.0)

    def test_overlapping_generations_of_threads_have_their_own_times(self):
        turn, inside = threading.Event(), threading.Event()

        def slow():
            with self.monitor.monitor_generation("slow", num_steps=2) as generation:
                for _ in range(2):
                    generation.start_step_timing()
                    inside.set()
                    turn.wait(10)
                    generation.end_step_timing()

        thread = threading.Thread(target=slow)
        thread.start()
        inside.wait(10)
        with self.monitor.monitor_generation("fast", num_steps=1):
            self.monitor.start_step_timing()
            self.assertIsNotNone(self.monitor.end_step_timing())
        turn.set()
        thread.join()
        fast, slow = self.monitor.get_history()
        self.assertEqual((fast.model_name, slow.model_name), ("fast", "slow"))
        self.assertEqual((fast.steps_measured, slow.steps_measured), (1, 2))
        self.assertGreater(slow.total_generation_time, fast.total_generation_time)

    def test_generations_of_tasks_have_their_own_steps(self):
        async def generate(name, steps):
            with self.monitor.monitor_generation(name, num_steps=steps):
                for _ in range(steps):
                    self.monitor.start_step_timing()
                    await asyncio.sleep(0)
                    self.monitor.end_step_timing()

        async def main():
            await asyncio.gather(*(generate(f"g{n}", n) for n in range(1, 6)))
        asyncio.run(main())
        found = {one.model_name: one.steps_measured for one in self.monitor.get_history()}
        self.assertEqual(found, {f"g{n}": n for n in range(1, 6)})

    def test_a_failed_generation_is_not_scored_100(self):
        with self.assertRaises(RuntimeError):
            with self.monitor.monitor_generation("broken"):
                raise RuntimeError("out of memory")
        metrics = self.monitor.get_current_metrics()
        self.assertEqual((metrics.status, metrics.performance_score, metrics.target_met),
                         ("failed", 0.0, False))
        self.assertEqual(metrics.failure, "RuntimeError: out of memory")
        history = self.monitor.get_performance_summary()["historical_performance"]
        self.assertEqual((history["failed_generations"], history["success_rate"]), (1, 0.0))

    def test_the_load_time_is_not_lost(self):
        model, seconds = self.monitor.measure_model_load_time(lambda path: path.upper(), "qwen")
        self.assertEqual(model, "QWEN")
        for _ in range(2):
            with self.monitor.monitor_generation("Qwen-Image"):
                pass
            self.assertEqual(self.monitor.get_current_metrics().model_load_time, seconds)

    def test_a_load_that_raises_is_no_load(self):
        with self.assertRaises(KeyError):
            self.monitor.measure_model_load_time(lambda: {}["no"])
        with self.monitor.monitor_generation():
            pass
        self.assertIsNone(self.monitor.get_current_metrics().model_load_time)

    def test_a_before_of_no_time_is_no_division_by_zero(self):
        self.assertIn("error", self.monitor.get_before_after_comparison(PerformanceMetrics()))
        self.assertIn("error", self.monitor.get_before_after_comparison(None))
        with self.monitor.monitor_generation():
            pass
        current = self.monitor.get_performance_summary()["current_generation"]
        self.assertEqual((current["steps"], current["resolution"]), (None, None))
        change = self.monitor.get_before_after_comparison(PerformanceMetrics())
        self.assertIsNone(change["improvement"]["total_time_percent"])
        self.assertIsNone(change["summary"]["improvement_factor"])

    def test_before_and_after_as_the_document_has_it(self):
        with self.monitor.monitor_generation("Qwen-Image"):
            pass
        before = PerformanceMetrics(total_generation_time=16.0, generation_time_per_step=0.8,
                                    performance_score=31.25, model_name="Qwen-Image-Edit")
        change = self.monitor.get_before_after_comparison(before)
        self.assertEqual(change["before"]["total_time"], 16.0)
        self.assertTrue(change["summary"]["faster"])
        self.assertTrue(change["summary"]["significant_improvement"])
        self.assertTrue(change["improvement"]["target_status_change"])
        self.assertGreater(change["improvement"]["total_time_percent"], 50)

    def _file(self, data):
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump(data, file)
        self.addCleanup(os.unlink, file.name)
        return file.name

    def test_without_a_gpu_its_figures_are_absent_and_nothing_is_advised_about_it(self):
        with mock.patch.dict(os.environ, {"GENSCOPE_NVML_LIBRARY": "/nothing.so"}):
            monitor = PerformanceMonitor(0.000001)
            with monitor.monitor_generation("m"):
                sum(range(1000))
        metrics = monitor.get_current_metrics()
        self.assertIsNone(metrics.gpu_memory_used_gb)
        self.assertTrue(metrics.gpu_absent)
        self.assertEqual(metrics.status, "missed_2x")
        rules = {finding["rule"] for finding in monitor.diagnose()}
        self.assertIn("TARGET-2X", rules)
        self.assertFalse([rule for rule in rules if rule.startswith(("MEM", "GPU"))])

    def test_a_driver_that_is_broken_breaks_no_constructor(self):
        text = self._file({})  # no library
        with mock.patch.dict(os.environ, {"GENSCOPE_NVML_LIBRARY": text}):
            with PerformanceMonitor().monitor_generation() as generation:
                pass
        self.assertIsNone(generation.metrics.gpu_name)

    def test_torchs_allocator_tells_the_memory(self):
        cuda = types.SimpleNamespace(is_available=lambda: True, device_count=lambda: 1,
                                     memory_allocated=lambda: 3_000_000_000)
        with mock.patch.dict(sys.modules, {"torch": types.SimpleNamespace(cuda=cuda)}):
            with self.monitor.monitor_generation() as generation:
                pass
        self.assertEqual(generation.metrics.gpu_memory_used_gb, 3.0)

    def test_importing_it_leaves_the_root_logger_alone(self):
        code = ("import logging, genscope.compat.generation as g\n"
                "assert not logging.getLogger().handlers and logging.getLogger().level == 30\n")
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_history_is_bounded(self):
        monitor = PerformanceMonitor(history=3)
        for i in range(10):
            with monitor.monitor_generation(f"g{i}"):
                pass
        self.assertEqual([one.model_name for one in monitor.get_history()], ["g7", "g8", "g9"])


class Surface(unittest.TestCase):
    def test_timing_by_hand(self):
        monitor = create_mmdit_performance_monitor(target_time=5.0)
        self.assertIsNone(monitor.end_timing())
        monitor.start_timing()
        monitor.start_step_timing()
        self.assertGreaterEqual(monitor.end_step_timing(), 0)
        self.assertGreaterEqual(monitor.end_timing(), 0)
        self.assertIsNone(monitor.end_timing())
        self.assertEqual(monitor.get_current_metrics().steps_measured, 1)

    def test_export_can_be_read_back(self):
        monitor = PerformanceMonitor()
        with monitor.monitor_generation("kept", num_steps=2, resolution=(512, 768)):
            pass
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "metrics.json")
            monitor.export_metrics_to_json(path)
            with open(path) as file:
                self.assertEqual(set(json.load(file)) & {"current_metrics", "performance_summary",
                                                         "export_timestamp"},
                                 {"current_metrics", "performance_summary", "export_timestamp"})
            other = PerformanceMonitor()
            other.import_metrics_from_json(path)
        self.assertEqual(other.get_history()[0].image_resolution, (512, 768))

    def test_early_warning(self):
        said = []
        monitor = PerformanceMonitor(0.000001, on_early_warning=said.append)
        with monitor.monitor_generation(num_steps=5) as generation:
            for _ in range(5):
                generation.start_step_timing()
                generation.end_step_timing()
            self.assertTrue(generation.progress()["out_of_reach"])
        self.assertEqual(len(said), 1)
        self.assertTrue(said[0]["out_of_reach"])
        self.assertEqual(said[0]["steps"], 5)

    def test_a_warning_that_raises_harms_nobody(self):
        def broken(_):
            raise ValueError("of the callback")
        monitor = PerformanceMonitor(0.000001, on_early_warning=broken)
        with mock.patch.object(sys, "unraisablehook"):
            with monitor.monitor_generation(num_steps=5) as generation:
                for _ in range(5):
                    generation.start_step_timing()
                    generation.end_step_timing()
        self.assertEqual(generation.metrics.steps_measured, 5)

    def test_facts_of_the_program_reach_the_advice(self):
        monitor = PerformanceMonitor(0.000001)
        with monitor.monitor_generation("Qwen-Image", "MMDiT"):
            pass
        rules = [row["rule"] for row in monitor.diagnose(
            facts={"set.attn_processor": "AttnProcessor2_0"})]
        self.assertIn("ATT-PROC", rules)

    def test_settings_have_reasons(self):
        optimizer = PipelineOptimizer()
        self.assertEqual(optimizer.configure_generation_settings("UNet"), {"guidance_scale": 5.0})
        for row in optimizer.recommend_settings("MMDiT", "RTX 4090", "qwen-image")["settings"]:
            self.assertTrue(row["reason"] and row["source"])
        with self.assertRaises(ValueError):
            optimizer.recommend_settings("MMDiT", "no such gpu")

    def test_a_recorded_generation_has_its_steps_and_the_stages_inside(self):
        monitor = PerformanceMonitor()
        with tempfile.TemporaryDirectory() as folder:
            with gs.session("generation", run_dir=folder, quiet=True):
                with monitor.monitor_generation("m", num_steps=2) as generation:
                    with gs.stage("text_encoding"):
                        pass
                    for _ in range(2):
                        generation.start_step_timing()
                        generation.end_step_timing()

                async def task():
                    with monitor.monitor_generation("t", num_steps=1):
                        with gs.stage("vae_decode"):
                            await asyncio.sleep(0)
                asyncio.run(task())
            spans = spans_of(folder)
        by_id = {span["id"]: span for span in spans if "id" in span}
        self.assertEqual(sum(span.get("kind") == "step" for span in spans), 2)
        for stage in ("text_encoding", "vae_decode"):
            (one,) = [span for span in spans if span.get("name") == stage]
            self.assertEqual(by_id[one["parent"]]["kind"], "request", stage)


if __name__ == "__main__":
    unittest.main()
