#!/usr/bin/env python3
"""`genscope compare` as a user meets it.

compare_test.py GENSCOPE             run the tests
compare_test.py --approve GENSCOPE   rewrite tests/golden/compare

The runs are imported from traces made here, so that every time in them is known.
"""
import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "golden"))
import golden  # noqa: E402
from golden import genscope  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "golden" / "compare"
STEPS = 8
BEFORE = {"set": {"env.torch": "2.4.0", "attn": "sdpa", "seed": 1}, "step": 100_000, "vae": 50_000,
          "gpu": "NVIDIA A100", "reserved": 12 << 30, "extra": "compile"}
AFTER = {"set": {"env.torch": "2.5.1", "attn": "flash|<b>", "seed": 2}, "step": 80_000,
         "vae": 51_000, "gpu": "NVIDIA H100", "reserved": 9 << 30, "extra": "graph \x1b[31mcapture"}


def trace(recipe, **settings):
    """A generation of a model as a Chrome trace; times in microseconds."""
    events, now = [], 0

    def span(name, duration, at):
        events.append({"ph": "X", "cat": "user_annotation", "name": name, "pid": 7, "tid": 7,
                       "ts": at, "dur": duration})

    said = {"model": "flux-dev", "steps": STEPS, "width": 1024, "height": 1024, "dtype": "bf16"}
    said |= recipe["set"] | settings
    events.append({"ph": "i", "s": "t", "name": "config", "pid": 7, "tid": 7, "ts": 0,
                   "args": said})
    span(recipe["extra"], 10_000, now)
    now += 10_000
    lengths = [3 * recipe["step"], *(recipe["step"] + 500 * (i * 7 % 5) for i in range(STEPS - 1))]
    span("denoising", sum(lengths), now)
    for i, length in enumerate(lengths):
        span(f"ProfilerStep#{i}", length, now)
        now += length
    span("vae_decode", recipe["vae"], now)
    events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 7,
                   "tid": 7, "ts": now, "args": {
                       "Device Type": 1, "Device Id": 0, "Bytes": 1024, "Addr": 1,
                       "Total Allocated": recipe["reserved"], "Total Reserved": recipe["reserved"]}})
    return {"deviceProperties": [{"id": 0, "name": recipe["gpu"], "totalGlobalMem": 85 << 30}],
            "traceEvents": events}


def make_run(folder, name, document):
    """The run <name>/run; the same command makes each, so that it is no difference."""
    place = pathlib.Path(folder, name)
    place.mkdir()
    (place / "trace.json").write_text(json.dumps(document))
    done = genscope("import", "--run-dir", "run", "trace.json", cwd=place)
    assert done.returncode == 0, done.stderr


def make_runs(folder):
    make_run(folder, "before", trace(BEFORE))
    make_run(folder, "after", trace(AFTER))
    make_run(folder, "other", trace(AFTER, steps=STEPS + 2, model="/models/sdxl"))
    for i in range(3):  # in turns
        for side, slower in (("a", 1), ("b", 1.2)):
            recipe = BEFORE | {"step": round(BEFORE["step"] * slower) + 300 * (i * 7 % 3),
                               "vae": BEFORE["vae"] + 100 * i}
            make_run(folder, f"{side}{i}", trace(recipe))
        make_run(folder, f"decode{i}", trace(BEFORE | {"vae": 60_000 + 200 * i}))


def side(name):
    return [f"{name}{i}/run" for i in range(3)]


def rounded(text):
    """Without the last digits, in which the logarithms of machines differ, and without what is left of sums."""
    def short(number):
        value = float(number[0])
        return f"{value:.7g}" if abs(value) > 1e-11 else "0"

    return re.sub(r"-?\d+\.\d{6,}(e[-+]\d+)?|-?\d+(\.\d+)?e-\d+", short, text)


def golden_texts(folder):
    """What the golden files hold, made anew."""
    def compare(*words):
        return genscope("compare", "before/run", *words, cwd=folder).stdout

    def several(*words):
        return genscope("compare", *words, *side("a"), "--", *side("b"), cwd=folder).stdout

    return {
        "text.txt": compare("after/run", "--target", "0.9"),
        "compare.json": rounded(compare("after/run", "--target", "0.9", "--json")),
        "compare.md": compare("after/run", "--target", "0.9", "-f", "md"),
        "incomparable.txt": compare("other/run"),
        "incomparable.json": compare("other/run", "--json"),
        "forced.md": compare("other/run", "-f", "md", "--force"),
        "several.txt": several(),
        "several.json": rounded(several("--json")),
        "several.md": several("-f", "md"),
    }


class Compare(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.dir = pathlib.Path(scratch.name)
        make_runs(cls.dir)

    def compare(self, *words):
        return genscope("compare", *words, cwd=self.dir)

    def test_the_output_is_as_it_was(self):
        golden.compare(self, FOLDER, golden_texts(self.dir))

    def test_other_work_is_told_with_its_reason_and_ends_with_6(self):
        done = self.compare("before/run", "other/run")
        self.assertEqual(done.returncode, 6)
        self.assertIn("model flux-dev against /models/sdxl, steps 8 against 10", done.stdout)
        self.assertIn("cannot be compared; --force", done.stderr)
        done = self.compare("before/run", "other/run", "--json")
        self.assertEqual(done.returncode, 6)
        self.assertIn("steps 8 against 10", done.stderr)
        self.assertEqual(json.loads(done.stdout)["rows"], [])
        forced = self.compare("before/run", "other/run", "--json", "--force")
        self.assertEqual(forced.returncode, 0)
        self.assertTrue(json.loads(forced.stdout)["forced"])

    def test_one_run_each_has_no_verdict(self):
        done = self.compare("after/run", "before/run")
        self.assertEqual(done.returncode, 0)
        self.assertIn("No verdict: one run each.\nThese runs differ by 23 % (867 ms, 1.07 s).", done.stdout)
        for claim in ("faster", "slower", "regressed", "improved"):
            self.assertNotIn(claim, done.stdout)
        gated = self.compare("--gate", "after/run", "before/run")
        self.assertEqual(gated.returncode, 2)
        self.assertIn("one run each has no verdict", gated.stderr)

    def test_several_runs_a_side_have_one(self):
        done = self.compare("--json", *side("a"), "--", *side("b"))
        self.assertEqual(done.returncode, 0, "slower, and no gate")
        document = json.loads(done.stdout)
        self.assertEqual(document["verdict"], "regressed")
        self.assertEqual([run["path"] for run in document["before"]["runs"]], side("a"))
        parts = document["attribution"]["parts"]
        self.assertEqual(parts[0]["name"], "denoising")
        self.assertAlmostEqual(sum(part["difference"] for part in parts),
                               document["attribution"]["total"]["difference"])
        rows = {row["name"]: row["verdict"] for row in document["rows"]}
        self.assertEqual((rows["steady step"], rows["vae_decode"]), ("regressed", "unchanged"))
        self.assertEqual(rows["compile"], "insufficient", "three that never vary tell no spread")
        decoder = json.loads(self.compare("--json", *side("a"), "--", *side("decode")).stdout)
        rows = {row["name"]: row["verdict"] for row in decoder["rows"]}
        self.assertEqual((rows["steady step"], rows["vae_decode"]), ("unchanged", "regressed"))
        self.assertEqual(self.compare("--gate", *side("a"), "--", *side("b")).returncode, 1)
        self.assertEqual(self.compare("--gate", *side("b"), "--", *side("a")).returncode, 0)

    def test_a_side_may_be_a_folder_or_a_pattern(self):
        for name in ("a", "b"):
            place = self.dir / f"folder-{name}"
            place.mkdir()
            for i in range(3):
                (place / str(i)).symlink_to(self.dir / f"{name}{i}" / "run")
        shutil.copytree(self.dir / "folder-a", self.dir / "all-a")
        done = self.compare("--json", "all-a", "--", "b?/run")
        self.assertEqual(done.returncode, 0, done.stderr)
        document = json.loads(done.stdout)
        self.assertEqual([len(document[s]["runs"]) for s in ("before", "after")], [3, 3])
        self.assertEqual(document["verdict"], "regressed")
        done = self.compare("a0/run", "--", "nothing*")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no run matches nothing*", done.stderr)

    def test_sides_need_dashes_and_options_stand_before_them(self):
        done = self.compare(*side("a"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("A1 A2 A3 -- B1 B2 B3", done.stderr)
        done = self.compare("a0/run", "--", "b0/run", "--json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--json follows --", done.stderr)
        self.assertEqual(self.compare("a0/run", "--").returncode, 2)

    def test_other_programs_without_a_stage_in_common_end_with_6(self):
        for name, command in (("one", ["sleep", "0.01"]), ("two", ["true"]), ("three", ["sleep", "0.02"])):
            done = genscope("run", "--live", "never", "--run-dir", name, "--", *command, cwd=self.dir)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(json.loads((self.dir / "one/run.json").read_text())["cpu_ns"], 0)
        done = self.compare("one", "two")
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn("different programs, sleep and true", done.stdout)
        self.assertEqual(self.compare("one", "three").returncode, 0)

    def test_the_noise_floor_is_in_percent(self):
        done = self.compare("--noise", "30", "--json", *side("a"), "--", *side("b"))
        document = json.loads(done.stdout)
        self.assertEqual(document["noise_floor"], 0.3)
        self.assertEqual(document["verdict"], "unchanged")
        self.assertEqual(self.compare("before/run", "after/run", "--noise", "-1").returncode, 2)

    def test_a_file_appears_whole(self):
        done = self.compare("before/run", "after/run", "-f", "md", "-o", "out.md")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertTrue((self.dir / "out.md").read_text().startswith("## before/run against"))

    def test_bad_input_ends_with_2_and_an_empty_run_with_7(self):
        self.assertEqual(self.compare("before/run", "missing").returncode, 2)
        self.assertEqual(self.compare("before/run").returncode, 2)
        self.assertEqual(self.compare("before/run", "after/run", "--target", "0").returncode, 2)
        (self.dir / "empty.json").write_text("[]")
        genscope("import", "--run-dir", "empty", "empty.json", cwd=self.dir)
        done = self.compare("before/run", "empty")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("nothing was measured in the second run", done.stderr)


def texts(folder):
    make_runs(folder)
    return golden_texts(folder)


if __name__ == "__main__":
    golden.main(FOLDER, texts)
