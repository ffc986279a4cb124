#!/usr/bin/env python3
"""Document 002 through genscope.compat: what Inferix's profiler gets wrong, row by row."""
import asyncio
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

from genscope.compat import inferix
from genscope.compat.inferix import (CPUMonitor, GPUMonitor, InferixProfiler, MetricSnapshot,
                                     ProfilingConfig, ProfilingIntegration, aggregate_reports,
                                     create_profiler_from_config, get_profiling_summary)
from genscope.compat.inferix import analysis, display
from genscope.compat.inferix.session import ProfilingSession
from genscope.compat import validator

from harness import spans_of

BIN = os.environ.get("GENSCOPE_BIN", "")
DOUBLE = pathlib.Path(BIN).parent.parent / "nvml_double" / "580" / "libnvidia-ml.so.1"
SCENARIO = """time real
devices 2
0 uuid = GPU-0000
1 uuid = GPU-0001
0 pci = 0000:01:00.0
1 pci = 0000:02:00.0
0 index 0
1 index 1
0 busy.gpu 50
1 busy.gpu 60
system driver = 570.86.15
system cuda 12080
* name = NVIDIA H100 80GB HBM3
* memory.total 85899345920
* memory.reserved 0
* memory.used 21474836480
* memory.free 64424509440
* samples.busy 50
* field.185 300000
* field.186 300000
* field.83 integral field.185
* field.190 700000
* clock.1 1980
* temperature 45
* throttle 4
* processes.compute none
* processes.graphics none
* processes.mps none
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.dir = pathlib.Path(self.folder.name)
        out = contextlib.redirect_stdout(io.StringIO())
        self.out = out.__enter__()
        self.addCleanup(out.__exit__, None, None, None)
        self.environment(GENSCOPE_NVML_LIBRARY="/nothing.so")

    def environment(self, **values):
        patch = mock.patch.dict(os.environ, values)
        patch.start()
        self.addCleanup(patch.stop)

    def with_gpus(self):
        if not DOUBLE.exists():
            self.skipTest(f"the double is not built: {DOUBLE}")
        (self.dir / "scenario").write_text(SCENARIO)
        self.environment(GENSCOPE_NVML_LIBRARY=str(DOUBLE),
                         GENSCOPE_NVML_SCENARIO=str(self.dir / "scenario"))

    def profiler(self, **changes):
        given = {"enabled": True, "real_time_display": False, "report_format": "json",
                 "output_dir": str(self.dir / "reports"), **changes}
        return InferixProfiler(ProfilingConfig(**given))

    def report(self, profiler):
        (path,) = [path for path in profiler.report_paths if "/profiling_report_" in path
                   and path.endswith(".json")]
        return json.loads(pathlib.Path(path).read_text())


class Sessions(Case):
    def test_keys_of_the_report(self):
        profiler = self.profiler()
        with profiler.session("keys", {"mode": "t2v"}):
            with profiler.stage("a"):
                pass
            profiler.add_event("custom", {"progress": 0.5})
        report = self.report(profiler)
        self.assertLessEqual({"session_info", "summary", "gpu_metrics", "cpu_metrics",
                              "stage_analysis", "events", "recommendations"}, set(report))
        self.assertLessEqual({"id", "start_time", "end_time", "duration", "tags", "generated_at"},
                             set(report["session_info"]))
        self.assertLessEqual({"total_time", "call_count", "avg_time", "min_time", "max_time",
                              "percentage_of_total"}, set(report["stage_analysis"]["stages"]["a"]))
        self.assertEqual(set(report["events"][0]), {"name", "timestamp", "data"})

    def test_threads_do_not_share_a_stack(self):
        profiler = self.profiler()
        barrier = threading.Barrier(4)

        def work(name, times):
            barrier.wait(10)
            for _ in range(times):
                with profiler.stage(name):
                    with profiler.stage(name + "_inner"):
                        barrier.wait(10)
        with profiler.session("threads"):
            threads = [threading.Thread(target=work, args=(f"t{n}", 3)) for n in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        stages = self.report(profiler)["stage_analysis"]["stages"]
        self.assertEqual(len(stages), 8)
        for n in range(4):
            outer, inner = stages[f"t{n}"], stages[f"t{n}_inner"]
            self.assertEqual((outer["call_count"], inner["call_count"]), (3, 3))
            self.assertAlmostEqual(outer["self_time"] + inner["total_time"], outer["total_time"], 6)

    def test_tasks_do_not_share_a_stack(self):
        profiler = self.profiler()

        async def work(name):
            with profiler.stage(name):
                await asyncio.sleep(0.01)
                with profiler.stage(name + "_inner"):
                    await asyncio.sleep(0.01)

        async def main():
            with profiler.stage("all"):
                await asyncio.gather(*(work(f"t{n}") for n in range(3)))
        with profiler.session("tasks"):
            asyncio.run(main())
        stages = self.report(profiler)["stage_analysis"]["stages"]
        for n in range(3):
            self.assertAlmostEqual(stages[f"t{n}"]["self_time"] + stages[f"t{n}_inner"]["total_time"],
                                   stages[f"t{n}"]["total_time"], 6)
        self.assertEqual(stages["all"]["self_time"], stages["all"]["total_time"])

    def test_nested_stages_count_once(self):
        profiler = self.profiler()
        with profiler.session("nested"):
            with profiler.stage("outer"):
                with profiler.stage("inner"):
                    time.sleep(0.05)
        report = self.report(profiler)
        found = report["stage_analysis"]
        self.assertLessEqual(found["total_time"], report["session_info"]["duration"])
        shares = {name: row["percentage_of_total"] for name, row in found["stages"].items()}
        self.assertAlmostEqual(sum(shares.values()), 100)
        self.assertGreater(shares["inner"], shares["outer"])
        self.assertEqual([row["stage"] for row in found["bottlenecks"]], ["inner"])

    def test_recursive_stages_count_once(self):
        profiler = self.profiler()

        def recurse(depth):
            with profiler.stage("again"):
                if depth:
                    recurse(depth - 1)
        with profiler.session("recursive"):
            recurse(5)
        report = self.report(profiler)
        row = report["stage_analysis"]["stages"]["again"]
        self.assertEqual(row["call_count"], 6)
        self.assertLessEqual(row["total_time"], report["session_info"]["duration"])
        self.assertAlmostEqual(row["percentage_of_total"], 100)

    def test_ending_the_session_inside_a_stage(self):
        profiler = self.profiler()
        profiler.start_session("early")
        with profiler.stage("done"):
            pass
        with profiler.stage("open"):
            self.assertEqual(profiler.end_session(), "early")
        self.assertIsNone(profiler.end_session())
        found = self.report(profiler)["stage_analysis"]
        self.assertEqual((set(found["stages"]), found["unfinished_stages"]), ({"done"}, 1))

    def test_an_exception_passes_and_the_report_is_there(self):
        profiler = self.profiler()
        with self.assertRaisesRegex(ValueError, "theirs"):
            with profiler.session("fails"):
                with profiler.stage("bad"):
                    raise ValueError("theirs")
        self.assertEqual(self.report(profiler)["stage_analysis"]["stages"]["bad"]["failed_calls"], 1)

    def test_the_same_id_twice_overwrites_nothing(self):
        profiler = self.profiler()
        for _ in range(3):
            with profiler.session("same"):
                pass
        self.assertEqual(len(list((self.dir / "reports").glob("*.json"))), 3)

    def test_a_second_session_does_not_end_the_first(self):
        profiler = self.profiler()
        with profiler.session("outer"):
            with profiler.session("inner"):
                with profiler.stage("in_inner"):
                    pass
            self.assertEqual(set(self.report(profiler)["stage_analysis"]["stages"]), {"in_inner"})
            with profiler.stage("in_outer"):
                pass
        self.assertEqual(set(self.report(profiler)["stage_analysis"]["stages"]), {"in_outer"})

    def test_sessions_of_threads_are_their_own(self):
        profiler = self.profiler(generate_final_report=False)
        barrier, found = threading.Barrier(3), {}

        def work(name):
            with profiler.session(name):
                mine = profiler.current_session
                barrier.wait(10)
                with profiler.stage(name):
                    profiler.record_cache_event("hits", 1)
                barrier.wait(10)
            found[name] = (set(mine.stages), mine.cache["hits"])
        threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, {name: ({name}, 1) for name in "abc"})

    def test_sessions_that_come_and_go_are_watched(self):
        profiler = self.profiler(generate_final_report=False, cpu_monitor_interval=0.001)
        unwatched = []

        def work():
            for _ in range(10):
                with profiler.session("x"):
                    unwatched.append(profiler.cpu_monitor._thread is None)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(unwatched, [False] * 30)
        self.assertIsNone(profiler.cpu_monitor._thread)

    def test_stages_of_another_profiler_between(self):
        one, other = self.profiler(), self.profiler()
        with one.session("one"), other.session("other"):
            with one.stage("outer"):
                with other.stage("foreign"):
                    pass
                with one.stage("inner"):
                    time.sleep(0.01)
        stages = self.report(one)["stage_analysis"]["stages"]
        self.assertAlmostEqual(stages["outer"]["self_time"] + stages["inner"]["total_time"],
                               stages["outer"]["total_time"], 6)

    def test_samples_of_a_session_inside_are_its_own(self):
        profiler = self.profiler(cpu_monitor_interval=0.005)
        with profiler.session("outer"):
            for _ in range(400):
                if len(profiler.cpu_monitor.get_all_data()) > 2:
                    break
                time.sleep(0.01)
            with profiler.session("inner"):
                pass
            report = self.report(profiler)
            self.assertEqual(report["session_info"]["id"], "inner")
            for row in report["cpu_metrics"]["timeline"]:
                self.assertGreaterEqual(row["timestamp"], report["session_info"]["start_time"])

    def test_nothing_of_one_session_is_in_the_next(self):
        profiler = self.profiler(cpu_monitor_interval=0.01)
        with profiler.session("one"):
            profiler.record_diffusion_step(0, 0.5, 3, 100.0)
            profiler.record_cache_event("hits", 1)
        with profiler.session("two"):
            pass
        report = self.report(profiler)
        self.assertNotIn("diffusion_analysis", report)
        self.assertNotIn("cache_analysis", report)
        for row in report["cpu_metrics"]["timeline"]:
            self.assertGreaterEqual(row["timestamp"], report["session_info"]["start_time"])
            self.assertLessEqual(row["timestamp"], report["session_info"]["end_time"])

    def test_a_clock_that_is_set_back_changes_no_duration(self):
        profiler = self.profiler()
        now = time.time()
        with profiler.session("clock"):
            with mock.patch.object(time, "time", lambda: now - 3600):
                with profiler.stage("a"):
                    pass
                layer = profiler.start_layer_computation("l")
                self.assertGreaterEqual(profiler.end_layer_computation("l", layer), 0)
        report = self.report(profiler)
        self.assertGreaterEqual(report["session_info"]["end_time"],
                                report["session_info"]["start_time"])
        self.assertGreaterEqual(report["stage_analysis"]["stages"]["a"]["min_time"], 0)

    def test_lists_are_bounded(self):
        profiler = self.profiler(max_data_points=10)
        with profiler.session("many"):
            for i in range(100):
                profiler.add_event("e", {"i": i})
                profiler.record_diffusion_step(i, 0.5, 3, 10.0)
                with profiler.stage("s", {"i": i}):
                    pass
        report = self.report(profiler)
        self.assertEqual((len(report["events"]), report["events_dropped"]), (10, 90))
        steps = report["diffusion_analysis"]
        self.assertEqual((len(steps["steps"]), steps["total_steps"]), (10, 100))
        self.assertEqual(steps["total_computation_time_ms"], 1000)
        self.assertEqual(report["stage_analysis"]["stages"]["s"]["metadata"], {"i": 99})

    def test_stages_before_the_session_are_not_lost(self):
        profiler = self.profiler()
        with profiler.stage("load_checkpoint"):
            pass
        with profiler.session("later"):
            pass
        self.assertEqual(set(self.report(profiler)["before_session"]["stages"]),
                         {"load_checkpoint"})

    def test_switches_are_read(self):
        profiler = self.profiler(profile_text_encoding=False, profile_diffusion_steps=False)
        with profiler.session("switches"):
            for name in ("text_encoding", "vae_decode"):
                with profiler.stage(name):
                    pass
            profiler.record_diffusion_step(0, 0.5, 3, 10.0)
        report = self.report(profiler)
        self.assertEqual(set(report["stage_analysis"]["stages"]), {"vae_decode"})
        self.assertNotIn("diffusion_analysis", report)

    def test_nothing_of_the_program_is_held_or_printed(self):
        class Tensor:
            def __str__(self):
                raise AssertionError("waits for a GPU")
            __repr__ = __float__ = __str__
        tensor = Tensor()
        held = sys.getrefcount(tensor)
        profiler = self.profiler()
        with profiler.session("tensors", {"t": Tensor()}):
            with profiler.stage("a", {"t": tensor}):
                profiler.add_event("e", {"list": [tensor]})
            self.assertEqual(sys.getrefcount(tensor), held)
        self.assertEqual(self.report(profiler)["events"][0]["data"], {"list": ["<Tensor>"]})

    def test_off_it_does_nothing(self):
        profiler = self.profiler(enabled=False)
        with profiler.session("off") as opened:
            with profiler.stage("a"):
                profiler.add_event("e")
        self.assertIsNone(opened)
        self.assertFalse((self.dir / "reports").exists())

    def test_a_folder_that_cannot_be_written_harms_nobody(self):
        (self.dir / "file").write_text("")
        profiler = self.profiler(output_dir=str(self.dir / "file" / "below"))
        with contextlib.redirect_stderr(io.StringIO()) as said:
            with profiler.session("nowhere"):
                pass
        self.assertIn("no profiling report", said.getvalue())


class Figures(Case):
    def test_frames_count_once_per_block(self):
        profiler = self.profiler()
        with profiler.session("fps"):
            for block in range(10):
                for step in range(4):
                    profiler.record_diffusion_step(step, step / 4, 3, 100.0)
                profiler.record_block_computation(block, 3, 400.0, 64.0)
        report = self.report(profiler)
        self.assertEqual(report["diffusion_analysis"]["fps"], 7.5)
        self.assertEqual(report["block_analysis"]["fps"], 7.5)
        self.assertEqual(report["diffusion_analysis"]["bps"], 2.5)
        self.assertEqual(report["diffusion_analysis"]["steps_per_second"], 10)
        advice = {row["category"] for row in report["recommendations"]}
        self.assertIn("Generation Speed", advice)  # below 10
        self.assertNotIn("Diffusion Steps", advice)  # 40 steps are 10 blocks of 4

    def test_frames_are_told_from_steps_alone(self):
        profiler = self.profiler()
        with profiler.session("steps"):
            for _ in range(10):
                for step in range(4):
                    profiler.record_diffusion_step(step, step / 4, 3, 100.0)
        steps = self.report(profiler)["diffusion_analysis"]
        self.assertEqual((steps["total_frames"], steps["total_blocks"], steps["fps"]), (30, 10, 7.5))

    def test_energy_is_the_integral_of_power(self):
        rows = [MetricSnapshot(0, {"total_gpu_power_watts": 300.0}, i * 0.5) for i in range(121)]
        found = analysis.gpu(ProfilingSession("e", {}, 10), rows)["power_analysis"]
        self.assertAlmostEqual(found["total_energy_wh"], 5.0)
        self.assertIsNone(analysis.energy_joules(rows[:1]))

    def test_an_idle_gpu_has_no_good_score(self):
        rows = [MetricSnapshot(0, {"max_gpu_utilization": 0.0}, float(i)) for i in range(5)]
        found = analysis.gpu(ProfilingSession("e", {}, 10), rows)["utilization_analysis"]
        self.assertEqual(found["utilization_efficiency"], 0)

    def test_an_eviction_is_no_request(self):
        profiler = self.profiler()
        with profiler.session("cache"):
            for kind in ("hits", "hits", "hits", "misses", "evictions", "evictions"):
                profiler.record_cache_event(kind, 10)
        found = self.report(profiler)["cache_analysis"]
        self.assertEqual(found["cache_performance"]["total_requests"], 4)
        self.assertEqual(found["cache_efficiency"]["hit_rate"], 0.75)

    def test_what_is_freed_is_not_allocated(self):
        profiler = self.profiler()
        with profiler.session("memory"):
            profiler.record_memory_event("alloc", 4096)
            profiler.record_memory_event("alloc", 1 << 21)
            profiler.record_memory_event("dealloc", 4096)
        found = self.report(profiler)["memory_analysis"]
        self.assertEqual(found["allocation_patterns"]["total_bytes_allocated"], 4096 + (1 << 21))
        self.assertEqual(found["allocation_patterns"]["net_bytes"], 1 << 21)
        self.assertEqual(found["fragmentation_analysis"]["small_allocation_ratio"], 0.5)

    def test_streaming_layers_and_models(self):
        profiler = self.profiler()
        with profiler.session("rest"):
            for _ in range(19):
                profiler.record_streaming_event(1, 10.0)
            profiler.record_dropped_frames(1)
            begin = profiler.start_layer_computation("attention")
            profiler.end_layer_computation("attention", begin, 1000)
            profiler.record_model_parameters("dit", 1_300_000_000, "diffusion")
            profiler.record_model_parameters("vae", 84_000_000, "vae")
        report = self.report(profiler)
        self.assertEqual(report["streaming_analysis"]["drop_rate"], 0.05)
        self.assertEqual(report["computation_analysis"]["bottlenecks"][0]["layer"], "attention")
        self.assertEqual(report["model_analysis"]["total_parameters_readable"], "1.4B")
        self.assertNotIn("Streaming Performance",
                         {row["category"] for row in report["recommendations"]})


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
            for _ in range(200):
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
