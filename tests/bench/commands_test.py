#!/usr/bin/env python3
"""`genscope bench CMD` and `genscope bench ab`: what a user sees, exit codes, interrupts, stages."""
import json
import os
import signal
import subprocess
import time
import unittest

from support import BIN, PATIENCE, TINYDIFF, BenchCase

QUICK = ("--units", "4", "--warmup", "1")
# Few steps of a small picture.
SMALL = f"{TINYDIFF} --size 32 --threads 1 --out a.png"


class Commands(BenchCase):
    def test_several_commands_run_in_turns(self):
        log = self.dir / "log"
        commands = [f"printf {letter} >> {log}" for letter in "ABC"]
        result = self.result("cmd", *commands, "--units", 6, "--warmup", 0, "--order", "abba")
        self.assertEqual([cell["id"] for cell in result["cells"]], ["command1", "command2", "command3"])
        self.assertEqual([len(cell["units"]) for cell in result["cells"]], [6, 6, 6])
        ran = log.read_text()
        for block in (ran[:6], ran[6:12], ran[12:]):
            self.assertEqual(sorted(block[:3]), ["A", "B", "C"], ran)
            self.assertEqual(block, block[::-1], ran)

    def test_a_shell_reads_what_needs_one(self):
        script = self.dir / "without_interpreter"
        script.write_text("exit 0\n")
        script.chmod(0o755)
        for command in ("true && true", str(script), "sleep 0", "A=1 true"):
            self.bench("cmd", command, "--units", 2, "--warmup", 0)
        self.assertIn("not closed", self.bench("cmd", "-N", "true 'x", code=2).stderr)
        self.assertIn("one of them", self.bench("cmd", "-N", "--shell", "/bin/sh", "true", code=2).stderr)

    def test_one_command(self):
        done = self.bench("sleep 0.01", *QUICK)
        self.assertRegex(done.stdout, r"^It takes [\d.]+ ms, 4 runs\.")
        self.assertIn("Warm-up, not counted", done.stdout)
        self.assertNotIn("GPU", done.stdout)

    def test_the_verb_may_be_said(self):
        self.assertEqual(len(self.result("cmd", "true", *QUICK)["cells"]), 1)

    def test_parameters_reach_the_command_and_the_result(self):
        result = self.result("test '{n}-{m}' = \"$GENSCOPE_PARAM_n-$GENSCOPE_PARAM_m\" && echo {n}-{m} >> log", *QUICK,
                             "--parameter", "n", "1,2", "-L", "m", "a,b")
        self.assertEqual([c["params"] for c in result["cells"]],
                         [{"n": n, "m": m} for n in "12" for m in "ab"])
        self.assertEqual(sorted(set((self.dir / "log").read_text().split())), ["1-a", "1-b", "2-a", "2-b"])

    def test_a_parameter_that_reaches_nothing_is_told(self):
        done = self.bench("true", "-L", "n", "1,2", *QUICK)
        self.assertIn("{n} is in no command", done.stderr)
        for command in ("true {n}", "true $GENSCOPE_PARAM_n"):
            self.assertEqual(self.bench(command, "-L", "n", "1,2", *QUICK).stderr, "")

    def test_several_commands_are_cells(self):
        done = self.bench("true", "sleep 0.05", *QUICK)
        self.assertIn("true is the fastest.", done.stdout)
        self.assertRegex(done.stdout, r"sleep 0.05 is [\d.]+ x as slow")

    def test_without_a_shell(self):
        self.bench("-N", "test 'a b' = \"a b\"", *QUICK)
        done = self.bench("-N", "test 'a", *QUICK, code=2)
        self.assertIn("a quote is not closed", done.stderr)

    def test_a_failure_is_said_with_its_reason(self):
        done = self.bench("echo 'no such model' >&2; exit 3", *QUICK, code=4)
        self.assertIn("exit code 3", done.stdout)
        self.assertIn("no such model", done.stdout)
        self.bench("exit 3", "-i", *QUICK)
        done = self.bench("no-such-program-here", *QUICK, code=4)
        self.assertIn("startup_failed", done.stdout)
        result = self.result("sleep 60", "--timeout", "0.2s", *QUICK, code=4)
        self.assertEqual(result["cells"][0]["failure"]["class"], "timeout")

    def test_a_run_that_failed_is_run_again(self):
        # The third run fails.
        result = self.result("echo x >> n; test $(wc -l < n) -ne 3", *QUICK)
        cell = result["cells"][0]
        self.assertEqual(cell["status"], "ok")
        self.assertEqual(len(cell["units"]), 5)
        self.assertEqual(cell["stats"]["latency_s"]["n_units"], 4)

    def test_prepare_and_cleanup(self):
        self.bench("echo r >> log", "--prepare", "echo p >> log", "--cleanup", "echo c >> log", *QUICK)
        self.assertEqual((self.dir / "log").read_text().split(), ["p", "r", "c"] * 5)

    def test_wrong_words_are_found_before_anything_runs(self):
        for words, said in ((("--budget", "5"), "not a time"),
                            (("--export", "jsn=x"), "did you mean 'json'"),
                            (("--export", "json"), "no path"),
                            (("--parameter", "n", "1,1"), "comes twice"),
                            (("--min-units", "5", "--max-units", "4"), "above"),
                            (("--effect", "nan"), "finite"),
                            (("--units", "0"), "from 1 to 1000000"),
                            (("--parameter", "step", "1,2", "--prepare", "echo {stp}"), "did you mean {step}?"),
                            (("--record", "--no-record"), "one of them")):
            done = self.bench("touch ran", *words, code=2)
            self.assertIn(said, done.stderr)
        self.assertFalse((self.dir / "ran").exists())
        said = self.bench("comapre", "x", "y", code=2).stderr
        self.assertIn("unknown command 'comapre'; did you mean 'compare'?", said)

    def test_exports(self):
        formats = {"json": '"schema"', "md": "|", "csv": ",", "junit": "<testsuite", "gha": "[", "bmf": "{"}
        words = []
        for name in formats:
            words += ["--export", f"{name}=out.{name}"]
        self.bench("ab", "sleep 0.02", "sleep 0.6", *QUICK, *words, code=1)
        for name, mark in formats.items():
            self.assertIn(mark, (self.dir / f"out.{name}").read_text(), name)
        result = json.loads((self.dir / "out.json").read_text())
        self.assertEqual(result["comparisons"][0]["metric"], "latency_s")
        self.assertEqual(result["comparisons"][0]["verdict"], "regressed")
        self.assertGreater(result["comparisons"][0]["ratio"], 2)

    def test_a_server_beside_it_is_started_once_and_stopped(self):
        server = "echo started >> log; echo $$ > pid; sleep 0.2; touch ready; exec sleep 1000"
        self.bench("test -e ready", *QUICK, "--setup-once", server, "--ready-file", "ready")
        self.assertEqual((self.dir / "log").read_text().split(), ["started"])
        with self.assertRaises(ProcessLookupError):
            os.kill(int((self.dir / "pid").read_text()), 0)
        done = self.bench("touch ran", *QUICK, "--setup-once", "echo 'no port' ; exit 3", "--ready-port", "1", code=5)
        self.assertIn("no port", done.stderr)
        self.assertFalse((self.dir / "ran").exists())
        self.bench("true", "--setup-once", "sleep 9", code=2)

    def test_nothing_is_drawn_where_no_terminal_is(self):
        self.assertEqual(self.bench("true", *QUICK).stderr, "")


class Sides(BenchCase):
    def test_they_run_in_turns(self):
        self.bench("ab", "echo A >> log", "echo B >> log", "--units", "6", "--warmup", "0")
        log = "".join((self.dir / "log").read_text().split())
        self.assertEqual(len(log), 12)
        for i in range(0, 12, 4):
            self.assertIn(log[i:i + 4], ("ABBA", "BAAB"))

    def test_thirty_times_is_thirty_times(self):
        done = self.bench("ab", "sleep 0.6", "sleep 0.02", "--units", "4", "--warmup", "0", "--export", "json=r.json")
        self.assertRegex(done.stdout, r"B is [\d.]+ x as fast \(95 %: [\d.]+ to [\d.]+\), 4 pairs")
        result = json.loads((self.dir / "r.json").read_text())
        times = 1 / result["comparisons"][0]["ratio"]
        self.assertGreater(times, 5)  # a loaded machine delays the end of a short sleep
        self.assertLess(times, 31)

    def test_slower_exits_with_1(self):
        done = self.bench("ab", "sleep 0.02", "sleep 0.6", *QUICK, code=1)
        self.assertRegex(done.stdout, r"B is [\d.]+ x as slow")

    def test_outputs_are_compared(self):
        same = self.result("ab", f"{SMALL} --steps 1", f"{SMALL} --steps 1", "--output-file", "a.png", *QUICK,
                           "--effect", "100")
        self.assertEqual(same["quality"]["verdict"], "same_bytes")
        other = self.result("ab", f"{SMALL} --steps 1 --seed 1", f"{SMALL} --steps 1 --seed 2", "--output-file",
                            "a.png", *QUICK, "--effect", "100", code=1)
        self.assertNotEqual(other["quality"]["verdict"], "same_bytes")
        failed = self.result("ab", "true", "true", "--output-file", "none.png", *QUICK, code=4)
        self.assertEqual(failed["cells"][0]["failure"]["class"], "bad_output")

    def test_stages_add_up(self):
        result = self.result("ab", f"{SMALL} --steps 1", f"{SMALL} --steps 6", *QUICK, "--keep-runs", "kept",
                             code=(0, 1))  # four pairs on a busy machine may be too few
        time_moved = result["comparisons"][0]
        parts = {part["name"]: part for part in time_moved["stage_attribution"]}
        self.assertIn("denoise", parts)
        self.assertIn("outside", parts)
        total = sum(part["difference"] for part in parts.values())
        self.assertAlmostEqual(total, time_moved["stage_total"]["difference"], places=9)
        steps = {of["name"]: of for of in parts["denoise"]["of"]}
        self.assertEqual((steps["steps"]["before"], steps["steps"]["after"]), (1, 6))
        self.assertIn("stage.denoise.step_s", result["cells"][0]["stats"])
        self.assertTrue(list((self.dir / "kept").glob("*/trace-*.gst")))

    def test_a_command_that_does_not_record_is_left_alone(self):
        self.bench("ab", 'echo "$GENSCOPE_RUN_DIR" >> log', "true", "--units", "3", "--warmup", "1", code=(0, 1))
        lines = (self.dir / "log").read_text().split("\n")
        self.assertNotEqual(lines[0], "")  # asked once
        self.assertEqual(lines[1:4], ["", "", ""])


class Interrupts(BenchCase):
    def test_what_was_measured_is_shown(self):
        child = subprocess.Popen([BIN, "bench", "ab", "echo x >> log; sleep 0.05", "sleep 0.05", "--budget", "1h",
                                  "--units", "100000", "--warmup", "0"],
                                 cwd=self.dir, env=self.env, text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        log = self.dir / "log"
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and (not log.exists() or log.read_text().count("x") < 6):
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=PATIENCE)
        self.assertEqual(child.returncode, 130)
        self.assertIn("Interrupted", out)
        self.assertIn("time", out)


if __name__ == "__main__":
    unittest.main()
