#!/usr/bin/env python3
"""The documents' own examples (data/seed_examples, as they stand in the documents), with only the
modules of their import lines replaced: once by the module of the document, once by genscope.compat."""
import contextlib
import csv
import io
import json
import os
import pathlib
import re
import sys
import tempfile
import time
import types
import unittest

EXAMPLES = pathlib.Path(__file__).parent / "data" / "seed_examples"
HOMES = {
    "utils.performance_monitor": "genscope.compat.generation",
    "pipeline_optimizer": "genscope.compat.generation",
    "utils.performance_validator": "genscope.compat.validator",
    "inferix.profiling": "genscope.compat.inferix",
    "inferix.profiling.config": "genscope.compat.inferix.config",
    "inferix.profiling.decorators": "genscope.compat.inferix.decorators",
    "inferix.profiling.aggregate_reports": "genscope.compat.inferix.aggregate_reports",
    "inferix.utils.profiling_integration": "genscope.compat.inferix",
    "src.utils.memory_monitor": "genscope.compat.training",
}
RULE, THIN = "=" * 90, "-" * 90


class Loss:
    """What has a backward()."""
    def backward(self):
        self.done = getattr(self, "done", 0) + 1


class Frame:
    """As much of pandas.DataFrame as the example uses."""
    def __init__(self, rows):
        self.rows = rows

    def to_csv(self, path):
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, list(self.rows[0]) if self.rows else [])
            writer.writeheader()
            writer.writerows(self.rows)


class Runner:
    """Runs sources in a folder of its own."""
    flat = False  # names of genscope.compat itself

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.dir.name)

    def source(self, name):
        (path,) = EXAMPLES.glob(name + "_*.py")
        lines = path.read_text().splitlines()
        for i, line in enumerate(lines):
            found = re.match(r"from ([\w.]+) import ", line)
            if found and found.group(1) in HOMES:
                home = "genscope.compat" if self.flat else HOMES[found.group(1)]
                lines[i] = line.replace(found.group(1), home, 1)
        return "\n".join(lines) + "\n"

    def names(self, module, *wanted):
        import importlib
        home = importlib.import_module("genscope.compat" if self.flat else "genscope.compat." + module)
        return {name: getattr(home, name) for name in wanted}

    def run_source(self, source, names):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(source, "example", "exec"), names)
        return out.getvalue()

    def run_example(self, name, /, **names):
        names["__name__"] = "example"
        return self.run_source(self.source(name), names), names


class Examples(Runner):
    """Each example of the documents."""

    # --- document 000

    def test_000_core_methods(self):
        names = self.names("generation", "PerformanceMonitor")
        monitor = names["PerformanceMonitor"](target_generation_time=5.0)
        with monitor.monitor_generation(model_name="before"):
            pass
        previous = monitor.get_current_metrics()
        self.run_example("000_01", monitor=monitor, generation_time=2.4, previous_metrics=previous)
        self.assertEqual(len(monitor.get_history()), 3)  # one of start_timing()
        self.assertTrue(monitor.validate_performance_target(5.0))
        self.assertFalse(monitor.validate_performance_target(5.1))

    def test_000_utility_functions(self):
        _, names = self.run_example("000_02", **self.names(
            "generation", "create_mmdit_performance_monitor", "monitor_generation_performance"))
        self.assertEqual(names["monitor"].target_generation_time, 5.0)

    def test_000_with_the_optimizer(self):
        for example in ("000_03", "000_05"):
            calls = []
            names = self.names("generation", "PipelineOptimizer", "PerformanceMonitor")
            _, found = self.run_example(example, **names, config={"num_inference_steps": 4},
                                        pipeline=lambda **settings: calls.append(settings) or "image")
            self.assertEqual(found["result"], "image")
            self.assertEqual(calls[0]["true_cfg_scale"], 4.0)
            if example == "000_03":
                self.assertEqual(calls[0]["num_inference_steps"], 4)
            metrics = found["monitor"].get_current_metrics()
            self.assertEqual((metrics.model_name, metrics.architecture_type), ("Qwen-Image", "MMDiT"))

    def test_000_basic_usage(self):
        out, names = self.run_example("000_04")
        self.assertEqual(out, "Performance Score: 100.0/100\n")
        current = names["summary"]["current_generation"]
        self.assertEqual((current["steps"], current["resolution"]), (20, "1024x1024"))
        self.assertEqual(names["summary"]["step_performance"]["total_steps"], 20)

    # --- document 001

    def validator(self):
        names = self.names("validator", "create_performance_validator")
        return names["create_performance_validator"](target_improvement=50.0, target_time=5.0)

    def test_001_speed_improvement(self):
        def slow_generator(prompt):
            time.sleep(0.06)
            return "image"
        out, names = self.run_example("001_01", slow_generator=slow_generator,
                                      fast_generator=lambda prompt: "image")
        self.assertRegex(out, r"^Improvement: \d+\.\dx faster\nStatus: PASSED\n$")
        self.assertGreater(names["results"]["improvement_interval"]["low"], 50)

    def test_001_end_to_end(self):
        seen = []
        out, names = self.run_example("001_02", validator=self.validator(),
                                      optimized_generator=lambda prompt: seen.append(prompt) or "image")
        self.assertRegex(out, r"^Success Rate: 100\.0%\nAverage Time: 0\.\d{3}s\n$")
        self.assertEqual(set(seen), set(names["test_prompts"]))
        self.assertEqual(names["e2e_result"].model_name, "Optimized-MMDiT")

    def test_001_gpu_monitoring(self):
        source = self.source("001_03").replace("duration_seconds=30.0", "duration_seconds=0.05")
        names = {"validator": self.validator(), "gpu_intensive_generator": lambda prompt: "image"}
        out = self.run_source(source, names)
        self.assertRegex(out, r"^GPU Utilization: (n/a|[\d.]+)%\nMemory Efficiency: (n/a|[\d.]+)%\n$")

    def test_001_multimodal(self):
        out, names = self.run_example(
            "001_04", validator=self.validator(), text_prompts=["a", "b", "c"], image_paths=["a.png"],
            qwen2vl_processor=lambda prompt, image=None: time.sleep(0.02 if image else 0) or "text")
        self.assertRegex(out, r"^Text Processing: 0\.\d{3}s\nImage Analysis: 0\.\d{3}s\n$")
        self.assertGreater(names["multimodal_result"].image_analysis_time, 0.019)

    def test_001_regression(self):
        seen = set()
        out, names = self.run_example(
            "001_05", validator=self.validator(), **self.names("validator", "BenchmarkSuite"),
            production_generator=lambda prompt, resolution, num_steps: seen.add((resolution, num_steps)) or "image")
        self.assertEqual(out, "Pass Rate: 100.0%\nStatus: PASSED\n")
        self.assertEqual(len(seen), 9)
        self.assertEqual(names["results"]["summary"]["total_tests"], 18)

    # --- document 002

    def test_002_basic_usage(self):
        out, names = self.run_example("002_01")
        self.assertEqual(names["session_id"], "my_video_generation")
        (path,) = pathlib.Path("profiling_reports").glob("profiling_report_my_video_generation_*.json")
        self.assertRegex(path.name, r"^profiling_report_my_video_generation_\d{8}_\d{6}\.json$")
        report = json.loads(path.read_text())
        self.assertEqual(set(report["stage_analysis"]["stages"]),
                         {"text_encoding", "video_generation", "vae_decode"})
        shares = [row["percentage_of_total"] for row in report["stage_analysis"]["stages"].values()]
        self.assertAlmostEqual(sum(shares), 100)
        page = path.with_suffix(".html").read_text()
        self.assertIn("<!doctype html>", page[:200].lower())
        self.assertIn(str(path.name), out)

    def test_002_integration(self):
        names = self.names("inferix", "ProfilingConfig")
        config = names["ProfilingConfig"](enabled=True, report_format="json")
        out, found = self.run_example("002_02", config=config,
                                      your_existing_function=lambda: "video")
        self.assertEqual(found["result"], "video")
        self.assertRegex(out, r"GPU Memory: (None|[\d.]+)MB\n")
        (path,) = pathlib.Path("profiling_reports").glob("*.json")
        report = json.loads(path.read_text())
        self.assertRegex(report["session_info"]["id"], r"^session_[0-9a-f]{8}_\d+$")
        self.assertEqual(report["session_info"]["tags"]["prompt"], "A cat playing in the garden")
        self.assertEqual(report["events"][0]["name"], "milestone_reached")
        self.assertEqual(report["events"][0]["data"], {"progress": 0.5})

    def test_002_python_configuration(self):
        _, names = self.run_example("002_03")
        self.assertEqual(names["config"].session_tags, {"experiment": "optimization_v1"})

    def test_002_aggregation(self):
        names = self.names("inferix", "InferixProfiler", "ProfilingConfig")
        for rank in range(2):
            config = names["ProfilingConfig"](
                enabled=True, report_format="json", real_time_display=False,
                output_dir=f"distributed_profiling_reports/rank_{rank}")
            with names["InferixProfiler"](config).session("train", {"rank": rank, "world_size": 2}):
                pass
        out, _ = self.run_example("002_04")
        whole = json.loads(pathlib.Path("aggregated_report.json").read_text())
        self.assertEqual((whole["total_reports"], whole["rank_count"]), (2, 2))
        self.assertEqual([row["rank"] for row in whole["reports_summary"]], [0, 1])
        self.assertEqual({row["session_id"] for row in whole["reports_summary"]}, {"train"})

    def test_002_custom_stages(self):
        names = self.names("inferix", "InferixProfiler", "ProfilingConfig")
        profiler = names["InferixProfiler"](names["ProfilingConfig"](
            enabled=True, real_time_display=False, generate_final_report=False))
        with profiler.session("custom"):
            _, found = self.run_example("002_05", profiler=profiler, custom_function=lambda: 7)
            found["my_function"]()
            stages = profiler.current_session.stages
        self.assertEqual(found["result"], 7)
        self.assertEqual(set(stages), {"custom_operation", "my_function"})
        self.assertEqual(stages["custom_operation"].metadata, {"batch_size": 32})
        self.assertEqual(found["my_function"].__name__, "my_function")

    def test_002_some_gpus(self):
        _, names = self.run_example("002_06", **self.names("inferix", "GPUMonitor"))
        self.assertEqual(names["gpu_monitor"].device_ids, [0, 1, 2, 3])

    def test_002_decorators(self):
        _, names = self.run_example("002_07")
        made = self.names("inferix", "InferixProfiler", "ProfilingConfig")
        profiler = made["InferixProfiler"](made["ProfilingConfig"](
            enabled=True, real_time_display=False, report_format="json"))
        pipeline = names["VideoPipeline"]()
        pipeline.run_text_to_video(["off"])  # without a profiler: only called
        pipeline._profiling_enabled, pipeline._profiler = True, profiler
        pipeline._initialize_model()
        pipeline.run_text_to_video(["a cat"])
        (path,) = pathlib.Path("profiling_reports").glob("profiling_report_video_generation_*.json")
        report = json.loads(path.read_text())
        self.assertEqual(report["session_info"]["tags"], {"mode": "t2v"})
        self.assertEqual(set(report["before_session"]["stages"]), {"model_initialization"})

    def test_002_direct_integration(self):
        made = self.names("inferix", "InferixProfiler", "ProfilingConfig")
        profiler = made["InferixProfiler"](made["ProfilingConfig"](
            enabled=True, real_time_display=False, generate_final_report=False))
        pipeline = types.SimpleNamespace(profiler=profiler,
                                         args=types.SimpleNamespace(guidance_scale=3.5))
        with profiler.session("direct"):
            self.run_example("002_08", self=pipeline, num_blocks=3, index=0, current_num_frames=3,
                             current_timestep=types.SimpleNamespace(item=lambda: 500),
                             diffusion_time_ms=100.0, block_time=400.0, memory_used_mb=64.0)
        steps = profiler.diffusion_analyzer.get_diffusion_analysis()
        self.assertEqual((steps["total_steps"], steps["total_frames"]), (3, 9))
        self.assertEqual(steps["steps"][0]["guidance_scale"], 3.5)
        self.assertEqual(profiler.diffusion_analyzer.get_block_analysis()["fps"], 7.5)

    def test_002_settings_that_change(self):
        config = self.names("inferix", "ProfilingConfig")["ProfilingConfig"]()
        self.run_example("002_09", config=config)
        self.run_example("002_10", config=config)
        self.assertEqual((config.max_data_points, config.cpu_monitor_interval), (5000, 2.0))
        self.assertFalse(config.profile_text_encoding)

    # --- document 004

    def test_004_detailed_analysis(self):
        work = {"load_large_dataset": lambda: [1, 2], "preprocess": lambda data: data,
                "model": lambda data: sum(data)}
        out, _ = self.run_example("004_01", **work)
        lines = out.splitlines()
        self.assertEqual(lines[:5], [
            RULE, "PERFORMANCE SUMMARY", RULE,
            "Operation                      Time (s)     CPU (MB)        GPU (MB)        GPU Peak",
            THIN])
        for line, name in zip(lines[5:8], ("data loading", "preprocessing", "model forward")):
            seconds, cpu, gpu, peak = line[30:].split()
            self.assertEqual(line, f"{name:<30} {seconds:>10}  {cpu:>13}  {gpu:>13}  {peak:>10}")
            self.assertRegex(f"{seconds} {cpu}", r"^\d+\.\d{3} [+-]\d+\.\d$")
        self.assertEqual(lines[8], THIN)
        self.assertRegex(lines[9], r"^TOTAL {25} +\d+\.\d{3}s$")
        self.assertEqual(len(lines[9]), len("TOTAL                               1.420s"))
        self.assertEqual(lines[10], RULE)

    def test_004_aggregated_operations(self):
        loss = Loss()
        out, names = self.run_example("004_02", **self.names("training", "PerformanceMonitor"),
                                      dataloader=[1, 2, 3], model=lambda batch: batch, loss=loss)
        lines = out[out.index("AGGREGATE"):].splitlines()
        self.assertEqual(loss.done, 30)
        self.assertEqual(lines[0], "AGGREGATE STATISTICS (for repeated operations)")
        self.assertEqual(lines[2], "Operation                      Count    Total (s)    Mean (s)"
                                   "     Min (s)      Max (s)")
        self.assertEqual({line.split()[0] for line in lines[4:6]}, {"batch_forward", "batch_backward"})
        for line in lines[4:6]:
            name, count, total, mean, least, most = line.split()
            self.assertEqual(line, f"{name:<30} {count:<8} {total:>6}       {mean}        {least}"
                                   f"        {most}")
            self.assertEqual(count, "30")

    def test_004_context_manager(self):
        out, names = self.run_example("004_03", expensive_function=lambda: 42)
        self.assertEqual(names["result"], 42)
        self.assertRegex(out, r"^\[Performance\] critical_operation: \d+\.\d{3}s, CPU [+-]\d+\.\d"
                              r"MB(, GPU [+-][\d.]+MB\n {14}GPU peak: [\d.]+MB)?\n$")

    def test_004_decorator(self):
        out, names = self.run_example("004_04", data=[1], result="done")
        self.assertEqual(names["result"], "done")
        self.assertRegex(out, r"^\[Performance\] data processing: ")

    def test_004_training_loop(self):
        out, names = self.run_example("004_05", epochs=2, dataloader=list("abcdefg"), loss=0.009458)
        lines = out.splitlines()
        self.assertEqual(len(lines), 2 * (5 + 2))
        self.assertRegex(lines[0], r"^  Batch 0: \d\.\d{3}s, (GPU [\d.]+MB, )?CPU \d+\.\dMB, "
                                   r"loss=0\.009458$")
        self.assertRegex(lines[5], r"^  Epoch end: \d\.\d{3}s total")
        self.assertRegex(lines[6], r"^  Batch timing: avg=\d\.\d{3}s, min=\d\.\d{3}s, max=\d\.\d{3}s$")
        self.assertEqual(names["monitor"].get_statistics()["num_batches"], 14)

    def test_004_strategy_1(self):
        work = {"load_data": lambda: [1], "preprocess": lambda data: data,
                "model": lambda data: sum(range(2_000_000)), "post_process": lambda output: output}
        out, _ = self.run_example("004_06", **self.names("training", "PerformanceMonitor"), **work)
        self.assertRegex(out, r"BOTTLENECK: model_forward \(\d+\.\d%\)")

    def test_004_strategy_2(self):
        first, second = self.source("004_07").split("# After training\n")
        names = {**self.names("training", "EpochPerformanceMonitor"), "__name__": "example"}
        self.run_source(first, names)
        monitor = names["monitor"]
        with contextlib.redirect_stdout(io.StringIO()):
            for _ in range(3):
                monitor.on_epoch_start()
                for i in range(4):
                    monitor.on_batch_start(i)
                    sum(range(100_000 if i == 3 else 100))
                    monitor.on_batch_end(i)
                monitor.on_epoch_end()
        out = self.run_source(second, names)
        self.assertRegex(out, r"^Average batch time: \d\.\d{3}s\nMin batch time: \d\.\d{3}s\n"
                              r"Max batch time: \d\.\d{3}s\n.*High variance \([\d.]+x\)")

    def test_004_strategy_3(self):
        out, names = self.run_example("004_08", **self.names("training", "PerformanceMonitor"),
                                      train_with_batch_size=lambda size: sum(range(size)))
        self.assertEqual(set(names["results"]), {8, 16, 32, 64})
        self.assertRegex(out, r"^Optimal batch size: \d+ \(\d\.\d{3}s\)\n$")

    def test_004_export(self):
        first, second = self.source("004_14").split("# ... run experiments ...\n")
        names = {**self.names("training", "PerformanceMonitor"), "__name__": "example"}
        self.run_source(first, names)
        with names["monitor"].track("experiment"):
            pass
        try:
            import pandas  # noqa: F401
        except ImportError:
            sys.modules["pandas"] = types.ModuleType("pandas")
            sys.modules["pandas"].DataFrame = Frame
            self.addCleanup(sys.modules.pop, "pandas")
        self.run_source(second, names)
        with open("performance_metrics.csv") as file:
            (row,) = csv.DictReader(file)
        self.assertEqual(row["operation"], "experiment")
        names["monitor"].export_csv("ours.csv")
        with open("ours.csv") as file:
            self.assertEqual(file.readline().split(",")[:4], ["operation", "time", "cpu_mb", "gpu_mb"])

    def test_004_reference(self):
        self.run_example("004_15", **self.names("training", "PerformanceMonitor"))
        _, names = self.run_example("004_16", **self.names("training", "EpochPerformanceMonitor"),
                                    batch_idx=0)
        documented = re.findall(r"'(\w+)'", self.source("004_16"))
        self.assertEqual(len(documented), 8)
        for key in documented:
            self.assertIn(key, names["stats"])
        out, names = self.run_example("004_17", **self.names("training", "track_performance",
                                                             "monitor_performance"))
        self.assertRegex(out, r"^\[Performance\] operation: ")
        with contextlib.redirect_stdout(io.StringIO()) as said:
            names["my_function"]()
        self.assertRegex(said.getvalue(), r"^\[Performance\] operation: ")


class Page(Runner, unittest.TestCase):
    """The example of docs/python-compat.md."""
    def test_it_runs(self):
        page = (EXAMPLES.parents[3] / "docs" / "python-compat.md").read_text()
        source = re.findall(r"```python\n(.*?)```", page, re.S)[0]  # the other needs torch: tests/torch
        out = self.run_source(source, {"__name__": "example"}).splitlines()
        self.assertEqual(out[1], "met")
        self.assertGreaterEqual(float(out[2]), 0)
        self.assertRegex(out[3], r"profiling_report_video_\d{8}_\d{6}\.json.*\.html")


class OfTheirModules(Examples, unittest.TestCase):
    pass


class OfCompat(Examples, unittest.TestCase):
    flat = True


if __name__ == "__main__":
    unittest.main()
