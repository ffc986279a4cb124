#!/usr/bin/env python3
"""Document 002 through genscope.compat: sessions and figures that the original gets wrong, row by row."""
import asyncio
import contextlib
import io
import sys
import threading
import time
import unittest
from unittest import mock

from genscope.compat.inferix import (MetricSnapshot)
from genscope.compat.inferix import analysis
from genscope.compat.inferix.session import ProfilingSession

from inferix_case import Case


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


if __name__ == "__main__":
    unittest.main()
