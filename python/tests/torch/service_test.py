#!/usr/bin/env python3
"""examples/service under uvicorn: answers, overload, metrics, a client that leaves, drain, and the run."""
import concurrent.futures
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import httpx

from harness import spans_of

SERVICE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "service"
PNG = b"\x89PNG"


def free_port():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


class Service(unittest.TestCase):
    def setUp(self):
        self.out = tempfile.mkdtemp(prefix="genscope-service-")
        self.addCleanup(shutil.rmtree, self.out, ignore_errors=True)
        port = free_port()
        self.log = open(os.path.join(self.out, "log"), "w+")
        self.addCleanup(self.log.close)
        self.server = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "app:app", "--port", str(port), "--log-level", "warning"],
            cwd=SERVICE, stdout=self.log, stderr=subprocess.STDOUT,
            env={**os.environ, "GENSCOPE_OUT": os.path.join(self.out, "runs"), "SLO": "30"})
        self.addCleanup(self.stop)
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=120)
        self.addCleanup(self.client.close)
        while True:
            try:
                self.client.get("/stats")
                break
            except httpx.TransportError:
                self.assertIsNone(self.server.poll(), self.printed())
                time.sleep(0.1)

    def stop(self):
        if self.server.poll() is None:
            self.server.kill()
            self.server.wait()

    def printed(self):
        self.log.flush()
        self.log.seek(0)
        return self.log.read()

    def ask(self, **more):
        return self.client.post("/generate", json={"prompt": "a red cat", **more})

    def test_a_day_of_a_service(self):
        first = self.ask(seed=1)
        self.assertEqual((first.status_code, first.content[:4]), (200, PNG), first.text[:300])
        again = self.ask(seed=1)
        self.assertEqual(again.content, first.content)
        self.assertEqual(self.client.get("/stats").json()["cache"]["hits"], 1)
        night = self.ask(seed=1, model="night")  # swapped in
        self.assertEqual(night.status_code, 200)
        self.assertNotEqual(night.content, first.content)
        self.assertEqual(self.ask(steps=0).status_code, 422)

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            many = list(pool.map(lambda i: self.ask(seed=100 + i, priority=("interactive", "bulk")[i % 2]),
                                 range(16)))
            self.assertEqual({answer.status_code for answer in many}, {200})
            self.assertEqual(len({answer.content for answer in many}), 16)
            # More than can be made in time: some are refused at once, and told when to come again.
            late = list(pool.map(lambda i: self.ask(seed=200 + i, steps=50, deadline=0.001), range(16)))
        refused = [answer for answer in late if answer.status_code == 503]
        self.assertTrue(refused)
        self.assertTrue(all(int(answer.headers["Retry-After"]) >= 1 for answer in refused))

        with self.assertRaises(httpx.ReadTimeout):  # a client that leaves
            self.client.post("/generate", json={"prompt": "x", "steps": 50, "seed": 9, "deadline": 600},
                             timeout=0.05)
        while self.client.get("/stats").json()["requests"]["errors"].get("client_disconnect") != 1:
            time.sleep(0.05)

        metrics = self.client.get("/metrics").text
        self.assertIn("genscope_requests_finished_total", metrics)
        self.assertIn("genscope_admission_admitted_total", metrics)

        self.server.send_signal(signal.SIGTERM)
        self.assertIn(self.server.wait(60), (0, -signal.SIGTERM))  # drained, then as the signal asked
        (run,) = os.listdir(os.path.join(self.out, "runs"))
        spans = spans_of(os.path.join(self.out, "runs", run))
        names = {(span["kind"], span["name"]) for span in spans}
        self.assertIn(("request", "/generate"), names, names)
        requests = [span for span in spans if span["name"] == "/generate"]
        self.assertEqual(len(requests), 4 + 16 + 16 + 1)
        kinds = {span["kind"] for span in spans}
        self.assertIn("load", kinds)
        self.assertLessEqual({"lane_queue", "lane_run"}, {span["name"] for span in spans})
        self.assertNotIn("Traceback", self.printed())


if __name__ == "__main__":
    unittest.main()
