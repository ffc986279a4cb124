#!/usr/bin/env python3
"""Document 001's validator: each fault of the original is a test here. Functions take no time of
their own where a figure is checked: what they sleep is far from every limit."""
import json
import logging
import math
import os
import pathlib
import tempfile
import threading
import time
import unittest

from genscope.compat import validator
from genscope.compat.validator import (Absent, BenchmarkSuite, PerformanceValidator,
                                       create_default_benchmark_suite, create_performance_validator,
                                       validate_performance_improvement)

os.environ["GENSCOPE_NVML_LIBRARY"] = "/nonexistent/libnvidia-ml.so.1"
os.environ["GENSCOPE_SYS_ROOT"] = "/nonexistent"


def sleeps(seconds):
    def generate(prompt):
        time.sleep(seconds)
        return "image"
    return generate


def fails(prompt):
    raise RuntimeError("out of memory")


def small(**more):
    return BenchmarkSuite(test_resolutions=[(64, 64), (128, 64)], test_step_counts=[1, 2],
                          test_batch_sizes=[1], include_multimodal_tests=False, **more)


class Faults(unittest.TestCase):
    """What the original gets wrong."""

    def setUp(self):
        self.validator = PerformanceValidator(gpu=False)

    def test_every_result_0_s(self):
        with self.validator.benchmark_generation("one", num_steps=4) as (result, monitor):
            time.sleep(0.02)
        self.assertGreater(result.total_time, 0.019)
        self.assertGreater(result.per_step_time, 0.004)
        self.assertTrue(result.target_met)
        self.assertEqual(result.performance_score, 100)
        self.assertGreater(monitor.get_current_metrics().total_generation_time, 0.019)
        self.assertGreater(self.validator.run_end_to_end_performance_test(sleeps(0.01), ["a", "b"]).total_time,
                           0.009)

    def test_30_x_judged_1_x(self):
        fast = PerformanceValidator(target_improvement_factor=5, gpu=False)
        found = fast.run_speed_improvement_validation(sleeps(0.03), sleeps(0.001))
        self.assertGreater(found["improvement_factor"], 5)
        self.assertEqual(found["validation_status"], "PASSED")
        self.assertLessEqual(found["improvement_interval"]["low"], found["improvement_factor"])
        self.assertGreaterEqual(found["runs"]["before"], 5)
        self.assertIn("x faster", found["summary"]["speedup"])
        json.dumps(found)

    def test_a_change_that_is_none(self):
        found = self.validator.run_speed_improvement_validation(sleeps(0.003), sleeps(0.003))
        self.assertEqual(found["validation_status"], "FAILED")
        self.assertLess(found["improvement_factor"], 10)

    def test_no_baseline(self):
        first = self.validator.run_end_to_end_performance_test(sleeps(0), ["a"])
        self.assertIsInstance(first.improvement_factor, Absent)
        self.validator.set_baseline_metrics({"total_generation_time": 16.0})
        later = self.validator.run_end_to_end_performance_test(sleeps(0.01), ["a"])
        self.assertGreater(later.improvement_factor, 10)
        with self.assertRaisesRegex(ValueError, "above 0"):
            self.validator.set_baseline_metrics({})

    def test_wrong_denominators(self):
        found = self.validator.run_multimodal_performance_benchmark(
            lambda prompt, image=None: time.sleep(0.03 if image else 0.001) or "text",
            ["a", "b", "c", "d"], ["x.png", "y.png"])
        self.assertGreater(found.image_analysis_time, 0.029)  # not half of it
        self.assertGreater(found.text_processing_time, 0.0009)
        self.assertEqual(found.success_rate, 100)

    def test_parameters_reach_the_function(self):
        seen = set()

        def generate(prompt, width, height, num_inference_steps, batch_size=1):
            seen.add((width, height, num_inference_steps, batch_size))
            return "image"
        found = self.validator.run_regression_test_suite(generate, small())
        self.assertEqual(seen, {(64, 64, 1, 1), (64, 64, 2, 1), (128, 64, 1, 1), (128, 64, 2, 1)})
        self.assertEqual(found["parameters_passed"], ["resolution", "num_steps", "batch_size"])
        self.assertEqual(found["summary"]["notes"], [])
        self.assertEqual(found["summary"]["pass_rate"], 100)
        self.assertEqual(found["summary"]["overall_status"], "PASSED")

    def test_every_field_of_a_suite_is_used(self):
        asked, described = set(), set()
        suite = small(models_to_test=["one", "two"], qwen2vl_model="my-vl")
        suite.include_multimodal_tests = True
        found = self.validator.run_regression_test_suite(
            lambda prompt, model_name: asked.add(model_name) or 1, suite,
            multimodal_function=lambda prompt, image=None, model=None: described.add(model) or 1)
        self.assertEqual((asked, described), ({"one", "two"}, {"my-vl"}))
        self.assertEqual(found["test_results"][-1]["model_name"], "my-vl")
        suite.include_multimodal_tests = False
        described.clear()
        self.validator.run_regression_test_suite(lambda prompt: 1, suite, lambda prompt: described.add(1))
        self.assertEqual(described, set())

    def test_any_keyword_gets_the_documents_names(self):
        seen = []
        self.validator.run_regression_test_suite(lambda prompt, **more: seen.append(more) or 1, small())
        self.assertEqual(seen[0]["resolution"], (64, 64))
        self.assertEqual((seen[0]["num_steps"], seen[0]["batch_size"]), (1, 1))
        self.assertIn("model_name", seen[0])

    def test_what_does_not_reach_it_is_said(self):
        found = self.validator.run_regression_test_suite(sleeps(0), small())
        self.assertIn("does not take resolution, num_steps, batch_size", found["summary"]["notes"][0])
        self.assertIsNone(found["test_results"][0]["per_step_time"])

    def test_regression_is_against_a_stored_baseline(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "base.json"
            suite = BenchmarkSuite(test_resolutions=[(64, 64)], test_step_counts=[1], test_batch_sizes=[1],
                                   include_multimodal_tests=False, runs_per_test=5)
            self.validator.run_regression_test_suite(sleeps(0.002), suite)
            self.validator.export_benchmark_results(path)
            suite.baseline_path = str(path)
            slower = self.validator.run_regression_test_suite(sleeps(0.05), suite)
            self.assertEqual(slower["test_results"][0]["verdict"], "regressed")
            self.assertTrue(slower["test_results"][0]["target_met"])
            self.assertEqual(slower["summary"]["overall_status"], "FAILED")

    def test_throughput_is_not_a_warning(self):
        found = self.validator.run_gpu_utilization_benchmark(sleeps(0.005), duration_seconds=0.1)
        self.assertEqual(found.warnings, [])
        self.assertGreater(found.generations_per_second, 1)
        quick = self.validator.run_gpu_utilization_benchmark(sleeps(0), duration_seconds=0.5)
        self.assertGreater(quick.generations_per_second, 20)  # a pause of 0.1 s between them allows ten
        self.assertLess(found.total_time, 0.1)  # of one, not of all

    def test_utilization_is_absent_not_0(self):
        watching = PerformanceValidator()
        found = watching.run_end_to_end_performance_test(sleeps(0), ["a", "b"])
        self.assertIsInstance(found.gpu_utilization_percent, Absent)
        self.assertEqual(f"{found.gpu_utilization_percent:.1f}%", "n/a%")
        self.assertTrue(math.isnan(found.gpu_utilization_percent))
        self.assertIn("nvml", found.gpu_absent)
        self.assertIsNone(found.to_dict()["gpu_utilization_percent"])
        for advice in watching.get_performance_summary()["recommendations"]:
            self.assertNotIn("GPU", advice)
            self.assertNotIn("memory", advice)

    def test_no_driver_is_no_exception(self):
        monitor = validator.GPUMonitor()
        monitor.start_monitoring()
        self.assertIsNone(monitor.stop_monitoring())

    def test_the_export_is_written(self):
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                with validate_performance_improvement(sleeps(0.05), sleeps(0), "a cat", 2.0) as found:
                    self.assertEqual(found["validation_status"], "PASSED")
                whole = json.loads(pathlib.Path(found["export_path"]).read_text())
            finally:
                os.chdir(here)
        self.assertEqual([row["test_name"] for row in whole["benchmark_results"]],
                         ["before_optimization", "after_optimization"])
        for key in ("export_timestamp", "hardware_info", "target_improvement_factor",
                    "target_generation_time", "baseline_metrics", "summary"):
            self.assertIn(key, whole)
        with self.assertRaises(OSError):
            self.validator.export_benchmark_results("/nonexistent/x.json")

    def test_threads(self):
        def work():
            for _ in range(10):
                with self.validator.benchmark_generation("thread") as (result, _monitor):
                    time.sleep(0.001)
                self.assertGreater(result.total_time, 0.0009)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        results = self.validator.benchmark_results
        self.assertEqual(len(results), 40)
        self.assertTrue(all(result.total_time > 0.0009 for result in results))


class Behaviour(unittest.TestCase):
    def setUp(self):
        self.validator = PerformanceValidator(gpu=False)

    def test_a_failure_is_one(self):
        found = self.validator.run_end_to_end_performance_test(fails, ["a", "b"])
        self.assertEqual((found.success_rate, found.error_count, found.performance_score), (0, 2, 0))
        self.assertIn("out of memory", found.warnings[0])
        self.assertEqual(f"{found.total_time:.3f}s", "n/as")
        speed = self.validator.run_speed_improvement_validation(sleeps(0), fails)
        self.assertEqual(speed["validation_status"], "FAILED")
        self.assertEqual(f"{speed['improvement_factor']:.1f}x", "n/ax")
        with self.assertRaises(KeyError):
            with self.validator.benchmark_generation("raises") as (result, _monitor):
                raise KeyError("x")
        self.assertEqual((result.success_rate, result.error_count), (0, 1))

    def test_none_is_a_failure(self):
        found = self.validator.run_end_to_end_performance_test(lambda prompt: None, ["a"])
        self.assertEqual(found.success_rate, 0)

    def test_success_has_an_interval(self):
        found = self.validator.run_end_to_end_performance_test(sleeps(0), ["a"] * 10)
        self.assertAlmostEqual(found.success_rate_interval["low"], 72.2, delta=0.1)
        self.assertIn("at least 72 %", found.notes[0])

    def test_ctrl_c_goes_on(self):
        calls = []

        def interrupted(prompt):
            calls.append(prompt)
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            self.validator.run_end_to_end_performance_test(interrupted, ["a", "b"])
        self.assertEqual(len(calls), 1)

    def test_summary_and_clear(self):
        self.assertEqual(self.validator.get_performance_summary(), {"error": "No benchmark results available"})
        self.validator.run_end_to_end_performance_test(sleeps(0), ["a"])
        summary = self.validator.get_performance_summary()
        self.assertEqual(summary["overall_status"], "PASSED")
        self.assertEqual(summary["test_statistics"]["total_tests"], 1)
        self.assertIsNone(summary["performance_targets"]["improvement_target_met"])
        self.assertGreater(summary["hardware_info"]["cpu_count"], 0)
        self.validator.clear_results()
        self.assertEqual(self.validator.benchmark_results, [])

    def test_defaults_of_the_document(self):
        suite = create_default_benchmark_suite()
        self.assertEqual(suite.name, "Default MMDiT Performance Benchmark")
        self.assertEqual(len(suite.test_resolutions) * len(suite.test_step_counts) * len(suite.test_batch_sizes), 24)
        made = create_performance_validator()
        self.assertEqual((made.target_improvement_factor, made.target_generation_time), (50, 5))
        logging.getLogger("genscope.compat.validator")


if __name__ == "__main__":
    unittest.main()
