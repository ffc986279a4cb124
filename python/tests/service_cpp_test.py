#!/usr/bin/env python3
"""examples/service_cpp: the bytes of its answers, load, metrics, a client that leaves, drain, and the run."""
import concurrent.futures
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from harness import GENSCOPE, Recorded

BIN = pathlib.Path(GENSCOPE).parent
SERVICE, TINYDIFF = BIN / "example_service_cpp", BIN / "tinydiff"
JSON = {"Content-Type": "application/json"}


@unittest.skipUnless(SERVICE.exists() and TINYDIFF.exists(), "the examples are not built")
class ServiceCpp(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="genscope-service-cpp-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.server = subprocess.Popen([SERVICE], stdout=subprocess.PIPE, text=True,
                                       env={**os.environ, "GENSCOPE_OUT": str(self.folder / "runs")})
        self.addCleanup(self.stop)
        self.url = self.server.stdout.readline().strip()
        self.port = int(self.url.split(":")[2].split("/")[0])

    def stop(self):
        if self.server.poll() is None:
            self.server.kill()
        self.server.wait()
        self.server.stdout.close()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def ask(self, **fields):
        connection = self.connect()
        connection.request("POST", "/generate", json.dumps({"prompt": "a red cat", "deadline": 600, **fields}), JSON)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, answer.getheader("X-Cache"), body

    def get(self, path):
        connection = self.connect()
        connection.request("GET", path)
        text = connection.getresponse().read().decode()
        connection.close()
        return text

    def stats_until(self, ready):
        end = time.monotonic() + 120
        while not ready(stats := json.loads(self.get("/stats"))):
            self.assertLess(time.monotonic(), end, stats)
            time.sleep(0.01)

    def alone(self, seed, arch="mmdit"):
        out = self.folder / f"{arch}-{seed}.png"
        subprocess.run([TINYDIFF, "--arch", arch, "--size", "32", "--steps", "4", "--prompt", "a red cat", "--seed",
                        str(seed), "--out", out], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "GENSCOPE_DISABLE": "1"})
        return out.read_bytes()

    def test_a_day_of_a_service(self):
        self.assertEqual(self.ask(seed=1), (200, "miss", self.alone(1)))
        self.assertEqual(self.ask(seed=1), (200, "hit", self.alone(1)))
        self.assertEqual(self.ask(seed=1, model="unet"), (200, "miss", self.alone(1, "unet")))
        status, _, why = self.ask(steps=0)
        self.assertEqual((status, why), (422, b"steps: it is 0; give 1 to 500\n"))

        with concurrent.futures.ThreadPoolExecutor(8) as pool:  # in batches, where that is faster
            many = list(pool.map(lambda seed: self.ask(seed=seed), range(10, 22)))
        self.assertEqual({status for status, *_ in many}, {200})
        for i in (0, 7, 11):
            self.assertEqual(many[i][2], self.alone(10 + i))

        loaded = subprocess.run(
            [GENSCOPE, "bench", "load", self.url, "--endpoint", "json", "--requests", "24", "--concurrency", "6", "--data",
             '{"prompt": "x", "seed": {seed}, "priority": "bulk", "tenant": "load", "deadline": 600}', "--no-keep", "--json"],
            capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(loaded.returncode, 0, loaded.stdout + loaded.stderr)

        leaves = self.connect()
        leaves.request("POST", "/generate", json.dumps({"prompt": "x", "steps": 500, "deadline": 600}), JSON)
        self.stats_until(lambda stats: stats["admission"]["running"] == 1)
        leaves.close()
        self.stats_until(lambda stats: stats["abandoned"] == 1 and stats["admission"]["running"] == 0)

        metrics = self.get("/metrics")
        bulk = 'name="service/admission",class="bulk",tenant="load"'
        self.assertIn(f'genscope_admission_queue_seconds_bucket{{{bulk},le="+Inf"}} 2', metrics)
        self.assertIn('genscope_batcher_queue_seconds_count{name="service/batcher",key="mmdit steps=4"}', metrics)
        self.assertIn("genscope_service_abandoned_total", metrics)

        with concurrent.futures.ThreadPoolExecutor(1) as pool:  # what runs ends
            last = pool.submit(self.ask, seed=99, steps=100)
            self.stats_until(lambda stats: stats["admission"]["running"] == 1)
            self.server.send_signal(signal.SIGTERM)
            self.assertEqual(last.result()[:2], (200, "miss"))
        self.assertEqual(self.server.wait(60), 0)

        (run,) = (self.folder / "runs").iterdir()
        recorded = Recorded(run)
        requests = recorded.named("/generate", "request")
        self.assertGreater(len(requests), 35)
        below = [{child["name"] for child in recorded.children(request)} for request in requests]
        self.assertIn({"queue", "load", "batch", "run"}, below)
        self.assertTrue(recorded.named("load_model", "load"))
        self.assertTrue(recorded.named("denoiser_forward"))


if __name__ == "__main__":
    unittest.main()
