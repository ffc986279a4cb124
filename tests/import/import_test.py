#!/usr/bin/env python3
"""`genscope import` as a user meets it.

import_test.py GENSCOPE             run the tests
import_test.py --approve GENSCOPE   rewrite the tests/golden/import/kineto.* made of it

tests/golden/import/kineto.json is made by hand to the schema of the PyTorch profiler's files.
"""
import difflib
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "golden" / "import"
KINETO = FOLDER / "kineto.json"
GENSCOPE = ""


def genscope(*words, cwd):
    env = {k: v for k, v in os.environ.items() if not k.startswith("GENSCOPE_")}
    env.update(COLUMNS="140", TERM="dumb", NO_COLOR="1", LC_ALL="C.UTF-8")
    return subprocess.run([GENSCOPE, *map(str, words)], cwd=cwd, env=env, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, capture_output=True)


def masked(text):
    """Without what depends on this machine and on the compressor's version."""
    text = re.sub(r"(?m)^(  (?:host|started|command) +).*$", r"\1*", text)
    text = re.sub(r"(?m)^(\| (?:id|host|started|command) \|).*$", r"\1 * |", text)
    return re.sub(r" in [\d.]+ KiB \(\d+ bytes per span\)", " in * KiB", text)


def masked_json(text):
    report = json.loads(text)
    for key in ("id", "started", "command", "host", "path"):
        report["run"][key] = "*"
    for process in report["integrity"]["processes"]:
        process["host"] = "*"
    report["recorder"]["bytes"] = "*"
    return json.dumps(report, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def golden_texts(folder):
    """What the golden files hold, made anew."""
    done = genscope("import", "--run-dir", "run", KINETO, cwd=folder)
    assert done.returncode == 0, done.stderr
    return {
        "kineto.report.txt": masked(genscope("report", "run", cwd=folder).stdout),
        "kineto.report.md": masked(genscope("report", "run", "-f", "md", cwd=folder).stdout),
        "kineto.report.json": masked_json(genscope("report", "run", "--json", cwd=folder).stdout),
        "kineto.spans.txt": genscope("report", "run", "--spans", "-f", "csv", cwd=folder).stdout,
    }


def training_with_stacks(log_every):
    """Eight steps as torch.profiler with stacks writes them: a step begins within the frame of
    Profiler.step, which it outlives, and so lies beside the frames of its thread."""
    events = []

    def add(cat, name, at, length, tid=9, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 9, "tid": tid, "ts": at,
                       "dur": length, "args": args})

    add("python_function", "train.py(3): main", 0, 9000)
    for i in range(8):
        at = 1000 * i + 10
        add("python_function", "torch/profiler/profiler.py(700): step", at, 20)
        add("user_annotation", f"ProfilerStep#{i}", at + 10, 990)
        add("user_annotation", "Optimizer.step#AdamW.step", at + 100, 50)
        add("cuda_runtime", "cudaLaunchKernel", at + 110, 5, correlation=i)
        add("kernel", "gemm", at + 200, 300, tid=7, correlation=i, device=0, stream=7)
        logs = i % log_every == 0
        add("python_function", "wandb/sdk/wandb_run.py(1733): log" if logs
            else "train.py(9): check", at + 400, 200)
        add("cpu_op", "aten::item", at + 410, 150)
        add("cuda_runtime", "cudaStreamSynchronize", at + 420, 100)
    return json.dumps({"traceEvents": events})


class Import(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = pathlib.Path(scratch.name)

    def run_of(self, done, code=0):
        self.assertEqual(done.returncode, code, done.stderr)
        return self.dir / done.stdout.strip()

    def test_logging_that_waits_at_every_step_is_found_through_the_frames(self):
        for every, per_step, fired in ((1, 1.0, True), (4, 0.25, False)):
            (self.dir / "trace.json").write_text(training_with_stacks(every))
            run = self.run_of(genscope("import", "trace.json", cwd=self.dir))
            traffic = self.report(run)["resources"]["step_traffic"]
            self.assertEqual(traffic["syncs_per_step"], 1)
            self.assertEqual(traffic["log_syncs_per_step"], per_step)
            advice = json.loads(genscope("advise", run, "--json", cwd=self.dir).stdout)
            rules = [finding["rule"] for finding in advice["findings"]]
            self.assertEqual("TR-METRIC" in rules, fired, rules)

    def report(self, run):
        done = genscope("report", run, "--json", cwd=self.dir)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_the_report_of_a_kineto_file_is_as_it_was(self):
        for name, now in golden_texts(self.dir).items():
            kept = (FOLDER / name).read_text()
            diff = "".join(difflib.unified_diff(kept.splitlines(True), now.splitlines(True),
                                                name, "now"))
            self.assertEqual(diff, "", "if it is right: tests/import/import_test.py --approve\n")

    def test_gzip_gives_the_same_run(self):
        packed = self.dir / "trace.json.gz"
        packed.write_bytes(gzip.compress(KINETO.read_bytes()))
        plain = self.report(self.run_of(genscope("import", KINETO, cwd=self.dir)))
        other = self.report(self.run_of(genscope("import", packed, cwd=self.dir)))
        self.assertEqual(plain["stages"], other["stages"])

    def test_ranks_become_traces_of_one_run_on_one_clock(self):
        files = []
        for rank in range(12):
            trace = json.loads(KINETO.read_text())
            trace["distributedInfo"]["rank"] = rank
            trace["baseTimeNanoseconds"] += rank * 1_000_000
            trace["trace_id"] = f"{rank:032x}"
            files.append(self.dir / f"rank{rank}.json")
            files[-1].write_text(json.dumps(trace))
        run = self.run_of(genscope("import", "--name", "ddp", *files, cwd=self.dir))
        self.assertEqual(len(list(run.glob("trace-*.gst"))), 12)
        report = self.report(run)
        self.assertEqual(report["run"]["name"], "ddp")
        # The last rank began 11 ms after the first; each lasts 7.11 ms.
        self.assertEqual(report["run"]["wall_ns"], 11_000_000 + 7_110_000)

    def test_quiet_prints_the_path_alone(self):
        done = genscope("--quiet", "import", "-o", "runs", KINETO, cwd=self.dir)
        self.assertRegex(done.stdout, r"^runs/\d{8}-\d{6}-kineto\.json-\d+\n$")
        self.assertEqual(done.stderr, "")

    def test_what_is_dropped_is_told(self):
        done = genscope("import", KINETO, cwd=self.dir)
        self.assertIn("2 of 3 device spans joined with their launch", done.stderr)
        self.assertIn("2 flow arrows and 0 events of other kinds dropped", done.stderr)
        self.assertIn("rank 1", done.stderr)

    def test_a_file_that_was_cut_off_gives_what_it_holds_and_the_report_says_so(self):
        cut = self.dir / "cut.json"
        cut.write_bytes(KINETO.read_bytes()[:3000])
        done = genscope("import", "--run-dir", "run", cut, cwd=self.dir)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("it was cut off there", done.stderr)
        self.assertIn("cut off there", genscope("report", "run", cwd=self.dir).stdout)

    def test_one_bad_file_of_several_is_named_and_the_others_are_kept(self):
        bad = self.dir / "bad.json"
        bad.write_text("hello")
        done = genscope("import", "--run-dir", "run", KINETO, bad, cwd=self.dir)
        self.assertEqual(done.returncode, 2)
        self.assertIn("bad.json is no JSON", done.stderr)
        self.assertIn("1 of 2 files could not be imported", done.stderr)
        self.assertEqual(len(list((self.dir / "run").glob("trace-*.gst"))), 1)

    def test_nothing_is_made_of_a_file_that_is_no_trace(self):
        for content in (b"", b"hello", b'{"a": 1}', b"\x1f\x8b"):
            bad = self.dir / "bad.json"
            bad.write_bytes(content)
            done = genscope("import", "--run-dir", "run", bad, cwd=self.dir)
            self.assertEqual(done.returncode, 2, content)
            self.assertTrue(done.stderr.startswith("genscope: "), done.stderr)
            self.assertFalse((self.dir / "run").exists())
        self.assertEqual(genscope("import", "--run-dir", "run", "missing", cwd=self.dir).returncode, 2)

    def test_a_trace_without_events_measured_nothing(self):
        empty = self.dir / "empty.json"
        empty.write_text("[]")
        done = genscope("import", "--run-dir", "run", empty, cwd=self.dir)
        self.assertEqual(done.returncode, 7, done.stderr)

    def test_a_gzip_bomb_is_refused_and_the_limit_can_be_raised(self):
        bomb = self.dir / "bomb.json.gz"
        bomb.write_bytes(gzip.compress(b"[") + gzip.compress(b" " * (1 << 20)) * 80)
        done = genscope("import", "--run-dir", "run", bomb, cwd=self.dir)
        self.assertEqual(done.returncode, 5)
        self.assertIn("raise ImportOptions::max_ratio (--max-ratio)", done.stderr)
        done = genscope("import", "--run-dir", "run", "--max-ratio", 5000, bomb, cwd=self.dir)
        self.assertEqual(done.returncode, 7, done.stderr)


def main():
    global GENSCOPE
    approve = sys.argv[1:2] == ["--approve"]
    GENSCOPE = os.path.abspath(sys.argv[2 if approve else 1])
    if not approve:
        unittest.main(argv=sys.argv[:1] + sys.argv[2:])
    with tempfile.TemporaryDirectory() as folder:
        for name, text in golden_texts(folder).items():
            (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
