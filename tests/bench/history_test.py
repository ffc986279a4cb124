"""Results over time: baselines, comparisons, history, the index that may be damaged, imports."""
import datetime
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from support import BIN, BenchCase

DATA = pathlib.Path(__file__).resolve().parent.parent / "data/bench_import"
FIRST = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


class HistoryCase(BenchCase):
    def setUp(self):
        super().setUp()
        self.runs = pathlib.Path(self.env["GENSCOPE_OUT"])

    def template(self):
        """A result as `bench import` makes it."""
        if not hasattr(self, "made"):
            self.made = json.loads(self.bench("import", DATA / "hyperfine.json", "--json").stdout)
            self.made["cells"] = self.made["cells"][:1]
        return json.loads(json.dumps(self.made))

    def write(self, name, day, seconds):
        """A result of that day, six runs around `seconds`."""
        result = self.template()
        result["run"]["id"] = name
        started = (FIRST + datetime.timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ")
        result["run"]["started"] = result["run"]["ended"] = started
        cell = result["cells"][0]
        values = []
        for i, unit in enumerate(cell["units"]):
            unit["samples"][0]["latency_s"] = seconds * (1 + 0.002 * i)
            values.append(seconds * (1 + 0.002 * i))
        stats = cell["stats"]["A"]["latency_s"] if "A" in cell["stats"] else cell["stats"]["latency_s"]
        stats["median"] = sorted(values)[2]
        path = self.runs / "bench" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result))
        return path

    def write_series(self, levels, noise=0.005):
        source = random.Random(5)
        for day, level in enumerate(levels):
            self.write(f"r{day:03}", day, level * (1 + source.uniform(-noise, noise)))

    def series(self, *words, code=0):
        return json.loads(self.bench("history", "--json", *words, code=code).stdout)["series"][0]


class Baselines(HistoryCase):
    def test_set_list_show_rm(self):
        self.write("a", 0, 1.0)
        self.write("b", 1, 1.0)
        self.assertIn("main is b", self.bench("baseline", "set", "main").stdout)
        self.bench("baseline", "set", "old", "last~1", "--note", "before")
        listed = json.loads(self.bench("baseline", "list", "--json").stdout)
        self.assertEqual([(one["name"], one["result"]) for one in listed], [("main", "b"), ("old", "a")])
        self.assertIn("before", self.bench("baseline", "list").stdout)
        self.assertIn("a of 2026-01-01", self.bench("baseline", "show", "old").stdout)
        self.bench("baseline", "rm", "old")
        self.assertIn("no baseline", self.bench("baseline", "rm", "old", code=6).stderr)
        self.assertIn("cannot name", self.bench("baseline", "set", "a/b", code=2).stderr)
        self.assertIn("did you mean 'main'", self.bench("baseline", "show", "mian", code=6).stderr)

    def test_a_result_from_elsewhere_is_copied(self):
        path = self.write("a", 0, 1.0)
        outside = self.dir / "outside.json"
        shutil.move(path, outside)
        self.bench("baseline", "set", "main", outside)
        self.assertTrue((self.runs / "bench/a.json").exists())


class Compare(HistoryCase):
    def test_verdicts_and_exit_codes(self):
        self.write("a", 0, 1.0)
        self.write("slow", 1, 1.2)
        self.write("same", 2, 1.0)
        done = self.bench("compare", "a", "slow", code=1)
        self.assertIn("regressed", done.stdout)
        self.bench("compare", "a", "same")
        self.bench("compare", "slow", "same")
        compared = json.loads(self.bench("compare", "a", "slow", "--json", code=1).stdout)
        self.assertEqual(compared["comparisons"][0]["verdict"], "regressed")
        self.assertAlmostEqual(compared["comparisons"][0]["ratio"], 1.2, places=2)
        self.assertIn("|", self.bench("compare", "a", "slow", "--md", code=1).stdout)
        self.assertIn("no result 'nope'", self.bench("compare", "nope", "slow", code=6).stderr)
        self.assertIn("same result", self.bench("compare", "a", "a", code=2).stderr)

    def test_other_machines_are_not_compared(self):
        self.write("a", 0, 1.0)
        path = self.write("b", 1, 1.0)
        result = json.loads(path.read_text())
        for name, machine in (("a", "one"), ("b", "another")):
            result = json.loads((self.runs / f"bench/{name}.json").read_text())
            result["environment"]["class"] = machine
            (self.runs / f"bench/{name}.json").write_text(json.dumps(result))
        self.assertIn("machines differ", self.bench("compare", "a", "b", code=6).stdout)


class History(HistoryCase):
    def test_a_step_is_found_and_accepted(self):
        self.write_series([1.0] * 15 + [1.1] * 12)
        found = self.series()
        self.assertEqual(len(found["points"]), 27)
        self.assertEqual([(one["result"], one["confirmed"], one["worse"]) for one in found["changes"]],
                         [("r015", True, True)])
        self.assertEqual(found["newest"]["verdict"], "fits")
        text = self.bench("history").stdout
        self.assertIn("worse, and not accepted", text)
        self.assertIn("█", self.in_utf8("history"))
        self.bench("history", "--check", code=1)
        self.bench("history", "--accept", "r015", "--note", "larger model")
        self.bench("history", "--check")
        self.assertTrue(self.series()["changes"][0]["accepted"])
        self.assertIn("accepted", self.bench("history", "--md").stdout)

    def test_the_page_draws_levels_changes_and_what_was_accepted(self):
        levels = [1.0] * 15 + [1.1] * 12
        levels[5] = 1.8
        self.write_series(levels)
        page = self.bench("history", "--html", "-").stdout
        self.assertEqual(page.count("<circle class="), 27)
        self.assertEqual(page.count('<circle class="spike"'), 1)
        self.assertEqual(page.count('<line class="change worse"'), 1)
        self.assertEqual(page.count('<line class="level"'), 2)
        self.assertNotIn("accepted-mark", page.split("</style>")[1])
        self.bench("history", "--accept", "r015")
        self.bench("history", "--html", "history.html")
        page = (self.dir / "history.html").read_text().split("</style>")[1]
        self.assertEqual(page.count('class="accepted-mark"'), 1)
        self.assertEqual(page.count('<line class="change accepted"'), 1)
        self.assertNotIn("<script", page)

    def test_the_page_of_a_result_has_its_past(self):
        self.write_series([1.0] * 8)
        page = self.bench("report", "last", "-f", "html").stdout
        self.assertIn("<h2>History</h2>", page)
        self.assertEqual(page.count('<circle class="dot b" '), 1 + page.split("<h2>History")[0].count('<circle class="dot b" '))
        (self.runs / "bench/r007.json").rename(self.dir / "elsewhere.json")
        for left in self.runs.glob("bench/*.json"):
            left.unlink()
        self.assertNotIn("<h2>History</h2>", self.bench("report", "./elsewhere.json", "-f", "html").stdout)

    def in_utf8(self, *words):
        self.env["LC_ALL"] = "C.UTF-8"
        return self.bench(*words).stdout

    def test_flat_and_spiky_has_no_change(self):
        levels = [1.0] * 30
        levels[9] = 1.7
        self.write_series(levels)
        found = self.series()
        self.assertEqual(found["changes"], [])
        self.assertTrue(found["points"][9]["spike"])

    def test_creep_and_the_day_of_breach(self):
        self.write_series([1.0 + 0.002 * day for day in range(28)], noise=0.001)
        found = self.series("--target", "1.1", "--effect", "20")
        self.assertTrue(found["trend"]["real"])
        self.assertAlmostEqual(found["trend"]["per_week"], 0.0137, delta=0.002)
        self.assertTrue(found["breach"].startswith("2026-02-"), found["breach"])

    def test_unknown_metrics_and_empty_folders(self):
        self.assertIn("no results", self.bench("history", code=7).stderr)
        self.write("a", 0, 1.0)
        self.assertIn("did you mean 'latency_s'", self.bench("history", "latncy_s", code=7).stderr)


class Index(HistoryCase):
    def rows(self):
        with sqlite3.connect(self.runs / "history.db") as index:
            return {table: sorted(map(str, index.execute(f"SELECT * FROM {table}")))
                    for table in ("run", "cell", "metric", "verdict", "noise", "baseline", "file")}

    def test_rebuilt_equals_original(self):
        self.write_series([1.0] * 5)
        self.bench("history")
        self.bench("baseline", "set", "main")
        before = self.rows()
        self.assertEqual(len(before["metric"]), 5)
        self.assertIn("5 results", self.bench("history", "--rebuild").stdout)
        self.assertEqual(self.rows(), before)

    def test_damage_and_loss_are_healed(self):
        self.write_series([1.0] * 3)
        self.bench("history")
        (self.runs / "history.db").write_bytes(b"x" * 5000)
        done = self.bench("history")
        self.assertIn("made anew", done.stderr)
        self.assertEqual(len(self.series()["points"]), 3)
        (self.runs / "history.db").unlink()
        self.assertEqual(len(self.series()["points"]), 3)

    def test_a_locked_index_does_not_lose_results(self):
        self.write_series([1.0] * 3)
        self.bench("history")
        self.write("late", 9, 1.0)
        holder = sqlite3.connect(self.runs / "history.db", isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        done = self.bench("history", "--json")
        self.assertIn("read from their files", done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["series"][0]["points"]), 4)
        holder.execute("ROLLBACK")
        holder.close()
        self.assertEqual(self.bench("history").stderr, "")

    def test_a_folder_that_cannot_be_written(self):
        self.write_series([1.0] * 3)
        if os.geteuid() == 0:
            # Root writes everywhere; an index in a place where none can be made is as good.
            (self.runs / "history.db").mkdir()
        else:
            self.runs.chmod(0o555)
            self.addCleanup(self.runs.chmod, 0o755)
        done = self.bench("history", "--json")
        self.assertIn("read from their files", done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["series"][0]["points"]), 3)

    def test_killed_importers_leave_a_sound_index(self):
        self.bench("import", DATA / "hyperfine.json")
        for i in range(6):
            child = subprocess.Popen([BIN, "bench", "import", DATA / "hyperfine.json"], env=self.env,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.004 * i)
            child.send_signal(signal.SIGKILL)
            child.wait()
        files = [path for path in (self.runs / "bench").glob("*.json")]
        self.assertEqual(self.bench("history", "--rows", "0").stderr, "")
        with sqlite3.connect(self.runs / "history.db") as index:
            self.assertEqual(index.execute("PRAGMA integrity_check").fetchone(), ("ok",))
            self.assertEqual(index.execute("SELECT count(*) FROM run").fetchone(), (len(files),))

    def test_writers_at_once(self):
        children = [subprocess.Popen([BIN, "bench", "import", DATA / "hyperfine.json"], env=self.env,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(6)]
        ids = {child.communicate()[0].strip() for child in children}
        self.assertEqual([child.returncode for child in children], [0] * 6)
        self.assertEqual(len(ids), 6)
        with sqlite3.connect(self.runs / "history.db") as index:
            self.assertEqual(index.execute("SELECT count(*) FROM run").fetchone(), (6,))


class Import(HistoryCase):
    def test_each_tool(self):
        for name, cells in (("hyperfine", 2), ("google_benchmark", 3), ("pytest_benchmark", 2)):
            made = self.bench("import", DATA / f"{name}.json").stdout.strip()
            result = json.loads(self.bench("baseline", "show", made, "--json").stdout)
            self.assertEqual(len(result["cells"]), cells)
            self.assertIn("imported_from", result["workload"])

    def test_what_is_wrong_is_named(self):
        bad = self.dir / "bad.json"
        bad.write_text('{"results": [{"command": "x", "times": [1, null]}]}')
        self.assertIn("results[0].times[1]", self.bench("import", bad, code=2).stderr)
        self.assertIn("import them apart", self.bench("import", DATA / "hyperfine.json",
                                                      DATA / "pytest_benchmark.json", code=2).stderr)


if __name__ == "__main__":
    unittest.main()
