"""`genscope bench load` against examples/python/image_service.py, on the loopback address."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support import BIN, PATIENCE, SERVICE, ServiceCase


class LoadTest(ServiceCase):
    SERVICE_WORDS = ("--seconds", "0.005", "--workers", "4")

    def load(self, *words, code=0):
        done = self.bench("load", *words, code=code)
        return done.stdout + done.stderr

    def figures(self, *words, code=0):
        return json.loads(self.load(*words, "--json", code=code))["load"][0]

    def test_open_loop_of_images_says_the_verdict_first(self):
        text = self.load(self.url + "/v1/images/generations", "--rate", "40", "--requests", "80", "--slo", "60s@p90")
        self.assertTrue(text.startswith("SLO met: 100% of 80 requests"), text)
        self.assertIn("from arrival", text)
        self.assertIn("late by", text)

    def test_missed_slo_exits_with_1(self):
        text = self.load(self.url + "/v1/images/generations", "--requests", "30", "--slo", "1us@p50", code=1)
        self.assertTrue(text.startswith("SLO missed"), text)

    def test_goodput_below_what_is_asked_for_exits_with_1(self):
        text = self.load(self.url + "/v1/images/generations", "--requests", "30", "--slo", "60s@p50",
                         "--min-goodput", "1e6", code=1)
        self.assertIn("Goodput is below", text)

    def test_results_are_exported_kept_and_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            junit, table = os.path.join(folder, "junit.xml"), os.path.join(folder, "out.csv")
            words = (self.url + "/v1/images/generations", "--rate", "400", "--arrivals", "gamma", "--cv", "2",
                     "--requests", "40", "--units", "4", "--slo", "60s@p50")
            self.load(*words, "--export", f"junit={junit}", "--export", f"csv={table}")
            self.assertEqual(pathlib.Path(junit).read_text().count('name="load open'), 4)
            self.assertIn("goodput_per_s", pathlib.Path(table).read_text())
        self.load(*words)
        self.load(*words, "--no-keep")
        for words, said in ((("compare", "last~1", "last"), "latency_s"), (("history",), "latency_s"),
                            (("report", "last"), "40 requests")):
            done = subprocess.run([BIN, "bench", *words], capture_output=True, text=True, timeout=PATIENCE,
                                  env=self.env)
            self.assertIn(said, done.stdout, done.stderr)

    def test_p99_of_few_is_refused(self):
        figures = self.figures(self.url + "/v1/images/generations", "--requests", "20", "--concurrency", "2")
        self.assertNotIn("p99", figures["service_only"] if "service_only" in figures else figures["service_s"])
        self.assertIn("p99 needs 662 requests, 20 were made", json.dumps(figures))

    def test_chat_has_first_token_and_time_per_token(self):
        text = self.load(self.url + "/v1/chat/completions", "--requests", "20")
        self.assertIn("first token", text)
        self.assertIn("per token", text)

    def test_comfyui_is_asked_until_done(self):
        with tempfile.TemporaryDirectory() as folder:
            workflow = pathlib.Path(folder) / "workflow.json"
            workflow.write_text('{"3": {"inputs": {"seed": {seed}, "text": "{prompt}"}}}')
            text = self.load(self.url + "/prompt", "--template", str(workflow), "--requests", "5")
        self.assertIn("5 requests answered", text)
        self.assertIn("asking again and again", text)

    def test_failures_exit_with_4_and_nobody_there_with_7(self):
        text = self.load(self.url + "/nothing", "--requests", "5", "--warmup", "0", code=4)
        self.assertIn("5 http_error", text)
        self.load("http://127.0.0.1:1/", "--requests", "5", code=7)

    def test_generators_pool(self):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for k in (1, 2):
                files.append(os.path.join(folder, f"{k}.jsonl"))
                self.load(self.url + "/v1/images/generations", "--rate", "100", "--arrivals", "constant",
                          "--requests", "61", "--generator", f"{k}/2", "--raw", files[-1])
            text = self.load("--pool", *files)
            lines = [json.loads(line) for file in files for line in pathlib.Path(file).read_text().splitlines()]
        self.assertIn("61 requests answered", text)
        self.assertIn("2 generators", text)
        self.assertEqual(sorted(line["index"] for line in lines if "index" in line), list(range(61)))

    def test_wrong_words_are_named(self):
        for words, said in (((self.url, "--slo", "20s@x"), "--slo"), ((self.url, "--generator", "3/2"), "--generator"),
                            ((self.url, "--rate", "1", "--concurrency", "2"), "--concurrency"), (("ftp://x/",), "https://"),
                            ((self.url, "--scenario", "ofline"), "offline"), ((self.url, "--rate", "1", "--arrivals", "gamma"), "--cv"),
                            ((self.url, "--min-goodput", "1"), "--slo"), ((self.url, "--export", "jsn=x"), "--export"), (("/nonexistent.yaml",), "nonexistent"),
                            (("127.0.0.1:8000",), "http://127.0.0.1:8000"), ((), "URL"), ((self.url, "--data", '{"a": {promt}}'), "{prompt}")):
            self.assertIn(said, self.load(*words, code=2))

    def test_ctrl_c_keeps_what_was_measured(self):
        run = subprocess.Popen([BIN, "bench", "load", self.url + "/v1/images/generations", "--duration", "100s"],
                               stdout=subprocess.PIPE, text=True, env=self.env)
        before = self.answered()
        end = time.monotonic() + PATIENCE
        while self.answered() < before + 10 and time.monotonic() < end:
            time.sleep(0.02)
        run.send_signal(signal.SIGINT)
        text, _ = run.communicate(timeout=PATIENCE)
        self.assertEqual(run.returncode, 130, text)
        self.assertRegex(text, r"^\d+ requests answered")

    def test_suite_with_a_server_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            suite = pathlib.Path(folder) / "suite.yaml"
            suite.write_text(f"""
version: 1
suite: pictures
defaults:
  runner:
    kind: http
    url: http://127.0.0.1:{{port}}/v1/images/generations
    command: exec {sys.executable} {SERVICE} --seconds 0.001 --port {{port}}
    ready: http://127.0.0.1:{{port}}/health
matrix:
  axes: {{size: [16x16, 32x32]}}
prompts: {{list: [a cat]}}
load: {{scenario: closed, duration: 500ms, concurrency: 2, slo: {{latency_s: 60, percentile: 50}}}}
""")
            text = self.load(str(suite))
        self.assertEqual(text.count("SLO met"), 2, text)
        self.assertIn("16x16", text)


if __name__ == "__main__":
    unittest.main()
