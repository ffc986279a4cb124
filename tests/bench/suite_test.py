#!/usr/bin/env python3
"""`genscope bench run` and `genscope bench validate`: failure classes, kill and resume, what a user sees."""
import collections
import json
import pathlib
import signal
import subprocess
import time
import unittest

from support import BIN, PATIENCE, TINYDIFF, BenchCase

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "bench" / "tinydiff.yaml"

QUICK = """
  processes: 6
  warmup: {mode: none}
"""


class Suites(BenchCase):
    def suite(self, command, more="", defaults=QUICK):
        path = self.dir / "suite.yaml"
        path.write_text(f"suite: s\ndefaults:\n  runner: {{command: {json.dumps(command)}}}{defaults}{more}")
        return path

    def run_folder(self):
        (folder,) = [p for p in (self.dir / "genscope-bench").iterdir() if p.is_dir()]
        return folder

    def journal(self, folder):
        """(cell, process) of each unit whose line is whole."""
        units = []
        for line in (folder / "journal.jsonl").read_text().splitlines():
            try:
                told = json.loads(line)
            except ValueError:
                continue
            if told.get("kind") == "unit":
                units += [(told["cell"]["id"], unit.get("process", 0)) for unit in told["cell"]["units"]]
        return units

    def test_parameters_reach_the_command(self):
        suite = self.suite("echo {size} $N $COLOUR >> log",
                           "matrix: {axes: {size: [64x64, 8x8], n: {from: 1, to: 2}}}\n",
                           QUICK.replace("processes", "order: latin\n  processes"))
        text = suite.read_text().replace("runner: {", "runner: {env: {COLOUR: red, N: '{n}'}, ")
        suite.write_text(text)
        result = self.result("run", suite)
        lines = collections.Counter((self.dir / "log").read_text().splitlines())
        self.assertEqual(lines, {f"{s} {n} red": 6 for s in ("64x64", "8x8") for n in (1, 2)})
        self.assertEqual(result["cells"][0]["params"], {"size": "64x64", "n": "1"})
        self.assertEqual(result["run"]["suite"], "s")
        self.assertTrue((self.run_folder() / "result.json").exists())

    def test_every_class_of_failure(self):
        commands = {"exit_nonzero": "exit 3", "crash": "kill -SEGV $$", "timeout": "sleep 30",
                    "startup_failed": "no-such-program-here",
                    "oom_gpu": "echo 'torch.cuda.OutOfMemoryError: CUDA out of memory.' >&2; exit 1"}
        cells = ", ".join(json.dumps(c) for c in [*commands.values(), "true"])
        suite = self.suite("{what}", f"  timeout: {{iteration: 2s}}\nmatrix: {{axes: {{what: [{cells}]}}}}\n")
        result = self.result("run", suite, code=4)
        found = {c["params"]["what"]: c for c in result["cells"]}
        for kind, command in commands.items():
            self.assertEqual(found[command]["status"], "failed", command)
            self.assertEqual(found[command]["failure"]["class"], kind, command)
        self.assertEqual(found["true"]["status"], "ok")

    def test_ten_mistakes_are_listed_at_once(self):
        path = self.dir / "bad.yaml"
        path.write_text("""version: 2
suite: x
defaults:
  runner: {kind: comand, command: [x], wram_server: true}
  processes: {min: 8, max: 2}
  stop: {budget: 20}
matrix:
  axes: {size: [512x512], steps: [10, 10]}
  exclude: [{when: "sise.pixels > 3", why: "no"}]
metrics:
  latency_s: {min_effect: 2}
targets: [{metric: latency_s}]
envronment: {}
""")
        done = self.bench("run", path, code=2)
        self.assertEqual(len([line for line in done.stderr.splitlines() if "bad.yaml:" in line]), 10, done.stderr)
        self.assertIn("bad.yaml:13: unknown name 'envronment'; did you mean 'environment'?", done.stderr)

    def test_an_axis_that_reaches_nothing_is_told(self):
        suite = self.suite("true", "matrix: {axes: {n: [1, 2]}}\n", QUICK.replace("6", "1"))
        for words in (["--dry-run"], []):
            self.assertIn("{n} is in no command", self.bench("run", suite, *words).stderr)
        suite.write_text(suite.read_text().replace('"true"', '"true {n}"'))
        self.assertEqual(self.bench("run", suite, "--dry-run").stderr, "")

    def test_dry_run_tells_cells_reasons_and_time(self):
        suite = self.suite("sleep 0.02", "matrix:\n  axes: {n: [1, 2, 3]}\n"
                           "  exclude: [{when: n == 3, why: too large}]\n")
        done = self.bench("run", suite, "--dry-run")
        self.assertIn("2 cells, 1 left out, 6 to 6 units each", done.stdout)
        self.assertIn("n=3  (excluded: too large)", done.stdout)
        self.assertIn("not known: it was never run before", done.stdout)
        self.assertFalse((self.dir / "genscope-bench").exists())
        self.bench("run", suite)
        done = self.bench("run", suite, "--dry-run")
        self.assertRegex(done.stdout, r"About \d+ s.*from the units of genscope-bench/s-")
        plan = json.loads(self.bench("run", suite, "--dry-run", "--json", "--only", "n > 1").stdout)
        self.assertEqual([c["id"] for c in plan["cells"] if "skipped" not in c], ["n=2"])

    def test_killed_it_goes_on_and_no_unit_is_measured_twice(self):
        suite = self.suite("sleep 0.05; echo {n} >> log", "matrix: {axes: {n: [1, 2, 3]}}\n")
        process = subprocess.Popen([BIN, "bench", "run", str(suite)], cwd=self.dir, env=self.env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        log = self.dir / "log"
        while not (log.exists() and len(log.read_text().splitlines()) >= 5):
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(process.poll(), "it ended before it could be killed")
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        folder = self.run_folder()
        before = self.journal(folder)
        self.assertFalse((folder / "result.json").exists())
        result = self.result("run", suite, "--resume", folder)
        after = self.journal(folder)
        self.assertEqual(after[:len(before)], before)
        self.assertEqual(sorted(after), sorted((f"n={n}", i) for n in (1, 2, 3) for i in range(6)))
        self.assertEqual([len(c["units"]) for c in result["cells"]], [6, 6, 6])
        # One unit at most was under way, and that one is not in the journal.
        self.assertLessEqual(len(log.read_text().splitlines()), 18 + 1)

        suite.write_text(suite.read_text().replace("processes: 6", "processes: 7"))
        done = self.bench("run", suite, "--resume", folder, code=2)
        self.assertIn("the suite has changed since this run began", done.stderr)

    def test_interrupted_it_says_how_to_go_on(self):
        suite = self.suite("echo >> log; sleep 30")
        process = subprocess.Popen([BIN, "bench", "run", str(suite)], cwd=self.dir, env=self.env, text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + PATIENCE
        while not (self.dir / "log").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn(f"genscope bench run {suite} --resume genscope-bench/s-", errors)

    def test_budget_and_timeouts(self):
        suite = self.suite("sleep 0.2", "matrix: {axes: {n: [1, 2, 3, 4, 5, 6, 7, 8]}}\n")
        result = self.result("run", suite, "--budget", "500ms", code=0)
        self.assertIn("skipped", [c["status"] for c in result["cells"]])
        done = self.bench("run", suite, "--budget", "soon", code=2)
        self.assertIn("write 90s, 20m or 1h", done.stderr)

    def test_targets_are_judged_and_judged_again(self):
        suite = self.suite("sleep 0.05", "targets: [{metric: latency_s, max: 20s}]\n")
        self.bench("run", suite)
        done = self.bench("validate", suite)
        self.assertRegex(done.stdout, r"latency_s .*100\.0 +met")
        self.assertIn("Score: 100.0 of 100", done.stdout)
        suite.write_text(suite.read_text().replace("max: 20s", "max: 10ms"))
        done = self.bench("validate", suite, code=1)
        self.assertIn("missed", done.stdout)
        result = self.result("validate", self.run_folder() / "result.json", "--suite", suite, code=1)
        self.assertLess(result["score"]["total"], 50)

    def test_speedup_against_an_earlier_result(self):
        slow = self.suite("sleep 0.6")
        self.bench("run", slow, "--out", "before")
        base = next((self.dir / "before").glob("s-*/result.json"))
        fast = self.suite("true", f"targets: [{{speedup_vs: {base}, min: 30}}]\n")
        result = self.result("run", fast, code=(0, 1))
        (target,) = result["targets"]
        self.assertGreater(target["value"], 5)
        self.assertEqual(target["met"], target["ci"][0] >= 30)
        fast.write_text(fast.read_text().replace(str(base), "nobody"))
        self.result("run", fast, code=6)

    def test_unfit_environment(self):
        suite = self.suite("true", "environment: {require: {cpu: 'Abacus*'}, on_violation: fail}\n")
        result = self.result("run", suite, code=5)
        self.assertEqual(result["cells"], [])

    def test_the_example(self):
        self.env["PATH"] = f"{pathlib.Path(TINYDIFF).parent}:{self.env['PATH']}"
        suite = self.dir / "tinydiff.yaml"
        suite.write_text(EXAMPLE.read_text().replace("{min: 6, max: 12}", "6").replace(", budget: 45s", ""))
        (self.dir / "prompts.txt").write_text((EXAMPLE.parent / "prompts.txt").read_text())
        # Its target is about time: a busy machine may miss it.
        result = self.result("run", suite, "--only", "arch == 'mmdit' && steps == 2 && size.w == 32", code=(0, 1))
        self.assertEqual([c["params"]["size"] for c in result["cells"]], ["32x32"])
        sample = result["cells"][0]["units"][0]["samples"][0]
        self.assertIn("denoise", sample["stages"])
        self.assertEqual(sample["prompt"], "a red fox in the snow")
        self.assertIn("cost_usd_per_image", sample)


if __name__ == "__main__":
    unittest.main()
