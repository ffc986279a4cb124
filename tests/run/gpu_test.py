#!/usr/bin/env python3
"""GPUs through the whole command: the double of the vendor's library, loaded by the child process
that `genscope run`, `top` and `doctor` start for it."""
import json
import os
import pathlib
import subprocess
import unittest

from support import BIN, PATIENCE, RunCase

DOUBLE = os.environ.get("NVML_DOUBLE", "")
HEALTHY = (pathlib.Path(__file__).resolve().parents[1] / "nvml_double" /
           "two_gpus.scenario").read_text()


class Gpus(RunCase):
    def setUp(self):
        super().setUp()
        if not os.path.exists(DOUBLE):
            self.skipTest(f"the double is not built: {DOUBLE}")
        self.scenario(HEALTHY)
        self.env["GENSCOPE_NVML_LIBRARY"] = DOUBLE
        self.env["GENSCOPE_NVML_SCENARIO"] = str(self.dir / "scenario")

    def scenario(self, text):
        (self.dir / "scenario").write_text(text)

    def report(self, *words):
        path = self.dir / "report.json"
        done = self.run_it(*words, options=("--json", str(path)))
        return done, json.loads(path.read_text())

    def test_their_figures_are_in_the_report_and_in_the_summary(self):
        done, report = self.report("sleep", "3")
        self.assertEqual(done.returncode, 0)
        self.assertEqual([gpu["id"] for gpu in report["gpus"]], ["GPU-0000", "GPU-0001"])
        gpu = report["gpus"][0]
        self.assertEqual(gpu["memory_total_bytes"], 85520809984)
        self.assertEqual(gpu["memory_peak_bytes"], 20000000000)
        self.assertAlmostEqual(gpu["busy_mean_ratio"], 0.5)
        self.assertAlmostEqual(gpu["power_mean_watts"], 300)
        self.assertEqual(gpu["energy"]["method"], "counter")
        covered = gpu["energy"]["covered_seconds"]
        self.assertGreater(covered, 0)
        self.assertAlmostEqual(gpu["energy_joules"] / covered, 300, delta=60)
        self.assertEqual(gpu["throttle_reasons"], 4)
        self.assertIn(b"NVIDIA H100 80GB HBM3", done.stderr)
        self.assertIn(b"power cap", b" ".join(done.stderr.split()))

    def test_a_library_that_crashes_takes_only_its_gpus_along(self):
        self.scenario(HEALTHY + "* temperature# 0:0 1:1\n")  # a segmentation fault at second 1
        done, report = self.report("sh", "-c", "sleep 4; echo fine; exit 3")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stdout, b"fine\n")
        self.assertNotIn(b"egmentation", done.stderr)
        names = [event["name"] for event in report["telemetry_events"]]
        self.assertIn("probe_died", names)
        self.assertEqual(report["gpus"][0]["memory_peak_bytes"], 20000000000)
        self.assertIsNotNone(report["process"]["cpu_ns"])

    def test_a_driver_that_is_not_loaded_is_said_and_nothing_else(self):
        self.scenario(HEALTHY + "system init! 9\n")
        done, report = self.report("true")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(report["gpus"], [])
        self.assertIn("gpus", report["absent"])

    def test_top_prints_them_as_json(self):
        done = subprocess.run([BIN, "top", "--once", "--json"], env=self.env, timeout=PATIENCE,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0)
        top = json.loads(done.stdout)
        self.assertEqual(len(top["gpus"]), 2)
        self.assertEqual(top["gpus"][1]["memory_used_bytes"], 20000000000)
        self.assertIn("memory_available_bytes", top["system"])

    def test_doctor_says_that_the_probe_works(self):
        done = subprocess.run([BIN, "doctor", "--json"], env=self.env, timeout=PATIENCE,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0)
        states = {probe["name"]: probe["state"] for probe in json.loads(done.stdout)["probes"]}
        self.assertEqual(states["nvml"], "works")
        self.assertEqual(states["process"], "works")


if __name__ == "__main__":
    unittest.main()
