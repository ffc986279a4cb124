#!/usr/bin/env python3
"""Document 002 through genscope.compat: samples, reports, settings and decorators, row by row."""
import asyncio
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import types
import unittest

from genscope.compat import inferix
from genscope.compat.inferix import (CPUMonitor, GPUMonitor, ProfilingConfig, ProfilingIntegration,
                                     aggregate_reports, create_profiler_from_config,
                                     get_profiling_summary)
from genscope.compat.inferix import display
from genscope.compat import validator

from harness import spans_of
from inferix_case import BIN, Case


class Samples(Case):
    def test_without_a_gpu_there_is_no_advice_about_one(self):
        profiler = self.profiler(gpu_monitor_interval=0.01)
        with profiler.session("no gpu"):
            time.sleep(0.03)
        report = self.report(profiler)
        self.assertNotIn("gpu", report["summary"])
        self.assertTrue(report["gpu_absent"])
        self.assertFalse([row for row in report["recommendations"] if "GPU" in row["category"]])
        now = profiler.get_current_metrics()["gpu"]
        self.assertIsNone(now["memory_used_mb"])
        self.assertTrue(now["absent"])

    def test_gpus_are_sampled(self):
        self.with_gpus()
        profiler = self.profiler(gpu_monitor_interval=0.02)
        with profiler.session("gpus"):
            for _ in range(1500):  # a busy machine may take its time
                if len(profiler.gpu_monitor.get_all_data()) >= 3:
                    break
                time.sleep(0.02)
            now = profiler.get_current_metrics()["gpu"]
        self.assertEqual(len(now["gpu_devices"]), 2)
        self.assertEqual(now["total_gpu_memory_used_mb"], 2 * 20480)
        report = self.report(profiler)
        gpu = report["gpu_metrics"]
        self.assertGreaterEqual(gpu["total_samples"], 3)
        self.assertEqual(gpu["memory_analysis"]["peak_utilization_percent"], 25)
        self.assertEqual(gpu["power_analysis"]["avg_power_watts"], 600)
        first, last = gpu["timeline"][0]["timestamp"], gpu["timeline"][-1]["timestamp"]
        self.assertAlmostEqual(gpu["power_analysis"]["total_energy_wh"] * 3600,
                               600 * (last - first), 3)
        self.assertFalse(gpu["temperature_analysis"]["thermal_throttling_risk"])

    def test_what_is_switched_off_is_not_read(self):
        self.with_gpus()
        monitor = GPUMonitor(device_ids=[1], temperature=False)
        row = monitor.collect_metrics()
        self.assertEqual(set(row["gpu_devices"]), {"gpu_1"})
        self.assertIsNone(row["max_gpu_temperature"])
        self.assertIsNotNone(row["total_gpu_memory_used_mb"])

    def test_statistics_of_document_001(self):
        monitor = validator.GPUMonitor(sampling_interval=0.01)
        monitor.start_monitoring()
        self.assertIsNone(monitor.stop_monitoring())  # no GPU: nothing, not zeros
        self.assertTrue(monitor.absent)
        self.with_gpus()
        monitor = validator.GPUMonitor(sampling_interval=0.01)
        monitor.start_monitoring()
        found = monitor.stop_monitoring()
        self.assertEqual(found["memory_efficiency"], 25)
        self.assertGreaterEqual(found["sample_count"], 1)
        self.assertAlmostEqual(found["peak_memory_usage_gb"], 2 * 21.474836480)

    def test_samples_are_bounded_and_a_monitor_that_raises_goes_on(self):
        class Broken(inferix.BaseMonitor):
            calls = 0

            def collect_metrics(self):
                self.calls += 1
                if self.calls % 2:
                    raise OSError
                return {"n": self.calls}
        monitor = Broken(interval=0.001, max_data_points=3)
        monitor.start_monitoring()
        for _ in range(1000):
            if monitor.calls > 20:
                break
            time.sleep(0.01)
        monitor.stop_monitoring()
        self.assertEqual(len(monitor.get_all_data()), 3)
        monitor.clear_data()
        self.assertIsNone(monitor.get_latest_metrics())

    def test_cpu(self):
        row = CPUMonitor().collect_metrics()
        self.assertGreater(row["memory_total_mb"], row["memory_used_mb"])
        self.assertGreaterEqual(row["cpu_core_count"], 1)

    def test_display_to_the_character(self):
        gpu = {"total_gpu_memory_used_mb": 8420.0, "total_gpu_memory_total_mb": 24564.0,
               "max_gpu_utilization": 85.2, "max_gpu_temperature": 72.1}
        cpu = {"cpu_usage_percent": 45.3, "memory_used_mb": 12840.0, "memory_total_mb": 32768.0}
        self.assertEqual(display.lines("session_abc123", gpu, cpu),
                         "=== Profiling Metrics (session_abc123) ===\n"
                         "GPU: Memory 8420MB / 24564MB (34.3%), Util 85.2%, Temp 72.1°C\n"
                         "CPU: 45.3%, Memory 12840MB / 32768MB (39.2%)")
        self.assertEqual(display.lines("x", {"absent": "no driver"}, {}),
                         "=== Profiling Metrics (x) ===\nGPU: n/a (no driver)")

    def test_display_runs_while_a_session_does(self):
        profiler = self.profiler(real_time_display=True, display_interval=0.01)
        with profiler.session("shown"):
            for _ in range(500):
                if "===" in self.out.getvalue():
                    break
                time.sleep(0.01)
        self.assertIn("=== Profiling Metrics (shown) ===\nGPU: ", self.out.getvalue())
        self.assertFalse([one for one in threading.enumerate()
                          if one.name in ("profiling display", "GPUMonitor", "CPUMonitor")])


class Reports(Case):
    def test_html_is_escaped_and_names_are_safe(self):
        bad = "<img src=x onerror=alert(1)>"
        profiler = self.profiler(report_format="both")
        with profiler.session("../../" + bad, {"prompt": bad}):
            with profiler.stage(bad):
                pass
        paths = [pathlib.Path(path) for path in profiler.report_paths]
        self.assertEqual({path.suffix for path in paths}, {".json", ".html"})
        for path in paths:
            self.assertEqual(path.parent, self.dir / "reports")
            self.assertRegex(path.name, r"^profiling_report_[\w.-]+_\d{8}_\d{6}\.(json|html)$")
        page = [path for path in paths if path.suffix == ".html"][0].read_text()
        self.assertNotIn("<img src=x", page)
        self.assertEqual(self.report(profiler)["session_info"]["tags"]["prompt"], bad)
        self.assertFalse(os.path.exists(profiler._last.run_dir))

    def test_the_run_is_kept_with_the_raw_data(self):
        profiler = self.profiler(save_raw_data=True, cpu_monitor_interval=0.01)
        with profiler.session("raw"):
            with profiler.stage("vae_decode"):
                pass
            profiler.record_diffusion_step(0, 0.5, 3, 10.0)
            profiler.record_cache_event("hits", 1)
        (raw,) = (self.dir / "reports").glob("raw_profiling_data_raw_*.json")
        self.assertLessEqual({"session_id", "gpu_data", "cpu_data", "saved_at"},
                             set(json.loads(raw.read_text())))
        (run,) = (self.dir / "reports").glob("raw_run_raw_*")
        spans = spans_of(run)
        self.assertIn("vae_decode", {span.get("name") for span in spans})

    def test_aggregation_is_not_empty(self):
        self.with_gpus()
        for rank in range(3):
            profiler = self.profiler(output_dir=str(self.dir / "all" / f"rank_{rank}"),
                                     gpu_monitor_interval=0.01, save_raw_data=True)
            with profiler.session(f"job_{rank}", {"world_size": 4}):
                with profiler.stage("denoise"):
                    time.sleep(0.05)
        whole = aggregate_reports(str(self.dir / "all"), str(self.dir / "out.json"))
        self.assertEqual(json.loads((self.dir / "out.json").read_text()), whole)
        self.assertEqual((whole["total_reports"], whole["rank_count"]), (3, 3))
        self.assertEqual(whole["missing"], [3])
        self.assertEqual([row["session_id"] for row in whole["reports_summary"]],
                         ["job_0", "job_1", "job_2"])
        gpu = whole["aggregated_gpu_metrics"]
        self.assertEqual(gpu["peak_memory_usage_mb_max"], 2 * 20480)
        self.assertEqual(gpu["avg_power_watts_avg"], 600)
        self.assertFalse([key for key in gpu if key.endswith("_sum")])
        self.assertIn("stage/denoise", {row["name"] for row in whole["stages"]})

    def test_aggregation_on_the_command_line(self):
        command = [sys.executable, "-m", "genscope.compat.inferix.aggregate_reports",
                   "--reports_dir", str(self.dir / "reports"), "--output",
                   str(self.dir / "out.json")]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        profiler = self.profiler()
        with profiler.session("one"):
            pass
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.split(":")[0]), (0, "1 reports of 1 ranks"),
                         done.stderr)
        self.assertNotIn("RuntimeWarning", done.stderr)
        self.assertEqual(json.loads((self.dir / "out.json").read_text())["total_reports"], 1)

    def test_the_cli_reads_our_reports(self):
        profiler = self.profiler()
        with profiler.session("read"):
            profiler.record_diffusion_step(0, 0.5, 3, 100.0)
        done = subprocess.run([BIN, "aggregate", str(self.dir / "reports"), "--json"], check=True,
                              capture_output=True, text=True)
        figures = {row["name"]: row["max"] for row in json.loads(done.stdout)["figures"]}
        self.assertEqual(figures["steps"], 1)

    def test_a_rank_tells_itself(self):
        self.environment(RANK="2", WORLD_SIZE="4")
        profiler = self.profiler()
        with profiler.session("ranked"):
            pass
        self.assertEqual(self.report(profiler)["session_info"]["tags"], {"rank": 2, "world_size": 4})


class Settings(Case):
    def test_validation(self):
        for wrong in ({"gpu_monitor_interval": 0}, {"display_interval": -1},
                      {"max_data_points": 0}, {"report_format": "pdf"}):
            with self.assertRaises(ValueError):
                ProfilingConfig(**wrong)

    def test_presets_by_name(self):
        config = ProfilingConfig.preset("production", output_dir="x")
        self.assertTrue(config.enabled)
        self.assertFalse(config.real_time_display)
        with self.assertRaises(ValueError):
            ProfilingConfig.preset("prodction")

    def test_yaml_of_the_document(self):
        path = self.dir / "settings.yaml"
        path.write_text("profiling:\n  enabled: true\n  gpu_monitor_interval: 0.25\n"
                        "  monitor_gpu_power: false\n  session_tags:\n    experiment: v1\n")
        integration = create_profiler_from_config(path)
        config = integration.profiler.config
        self.assertEqual(config.gpu_monitor_interval, 0.25)
        self.assertFalse(config.monitor_gpu_power)
        self.assertEqual((config.report_format, config.display_interval), ("both", 5.0))
        self.assertEqual(config.session_tags, {"experiment": "v1"})
        path.write_text("profiling:\n  gpu_monitor_intervall: 1\n")
        with self.assertRaisesRegex(ValueError, "gpu_monitor_interval"):
            create_profiler_from_config(str(path))

    def test_profilers_from_other_things(self):
        self.assertIsNone(create_profiler_from_config(None))
        self.assertIsNone(create_profiler_from_config({"profiling": {"enabled": False}}))
        self.assertTrue(create_profiler_from_config({"profiling": {"enabled": True}}).enabled)
        outer = types.SimpleNamespace(profiling_config=types.SimpleNamespace(
            enabled=True, max_data_points=7))
        self.assertEqual(ProfilingIntegration(outer).profiler.config.max_data_points, 7)
        self.assertFalse(ProfilingIntegration(object()).enabled)
        self.assertEqual(get_profiling_summary(None), {"profiling_enabled": False})
        summary = get_profiling_summary(create_profiler_from_config({"enabled": True}))
        self.assertIsNone(summary["gpu"]["memory_used_mb"])
        self.assertGreater(summary["cpu"]["memory_total_mb"], 0)


class Decorators(Case):
    def test_all_eight(self):
        class Pipeline:
            @inferix.profile_session("whole", {"mode": "t2v"})
            def run(self):
                self.load("dit", 1_000_000)
                for block in range(2):
                    for step in range(2):
                        self.denoise(step, step / 2)
                    self.block(block, 3)
                return self.send([1, 2, 3])

            @inferix.profile_method("loading")
            @inferix.profile_model_parameters(
                lambda args, kwargs: {"model_name": args[0], "parameters_count": args[1]})
            @inferix.add_profiling_event("loaded", lambda result, *args: {"result": result})
            def load(self, name, count):
                return name

            @inferix.profile_layer("attention", parameters_count=10)
            @inferix.profile_diffusion_step(
                lambda args, kwargs: {"step": args[0], "timestep": args[1], "block_size": 3})
            def denoise(self, step, timestep):
                pass

            @inferix.profile_block_computation(
                lambda args, kwargs: {"block_index": args[0], "block_size": args[1]})
            def block(self, index, size):
                pass

            @inferix.profile_streaming(lambda args, kwargs: len(args[0]))
            def send(self, frames):
                return len(frames)

        pipeline = Pipeline()
        self.assertEqual(pipeline.run(), 3)  # without a profiler
        pipeline._profiler, pipeline._profiling_enabled = self.profiler(), True
        self.assertEqual(pipeline.run(), 3)
        report = self.report(pipeline._profiler)
        self.assertEqual(report["session_info"]["tags"], {"mode": "t2v"})
        self.assertEqual(report["stage_analysis"]["stages"]["loading"]["call_count"], 1)
        self.assertEqual(report["model_analysis"]["total_parameters"], 1_000_000)
        self.assertEqual(report["events"][0]["data"], {"result": "dit"})
        self.assertEqual(report["diffusion_analysis"]["total_frames"], 6)
        self.assertEqual(report["block_analysis"]["total_blocks"], 2)
        self.assertEqual(report["computation_analysis"]["layer_performance"]["attention"]
                         ["call_count"], 4)
        self.assertEqual(report["streaming_analysis"]["total_frames"], 3)

    def test_a_method_that_raises_is_recorded_and_a_telling_that_raises_is_not_seen(self):
        class Pipeline:
            @inferix.profile_diffusion_step(lambda args, kwargs: 1 / 0)
            def step(self):
                raise KeyError("theirs")
        pipeline = Pipeline()
        pipeline._profiler, pipeline._profiling_enabled = self.profiler(), True
        with self.assertRaisesRegex(KeyError, "theirs"):
            with pipeline._profiler.session("s"):
                pipeline.step()
        self.assertEqual(self.report(pipeline._profiler)["diffusion_analysis"]["total_steps"], 1)

    def test_profile_function_in_both_forms(self):
        profiler = self.profiler()

        @profiler.profile_function("named")
        def first(x):
            return x

        @profiler.profile_function
        def second():
            return 2

        @profiler.profile_function("coroutine")
        async def third():
            await asyncio.sleep(0)
            return 3
        fourth = profiler.profile_function(lambda: 4, "wrapped")
        with profiler.session("functions"):
            self.assertEqual((first(1), second(), asyncio.run(third()), fourth()), (1, 2, 3, 4))
        self.assertEqual(set(self.report(profiler)["stage_analysis"]["stages"]),
                         {"named", "second", "coroutine", "wrapped"})

    def test_pipeline_functions(self):
        integration = ProfilingIntegration(self.profiler().config)

        @inferix.profile_pipeline_function("decode", integration)
        def decode():
            return "video"
        with integration.session(prompt="a cat") as opened:
            self.assertEqual(decode(), "video")
        self.assertRegex(opened, r"^session_[0-9a-f]{8}_\d+$")
        self.assertEqual(set(self.report(integration.profiler)["stage_analysis"]["stages"]),
                         {"decode"})


if __name__ == "__main__":
    unittest.main()
