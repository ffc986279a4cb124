#!/usr/bin/env python3
"""genscope.bench: functions and commands measured, judged, compared."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import bench_functions as work
import genscope as gs


class Measure(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.folder = pathlib.Path(self.dir.name)

    def test_a_function(self):
        result = gs.bench.run(work.fast, runs=4, warmup=1)
        self.assertEqual(len(result.values()), 4)
        self.assertGreater(result.median(), 0.0019)
        self.assertIsNone(result.verdict)
        self.assertEqual(result.exit_code, 0)

    def test_two_functions(self):
        result = gs.bench.ab(work.slow, work.fast, runs=6)
        self.assertEqual(result.verdict, "improved", result.reason)
        self.assertLess(result.ratio, 0.9)
        self.assertLess(result.interval.low, result.ratio)
        self.assertGreater(result.speedup, 1)
        self.assertIn("B is ", str(result))
        self.assertIn("<pre>", result._repr_html_())
        self.assertIn("latency_s", result.render("csv"))
        self.assertIn("<html", result.render("html"))
        with self.assertRaisesRegex(ValueError, "is no format"):
            result.render("pdf")
        self.assertEqual(result.labels["A"], "slow")

    def test_two_commands(self):
        result = gs.bench.ab("sleep 0.05", ["sleep", "0.001"], runs=4, warmup=0)
        self.assertEqual(result.verdict, "improved", result.reason)
        self.assertGreater(result.median("A", "latency_s"), 0.049)

    def test_what_a_function_takes_reaches_it(self):
        seen = []

        def generate(prompt, steps, seed):
            seen.append((prompt, steps, seed))
        gs.bench.run(generate, runs=4, warmup=0, prompts=["a", "b"], seeds=[7, 8], params={"steps": 20, "other": 1})
        self.assertEqual(seen, [("a", 20, 7), ("b", 20, 7), ("a", 20, 8), ("b", 20, 8)])

    def test_exceptions_are_failures(self):
        def fails():
            raise MemoryError("host")
        result = gs.bench.run(fails, runs=4)
        self.assertEqual(result.cells[0]["status"], "failed")
        self.assertEqual(result.cells[0]["failure"]["class"], "oom_host")
        self.assertNotEqual(result.exit_code, 0)

    def test_processes_of_their_own(self):
        result = gs.bench.run(work.pid, runs=2, warmup=0, iterations=2, isolation="process", prompts=["a"])
        pids = result.values(metric="pid")
        self.assertEqual(len(pids), 4)
        self.assertEqual(len(set(pids)), 2)
        self.assertNotIn(os.getpid(), pids)

    def test_a_process_that_dies_or_hangs(self):
        died = gs.bench.run(work.dies, runs=2, warmup=0, isolation="process")
        self.assertEqual(died.cells[0]["failure"]["class"], "crash")
        self.assertIn("exit 3", died.cells[0]["failure"]["detail"])
        hung = gs.bench.run(work.hangs, runs=2, warmup=0, isolation="process", timeout=0.2)
        self.assertEqual(hung.cells[0]["failure"]["class"], "timeout")
        inner = gs.bench.run(lambda: None, runs=2, warmup=0, isolation="process")
        self.assertEqual(inner.cells[0]["failure"]["class"], "startup_failed")
        self.assertIn("top of a module", inner.cells[0]["failure"]["detail"])

    def test_lower_quality_is_a_verdict(self):
        def picture(path, step):
            body = bytes((x * step + y * 3) % 251 for y in range(16) for x in range(16 * 3))
            path.write_bytes(b"P6\n16 16\n255\n" + body)

        def side(name, step):
            def make(seed):
                path = self.folder / f"{name}{seed}.ppm"
                picture(path, step)
                return gs.bench.Sample(seconds=0.02 if name == "before" else 0.01, outputs=[str(path)])
            return make
        same = gs.bench.ab(side("before", 5), side("after", 5), runs=6, seeds=[1, 2])
        self.assertEqual(same.quality["verdict"], "same_bytes")
        lower = gs.bench.ab(side("before", 5), side("after", 97), runs=6, seeds=[1, 2])
        self.assertEqual(lower.verdict, "improved", lower.reason)
        self.assertEqual(lower.quality["verdict"], "lower_quality")
        self.assertEqual(lower.exit_code, 1)

    def test_progress_may_stop_it(self):
        def stop(done, expected, eta):
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            gs.bench.run(work.fast, runs=20, progress=stop)

    def test_ctrl_c_ends_a_long_command(self):
        program = textwrap.dedent("""
            import sys, threading, time
            import genscope as gs
            print("ready", flush=True)
            try:
                gs.bench.run("sleep 300", runs=4, warmup=0)
            except KeyboardInterrupt:
                print("stopped", flush=True)
        """)
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        self.assertEqual(child.stdout.readline(), "ready\n")
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.communicate(timeout=60)[0], "stopped\n")

    def test_wrong_words_are_named(self):
        with self.assertRaisesRegex(TypeError, "no option 'run'; did you mean 'runs'"):
            gs.bench.run("true", run=3)
        with self.assertRaisesRegex(ValueError, "isolation must be"):
            gs.bench.run(work.fast, isolation="vm")
        with self.assertRaisesRegex(ValueError, "order must be"):
            gs.bench.ab("true", "true", order="aabb")
        with self.assertRaises(ValueError):
            gs.bench.run([])
        with self.assertRaisesRegex(TypeError, "prompts must be"):
            gs.bench.run("true", prompts="one")

    def test_values_that_would_be_misunderstood_are_refused(self):
        four = [1, 2, 3, 4]
        for options, said in (({"direction": "up"}, "'lower' or 'higher'"), ({"confidence": 95}, "between 0 and 1"),
                              ({"min_effect": -0.01}, "0 or more"), ({"noise": float("nan")}, "0 or more")):
            with self.assertRaisesRegex(ValueError, said):
                gs.bench.judge(four, four, **options)
            with self.assertRaisesRegex(ValueError, said):
                gs.bench.compare("a.json", "b.json", **options)
        with self.assertRaisesRegex(ValueError, "between 0 and 1"):
            gs.bench.run("true", runs=1, confidence=1)
        with self.assertRaisesRegex(TypeError, "compare.. has no option 'effect'"):
            gs.bench.compare("a.json", "b.json", effect=1)
        with self.assertRaisesRegex(TypeError, "not int"):
            gs.bench.run(3)

    def test_files(self):
        result = gs.bench.run("true", runs=4)
        path = self.folder / "r.json"
        result.to_json(path)
        self.assertEqual(gs.bench.load(path).cells, result.cells)
        path.write_text("{}")
        with self.assertRaises(ValueError):
            gs.bench.load(path)


    def test_a_saved_result_is_found_again(self):
        os.environ["GENSCOPE_OUT"] = str(self.folder / "runs")
        self.addCleanup(os.environ.pop, "GENSCOPE_OUT")
        base = gs.bench.run("true", runs=4, save=True)
        new = gs.bench.run("true", runs=4)
        compared = gs.bench.compare(base["run"]["id"], new)
        self.assertIn(compared.verdict, ("unchanged", "inconclusive", "regressed", "improved", "slower_machine",
                                         "insufficient"))
        with self.assertRaises(FileNotFoundError):
            gs.bench.compare("none-such", new)


    def test_a_suite_of_a_function(self):
        path = self.folder / "suite.yaml"
        path.write_text(textwrap.dedent("""
            version: 1
            suite: functions
            defaults:
              runner: {kind: callable}
              isolation: in_process
              processes: {min: 2, max: 2}
            matrix:
              axes: {steps: [1, 2], mode: [fast, slow]}
        """))
        seen = set()

        def generate(steps, mode):
            seen.add((steps, mode))
        result = gs.bench.run_suite(path, callable=generate, out=str(self.folder / "out"))
        self.assertEqual(seen, {(1, "fast"), (1, "slow"), (2, "fast"), (2, "slow")})
        self.assertEqual(len(result.cells), 4)
        with self.assertRaises(KeyboardInterrupt):
            gs.bench.run_suite(path, callable=self.interrupted, out=str(self.folder / "out"))
        path.write_text("version: 1\nsuit: x\n")
        with self.assertRaisesRegex(ValueError, "suit"):
            gs.bench.run_suite(path)

    @staticmethod
    def interrupted():
        raise KeyboardInterrupt


class Judge(unittest.TestCase):
    def test_verdicts(self):
        before = [1.0, 1.01, 0.99, 1.02, 1.0, 0.98]
        self.assertEqual(gs.bench.judge(before, [x * 2 for x in before]).verdict, "regressed")
        same = gs.bench.judge(before, before, min_effect=0.1)
        self.assertEqual(same.verdict, "unchanged")
        self.assertEqual(same.interval.low, same.ci[0])
        self.assertEqual(gs.bench.judge(before, [x * 2 for x in before], direction="higher").verdict, "improved")
        self.assertEqual(gs.bench.judge([1], [2]).verdict, "insufficient")
        with self.assertRaisesRegex(TypeError, "no option"):
            gs.bench.judge([1], [2], effect=3)
        with self.assertRaisesRegex(TypeError, "list of numbers"):
            gs.bench.judge(["x"], [2])


if __name__ == "__main__":
    unittest.main()
