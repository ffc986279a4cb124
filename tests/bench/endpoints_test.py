#!/usr/bin/env python3
"""`genscope bench run` of endpoints: http, warm_server, quality, load; and what it writes: --export, --ci."""
import json
import signal
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree as ElementTree

from support import BIN, PATIENCE, SERVICE, TINYDIFF, ServiceCase

STARTED = f"""
    command: "echo started >> servers; exec {sys.executable} {SERVICE} --seconds 0.001 --port {{port}}"
    url: "http://127.0.0.1:{{port}}/v1/images/generations"
    ready: "http://127.0.0.1:{{port}}/health"
"""


class Endpoints(ServiceCase):
    def folder(self):
        return max(p for p in (self.dir / "genscope-bench").iterdir() if p.is_dir())

    def test_an_endpoint_is_asked_once_an_iteration(self):
        before = self.answered()
        suite = self.suite(f"    url: {self.url}/v1/images/generations",
                           "  processes: 2\n  iterations: 3\nmatrix: {axes: {steps: [1, 2]}}\nprompts: {list: [a cat]}\n")
        result = self.result("run", suite)
        self.assertEqual(self.answered() - before, 2 * 2 * 3)
        sample = result["cells"][0]["units"][0]["samples"][0]
        self.assertIn("ttfb_s", sample)
        self.assertEqual(sample["prompt"], "a cat")

    def test_a_warm_server_is_started_once_a_cell(self):
        more = "  processes: 3\nmatrix: {axes: {steps: [1, 2]}}\nprompts: {list: [a cat]}\n"
        self.bench("run", self.suite(STARTED + "    warm_server: true\n", more))
        self.assertEqual(len((self.dir / "servers").read_text().splitlines()), 2)
        (self.dir / "servers").unlink()
        self.bench("run", self.suite(STARTED, more))
        self.assertEqual(len((self.dir / "servers").read_text().splitlines()), 6)

    def test_quality_against_an_earlier_result(self):
        more = "  processes: 2\nprompts: {list: [a cat], seeds: [%d]}\nquality: {reference: %s}\n"
        suite = self.suite(f"    url: {self.url}/v1/images/generations", more % (1, "nobody"))
        self.bench("run", suite, "--out", "before", code=6)
        base = next((self.dir / "before").glob("s-*/result.json"))
        result = self.result("run", self.suite(f"    url: {self.url}/v1/images/generations", more % (1, base)))
        self.assertEqual(result["quality"]["verdict"], "same_bytes")

    def test_a_recorder_must_record(self):
        path = self.dir / "suite.yaml"
        text = ("suite: s\ndefaults:\n  runner: {kind: recorder, command: %s}\n  processes: 1\n"
                "  warmup: {mode: none}\n")
        path.write_text(text % json.dumps([TINYDIFF, "--steps", "2", "--size", "32"]))
        result = self.result("run", path)
        self.assertIn("denoise", result["cells"][0]["units"][0]["samples"][0]["stages"])

    def test_exports_and_ci_files(self):
        suite = self.suite(f"    url: {self.url}/v1/images/generations",
                           "  processes: 2\nprompts: {list: [a cat]}\ntargets: [{metric: latency_s, max: 60s}]\n")
        self.env.update(GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(self.dir / "summary.md"))
        formats = ("json", "md", "csv", "junit", "gha", "gha-bigger", "bmf", "html")
        words = [word for f in formats for word in ("--export", f"{f}={self.dir / ('out.' + f)}")]
        self.bench("run", suite, "--ci", "auto", *words)
        exported = json.loads((self.dir / "out.json").read_text())
        self.assertEqual(exported["cells"], json.loads((self.folder() / "result.json").read_text())["cells"])
        tests = ElementTree.parse(self.dir / "out.junit").getroot().iter("testcase")
        self.assertIn("target latency_s median", [case.get("name") for case in tests])
        self.assertTrue(any(row["name"].endswith("latency_s") for row in json.loads((self.dir / "out.gha").read_text())))
        for name in ("genscope-summary.md", "genscope-junit.xml", "genscope-bmf.json"):
            self.assertTrue((self.folder() / name).exists(), name)
        self.assertIn("latency\\_s", (self.dir / "summary.md").read_text())
        self.assertTrue((self.dir / "out.html").read_text().startswith("<!doctype html"))
        self.bench("run", suite, "--export", "jsn=x", code=2)

    LOAD = ("  processes: 2\nmatrix: {axes: {steps: [1, 2]}}\nprompts: {list: [a cat]}\n"
            "load: {arrivals: {kind: gamma, rate: 400, cv: 2}, requests: 40, slo: {latency_s: 60s, percentile: 50}, "
            "min_goodput: 0.1}\ntargets: [{metric: latency_s, stat: p50, max: 60s}, {metric: goodput_per_s, min: 0.1}]\n")

    def test_a_load_is_a_unit(self):
        suite = self.suite(STARTED, self.LOAD)
        text = self.bench("run", suite, "--dry-run").stdout
        self.assertIn("A unit is a load: gamma arrivals (cv 2), 400/s, 40 requests; 50.0% within 60.0 s", text)
        self.assertRegex(text, "About .* as the section load says")
        result = self.result("run", suite, "--export", f"junit={self.dir / 'junit.xml'}")
        self.assertEqual([(load["cell"], load["unit"], load["requests"]) for load in result["load"]],
                         [(f"steps={n}", unit, 40) for n in (1, 2) for unit in (0, 1)])
        sample = result["cells"][0]["units"][0]["samples"][0]
        for metric in ("latency_s", "latency_p50_s", "goodput_per_s", "failed_ratio", "slo_attainment_ratio"):
            self.assertIn(metric, sample)
        self.assertNotIn("latency_p99_s", sample)
        self.assertEqual([target["met"] for target in result["targets"]], [True] * 4)
        names = [case.get("name") for case in ElementTree.parse(self.dir / "junit.xml").getroot().iter("testcase")]
        self.assertIn("load open", names)
        self.assertIn("goodput_per_s", self.bench("history", "goodput_per_s").stdout)

    def test_limits_of_a_load_decide_the_exit_code(self):
        missed = self.LOAD.replace("60s, percentile", "1us, percentile").replace(", min_goodput: 0.1", "")
        missed = missed[:missed.index("targets")].replace("processes: 2", "processes: 1")
        self.bench("run", self.suite(f"    url: {self.url}/v1/images/generations", missed), code=1)
        self.bench("run", self.suite(f"    url: {self.url}/nothing", missed), code=(4, 7))

    def test_a_killed_load_goes_on(self):
        slow = self.LOAD.replace("processes: 2", "processes: 1").replace("rate: 400", "rate: 60")
        suite = self.suite(f"    url: {self.url}/v1/images/generations", slow)
        process = subprocess.Popen([BIN, "bench", "run", str(suite)], cwd=self.dir, env=self.env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE

        def units():
            journals = list((self.dir / "genscope-bench").glob("*/journal.jsonl"))
            return journals[0].read_text().count('"kind":"unit"') if journals else 0

        while units() == 0:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = (self.folder() / "journal.jsonl").read_text()
        result = self.result("run", suite, "--resume", self.folder())
        self.assertTrue((self.folder() / "journal.jsonl").read_text().startswith(before))
        self.assertEqual([load["cell"] for load in result["load"]], ["steps=1", "steps=2"])
        self.assertEqual([len(cell["units"]) for cell in result["cells"]], [1, 1])

    def test_mistakes_of_a_load_have_their_line(self):
        suite = self.suite(f"    url: {self.url}/", "load: {scenario: server}\n")
        self.assertIn("suite.yaml:7: load.arrivals.rate: missing", self.bench("run", suite, code=2).stderr)
        suite = self.suite(f"    url: {self.url}/", "load: {scenario: multi_steam, arrivals: {kind: gama, rate: 1}}\n")
        errors = self.bench("run", suite, code=2).stderr
        self.assertIn("multi_stream", errors)
        self.assertIn("gamma", errors)


if __name__ == "__main__":
    unittest.main()
