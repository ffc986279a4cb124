"""Cells of a suite by the examples for Ray and Dask, on clusters of this machine."""
import pathlib
import re
import subprocess
import sys
import time
import unittest

from bench_case import ROOT, BenchCase, the_only_ray


class Engines(BenchCase):
    def run_example(self, name, *words):
        done = subprocess.run([sys.executable, str(ROOT / "examples/machines" / name), *map(str, words)],
                              capture_output=True, text=True, env=self.env, timeout=240)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("[0, 0, 0, 0, 0, 0]", done.stdout)

    def test_dask(self):
        plan = self.plan()
        scheduler = subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_scheduler", "--host",
                                      "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file",
                                      str(self.folder / "scheduler.json")], env=self.env,
                                     stderr=subprocess.DEVNULL)
        worker = None
        try:
            file = self.folder / "scheduler.json"
            end = time.monotonic() + 180  # Python imports a lot here
            while not file.exists() or not file.read_text().strip().endswith("}"):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.1)
            address = re.search(r'"address": "([^"]+)"', file.read_text())[1]
            worker = subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_worker", address,
                                       "--host", "127.0.0.1", "--nworkers", "2", "--nthreads", "1",
                                       "--no-dashboard"], env=self.env, cwd=self.folder,
                                      stderr=subprocess.DEVNULL)
            self.run_example("dask_cells.py", address, plan)
        finally:
            for process in (worker, scheduler):
                if process is not None:
                    process.terminate()
                    process.wait(30)
        self.assert_every_cell_once(self.gathered())

    def test_ray(self):
        with the_only_ray():
            self.run_on_ray()

    def run_on_ray(self):
        self.env["RAY_AUTH_MODE"] = "disabled"  # the token would be in the home folder, shared by all clusters
        plan = self.plan()
        ray = str(pathlib.Path(sys.executable).parent / "ray")
        head = subprocess.Popen([ray, "start", "--head", "--port=0", "--node-ip-address=127.0.0.1",
                                 "--include-dashboard=false", "--num-cpus=2", "--disable-usage-stats",
                                 f"--temp-dir={self.folder}/ray", "--block"], env=self.env,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            address = None
            for line in head.stdout:
                found = re.search(r"--address='([^']+)'", line)
                if found:
                    address = found[1]
                    break
            self.assertIsNotNone(address)
            self.env["RAY_ADDRESS"] = address
            self.run_example("ray_cells.py", plan)
        finally:
            head.terminate()
            try:
                head.wait(30)
            except subprocess.TimeoutExpired:
                head.kill()
                head.wait()
        self.assert_every_cell_once(self.gathered())


if __name__ == "__main__":
    unittest.main()
