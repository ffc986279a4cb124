"""The example for Ray Serve: two replicas of this machine that share pictures through a real Redis."""
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
import urllib.parse
import urllib.request

from bench_case import ROOT, the_only_ray

PATIENCE = 240


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(ready, what):
    end = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > end:
            raise AssertionError(f"no {what} after {PATIENCE} s")
        time.sleep(0.2)


def accepts(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@unittest.skipUnless(shutil.which("redis-server"), "redis-server is not installed: tools/setup peer")
class RayServe(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="genscope-serve-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.enterContext(the_only_ray())
        self.redis_port, self.http_port = free_port(), free_port()
        self.redis = subprocess.Popen(["redis-server", "--port", str(self.redis_port), "--bind", "127.0.0.1", "--save", "",
                                       "--dir", str(self.folder)], stdout=subprocess.DEVNULL)
        self.addCleanup(self.redis.wait)
        self.addCleanup(self.redis.kill)
        wait_for(lambda: accepts(self.redis_port), "Redis")
        # Serve looks for fastapi's folder of a user's session in RAY_TMPDIR; a short one, for its sockets.
        start = (f"import ray; ray.init(num_cpus=2, include_dashboard=False, _temp_dir={str(self.folder / 'r')!r}, "
                 "logging_level='ERROR'); from ray import serve; "
                 f"serve.start(http_options=dict(host='127.0.0.1', port={self.http_port})); "
                 "import ray_serve; serve.run(ray_serve.app); print('ready', flush=True); import sys; sys.stdin.read()")
        env = {**os.environ, "REDIS_URL": f"redis://127.0.0.1:{self.redis_port}", "RAY_USAGE_STATS_ENABLED": "0",
               "RAY_AUTH_MODE": "disabled", "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",  # 5 s are few beside other tests
               "TINYDIFF": str(ROOT / "build/dev/bin/tinydiff"), "GENSCOPE_DISABLE": "1",
               "PYTHONPATH": f"{ROOT / 'build/dev/python'}:{ROOT / 'examples/service'}"}
        self.serve = subprocess.Popen([sys.executable, "-c", start], env=env, cwd=self.folder, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.stop)
        for line in self.serve.stdout:
            if line.strip() == "ready":
                return
        self.fail("Ray Serve did not start")

    def stop(self):
        self.serve.stdin.close()
        self.serve.wait(60)
        self.serve.stdout.close()

    def ask(self, prompt):
        """(picture, replica, pictures that this replica has made)"""
        words = urllib.parse.urlencode({"prompt": prompt})
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/?{words}", timeout=60) as answer:
            return answer.read(), answer.headers["X-Replica"], int(answer.headers["X-Made"])

    def ask_until_both_answered(self, prompt):
        pictures, loads = set(), {}
        for _ in range(200):
            picture, replica, made = self.ask(prompt)
            pictures.add(picture)
            loads[replica] = made
            if len(loads) == 2:
                break
        self.assertEqual(len(loads), 2, "one replica never answered")
        return pictures, loads

    def test_a_picture_is_made_once_for_both_and_redis_may_die(self):
        pictures, loads = self.ask_until_both_answered("a red fox")
        self.assertEqual(len(pictures), 1)
        self.assertTrue(next(iter(pictures)).startswith(b"\x89PNG"))
        self.assertEqual(sorted(loads.values()), [0, 1], "the second replica had to make it again")
        self.redis.send_signal(signal.SIGKILL)
        self.redis.wait()
        pictures, _ = self.ask_until_both_answered("a blue bird")
        self.assertEqual(len(pictures), 1)  # made by each, the same bytes
        self.assertEqual(self.ask("a red fox")[0][:4], b"\x89PNG")


if __name__ == "__main__":
    unittest.main()
