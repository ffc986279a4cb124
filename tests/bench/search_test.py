"""Searches: the first bad commit or setting, the largest value that fits; and the self-check."""
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

from support import BIN, BenchCase

# Fixed work: about 2 ms a round on a slow machine.
WORK = f"'{BIN}' bench fixed-work --rounds "


class Bisect(BenchCase):
    def git(self, *words):
        return subprocess.run(["git", "-C", self.repo, "-c", "user.name=t", "-c", "user.email=t@t", *words],
                              check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, name, content):
        for file, text in content.items():
            (self.repo / file).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", name)
        return self.git("rev-parse", "HEAD")

    def setUp(self):
        super().setUp()
        self.env["TMPDIR"] = str(self.dir)
        self.repo = self.dir / "repo"
        self.repo.mkdir()
        self.git("init", "-q")

    def history(self, rounds, broken=()):
        """A commit for each of `rounds`; `make.sh` builds `run.sh`, and fails in those of `broken`."""
        ids = []
        for i, n in enumerate(rounds):
            build = "exit 1" if i in broken else f"echo \"{WORK}{n}\" > run.sh"
            ids.append(self.commit(f"commit {i}", {"make.sh": build + "\n", "n": str(i)}))
        return ids

    def bisect(self, *words, code=0):
        done = subprocess.run([BIN, "bench", "bisect", *map(str, words)], cwd=self.repo, env=self.env, text=True,
                              capture_output=True, timeout=500, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, f"{done.stdout}\n{done.stderr}")
        return done

    def test_the_first_slow_commit_of_eight(self):
        ids = self.history([10, 10, 10, 10, 10, 80, 80, 80], broken=(3,))
        (self.repo / "n").write_text("not committed")
        before = self.git("status", "--porcelain"), self.git("rev-parse", "HEAD")
        done = self.bisect("--good", ids[0], "--build", "sh make.sh", "--max-units", "32", "--json", "sh run.sh")
        found = json.loads(done.stdout)
        steps = {step["id"]: step["verdict"] for step in found["steps"]}
        self.assertEqual(found["suspects"], [ids[5]])
        self.assertEqual(found["first_bad"], ids[5])
        self.assertEqual(steps[ids[3]], "skipped")
        self.assertEqual(steps[ids[7]], "bad")
        self.assertEqual((self.git("status", "--porcelain"), self.git("rev-parse", "HEAD")), before)
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)
        self.assertEqual(list(self.dir.glob("genscope-bisect*")), [])

    def test_nothing_to_find(self):
        ids = self.history([10, 10])
        done = self.bisect("--good", ids[0], "--build", "sh make.sh", "--effect", "200", "sh run.sh", code=3)
        self.assertIn("not slower", done.stderr)

    def test_wrong_words(self):
        ids = self.history([10, 10])
        self.assertIn("no commit 'v9'", self.bisect("--good", "v9", "true", code=2).stderr)
        self.assertIn("must come before", self.bisect("--good", "HEAD", "--bad", ids[0], "true", code=2).stderr)
        self.assertIn("give --good", self.bisect("true", code=2).stderr)

    def test_settings_one_after_the_other(self):
        settings = self.dir / "settings.txt"
        settings.write_text("# what we changed\nA=1\nROUNDS=80\nB=2\n--quiet\n")
        done = self.bisect("--settings", settings, f"{WORK}${{ROUNDS:-10}}")
        self.assertIn("ROUNDS=80 is the first bad setting", done.stdout)
        settings.write_text("nonsense\n")
        self.assertIn("settings.txt:1", self.bisect("--settings", settings, "true", code=2).stderr)

    def test_an_interrupted_search_goes_on(self):
        ids = self.history([10, 10, 10, 80])
        words = ["--good", ids[0], "--build", "sh make.sh", "--max-units", "16", "sh run.sh"]
        child = subprocess.Popen([BIN, "bench", "bisect", *words], cwd=self.repo, env=self.env, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = child.stderr.readline()  # of the bad one
        self.assertIn("bad", first)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=300)
        if child.returncode == 0:
            self.skipTest("it was done before it could be interrupted")
        self.assertEqual(child.returncode, 130, err)
        done = self.bisect(*words)
        self.assertIn("going on", done.stderr)
        self.assertNotIn("commit 3: bad", done.stderr.split("going on")[1])
        self.assertIn(f"{ids[3]} is the first bad commit", done.stdout)


class Frontier(BenchCase):
    SCRIPT = """
if [ {batch} -gt 23 ]; then echo 'torch.cuda.OutOfMemoryError: CUDA out of memory.' >&2; exit 1; fi
"""

    def test_the_largest_that_fits(self):
        done = self.bench("frontier", self.SCRIPT, "--parameter", "batch", "1..64", "--json")
        found = json.loads(done.stdout)
        self.assertEqual((found["largest"], found["smallest_not"]), (23, 24))
        self.assertEqual(found["violations"], [])
        self.assertEqual({one["failure"]["class"] for one in found["tries"] if not one["fits"]}, {"oom_gpu"})
        text = self.bench("frontier", self.SCRIPT, "--parameter", "batch", "1..16").stdout
        self.assertIn("All values fit, up to batch=16", text)

    def test_headroom_by_a_limit(self):
        done = self.bench("frontier", "python3 -c 'x = bytearray({n} << 20)'", "--parameter", "n", "64..80:16",
                          "--limit", 1 << 30, "--json")
        found = json.loads(done.stdout)
        self.assertEqual(found["metric"], "rss_peak_bytes")
        self.assertGreater(found["headroom_ratio"], 0.5)
        self.assertLess(found["headroom_ratio"], 0.95)

    def test_exit_codes_that_mean_memory_and_others(self):
        script = "test {n} -le 5 || exit 77"
        self.assertIn("n=5 is the largest", self.bench("frontier", script, "--parameter", "n", "1..9",
                                                       "--oom-exit", "77").stdout)
        self.assertIn("another reason", self.bench("frontier", script, "--parameter", "n", "1..9", code=4).stdout)
        self.assertIn("Nothing fits", self.bench("frontier", "exit 77; {n}", "--parameter", "n", "1..9",
                                                 "--oom-exit", "77", code=4).stdout)

    def test_what_is_not_monotonic_is_told(self):
        script = "if [ {n} -eq 8 ]; then echo 'CUDA out of memory' >&2; exit 1; fi"
        self.assertIn("Not monotonic: 15 fits", self.bench("frontier", script, "--parameter", "n", "1..16").stdout)

    def test_wrong_words(self):
        self.assertIn("no {n}", self.bench("frontier", "true", "--parameter", "n", "1..4", code=2).stderr)
        self.assertIn("not a range", self.bench("frontier", "x {n}", "--parameter", "n", "9..4", code=2).stderr)


class Selfcheck(BenchCase):
    def test_the_machine_and_a_command(self):
        found = json.loads(self.bench("selfcheck", "--json", "--pairs", "10").stdout)
        self.assertEqual(found["pairs"], 10)
        self.assertGreater(found["noise_floor_ratio"], 0)
        self.assertGreater(found["resolves_ratio"], 0)
        text = self.bench("selfcheck", WORK + "5", "--pairs", "10").stdout
        self.assertRegex(text, r"This machine resolves [0-9.]+ % in 10 runs")
        judged = self.result("ab", WORK + "5", WORK + "5", "--units", "6", "--effect", "0.01", code=(0, 1))
        time = [one for one in judged["comparisons"] if one["metric"] == "latency_s"][0]
        self.assertEqual(time["delta_source"], "noise", time)
        newest = json.loads(self.bench("baseline", "show", "last", "--json").stdout)
        self.assertEqual(newest["run"]["id"], judged["run"]["id"])

    def test_failures(self):
        self.assertIn("failed", self.bench("selfcheck", "exit 3", code=4).stderr)
        few = self.bench("selfcheck", "true", "--pairs", "4").stdout
        self.assertIn("a floor needs 10 pairs", few)


if __name__ == "__main__":
    unittest.main()
