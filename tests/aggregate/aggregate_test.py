#!/usr/bin/env python3
"""`genscope aggregate` as a user meets it.

aggregate_test.py GENSCOPE             run the tests
aggregate_test.py --approve GENSCOPE   rewrite tests/golden/aggregate/reports.{txt,json,md}

tests/golden/aggregate/reports is made by hand to the schema of Inferix's reports: of five ranks one
is missing, one cannot be read and one holds the others up.
"""
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "golden"))
import golden  # noqa: E402
from golden import genscope  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "golden" / "aggregate"


def golden_texts():
    """What the golden files hold, made anew; paths are relative to FOLDER."""
    texts = {}
    for ending, form in (("txt", "text"), ("json", "json"), ("md", "md")):
        done = genscope("aggregate", "reports", "-f", form, cwd=FOLDER)
        assert done.returncode == 0, done.stderr
        texts[f"reports.{ending}"] = done.stdout
    return texts


def rank_trace(rank, wait_us, ahead_us=0, steps=20):
    """A PyTorch trace: steps of 10 ms that all end in an all-reduce, its kernel waits `wait_us`."""
    events = []
    for i in range(steps):
        at = 1000 + i * 10_000 + ahead_us
        end = at + 10_000
        common = {"ph": "X", "pid": 4100 + rank}
        events.append(dict(common, cat="user_annotation", name=f"ProfilerStep#{i}", tid=1, ts=at,
                           dur=9_990))
        events.append(dict(common, cat="kernel", pid=0, tid=7, ts=end - wait_us - 5, dur=wait_us,
                           name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)",
                           args={"device": 0, "stream": 7, "correlation": i}))
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank,
                                                    "world_size": 4},
            "trace_id": f"{rank:032x}", "baseTimeNanoseconds": 1743521598000000000,
            "traceEvents": events}


class Aggregate(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = pathlib.Path(scratch.name)

    def aggregate(self, *words, code=0):
        done = genscope("aggregate", *words, "--json", cwd=self.dir)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def ranks(self, waits, ahead=(0, 0, 0, 0), folder="ranks"):
        """A folder of one imported run per rank; the ranks in it."""
        for rank, wait in enumerate(waits):
            file = self.dir / f"rank{rank}.json"
            file.write_text(json.dumps(rank_trace(rank, wait, ahead[rank])))
            done = genscope("import", "--run-dir", f"{folder}/node{rank}", file, cwd=self.dir)
            self.assertEqual(done.returncode, 0, done.stderr)
        return self.dir / folder

    def test_reports_of_inferix_are_as_they_were(self):
        golden.compare(self, FOLDER, golden_texts())

    def test_raw_samples_are_skipped_and_told(self):
        done = genscope("aggregate", "reports", cwd=FOLDER)
        self.assertIn("raw samples of Inferix, not a report", done.stderr)
        self.assertEqual(genscope("--quiet", "aggregate", "reports", cwd=FOLDER).stderr, "")

    def test_the_straggler_of_imported_ranks_is_found_and_their_clocks_compared(self):
        folder = self.ranks((4000, 4100, 100, 3900), ahead=(0, 250, 0, -125))
        found = self.aggregate(folder)
        self.assertEqual(found["ranks"], 4)
        self.assertEqual(found["world_size"], 4)
        self.assertEqual(found["missing"], [])
        self.assertEqual([s["rank"] for s in found["stragglers"] if s["role"] == "culprit"],
                         ["rank 2"])
        self.assertEqual(found["clock_reference"], "rank 0")
        clocks = {c["rank"]: c for c in found["clocks"]}
        self.assertEqual({c["method"] for c in clocks.values()}, {"collectives"})
        # Each file's own clock begins with its first event, so what is ahead is seen as it is.
        self.assertAlmostEqual(clocks["rank 1"]["offset_seconds"], 250e-6, delta=5e-6)
        self.assertAlmostEqual(clocks["rank 3"]["offset_seconds"], -125e-6, delta=5e-6)

    def test_ranks_that_wait_alike_have_no_straggler(self):
        self.assertEqual(self.aggregate(self.ranks((4000, 4100, 3900, 3950)))["stragglers"], [])

    def test_a_missing_rank_a_damaged_file_and_a_copy_are_named(self):
        folder = self.ranks((4000, 4100, 4000, 3900))
        shutil.rmtree(folder / "node1")
        shutil.copytree(folder / "node3", folder / "node3-copy")
        next((folder / "node2").glob("*.gst")).write_bytes(b"no trace")
        found = self.aggregate(folder)
        self.assertEqual(found["ranks"], 3)
        self.assertEqual(found["missing"], [1, 2], "a damaged file does not say its rank")
        self.assertEqual(len(found["unread"]), 1)
        self.assertEqual(len(found["duplicate"]), 1)
        self.assertIn("rank 3: ", found["duplicate"][0])

    def test_one_run_with_all_ranks_in_it(self):
        files = []
        for rank, wait in enumerate((4000, 4100, 100, 3900)):
            files.append(self.dir / f"rank{rank}.json")
            files[-1].write_text(json.dumps(rank_trace(rank, wait)))
        genscope("import", "--run-dir", "run", *files, cwd=self.dir)
        found = self.aggregate("run", "./run", self.dir / "run" / "..")  # all the same
        self.assertEqual((found["ranks"], found["runs"]), (4, 1))
        self.assertEqual(found["stragglers"][0]["rank"], "rank 2")
        advice = genscope("advise", "run", "--json", cwd=self.dir)
        self.assertIn("RANK-SLOW", [f["rule"] for f in json.loads(advice.stdout)["findings"]])

    def test_exit_codes(self):
        self.assertEqual(genscope("aggregate", "nowhere", cwd=self.dir).returncode, 2)
        self.assertEqual(genscope("aggregate", cwd=self.dir).returncode, 2)
        (self.dir / "empty").mkdir()
        done = genscope("aggregate", "empty", cwd=self.dir)
        self.assertEqual(done.returncode, 7)
        self.assertIn("no run, trace or Inferix report was found", done.stderr)
        (self.dir / "empty" / "profiling_report_x.json").write_text("[]")
        done = genscope("aggregate", "empty", cwd=self.dir)
        self.assertEqual(done.returncode, 7)
        self.assertIn("is no JSON object", done.stdout)

    def test_output_goes_to_a_file(self):
        done = genscope("aggregate", FOLDER / "reports", "-f", "md", "-o", "out.md", cwd=self.dir)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertTrue((self.dir / "out.md").read_text().startswith("# 3 ranks"))

    def test_names_of_others_do_no_harm(self):
        folder = self.dir / "rank_0"
        folder.mkdir()
        stages = {"a|b\x1b[31m<script>": {"total_time": 1, "call_count": 1}}
        (folder / "profiling_report_x.json").write_text(json.dumps(
            {"session_info": {"id": "x"}, "stage_analysis": {"stages": stages}}))
        for form in ("text", "md", "json"):
            done = genscope("aggregate", folder, "-f", form, cwd=self.dir)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("\x1b", done.stdout)
            if form == "md":
                self.assertNotIn("<script>", done.stdout)
                self.assertNotIn("a|b", done.stdout.replace("a\\|b", ""))


if __name__ == "__main__":
    golden.main(FOLDER, lambda _: golden_texts())
