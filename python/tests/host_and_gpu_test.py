#!/usr/bin/env python3
"""Advice on who waits for whom, host or GPU, from real runs beside GPUs of the double."""
import json
import shutil
import subprocess
import unittest

from harness import GENSCOPE, TWO_GPUS, ProgramCase

# Steps of which the main thread spends the time as told; at the end, what it used of the time from
# the third step on by its own account.
STEPS = """
import sys, threading, time
import genscope as gs
gs.event("config", model="flux-dev")

def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass

def as_another(seconds):
    thread = threading.Thread(target=spin, args=(seconds,))
    thread.start()
    thread.join()

spend = {"busy": spin, "idle": as_another}[%r]
for i in gs.steps(range(12)):
    if i == 2:
        used, begin = time.thread_time(), time.monotonic()
    spend(0.4)
print((time.thread_time() - used) / (time.monotonic() - begin))
"""
# Three stages; the program tells where it waits for the GPU.
STAGES = """
import time
import genscope as gs
everywhere = %r

for name, waits in (("text_encode", False), ("denoise", False), ("vae_decode", True)):
    with gs.stage(name):
        time.sleep(0.3)
        if waits or everywhere:
            with gs.stage("synchronize"):
                time.sleep(0.6)
"""


class HostAndGpu(ProgramCase):
    def advice(self, *options):
        done = subprocess.run([GENSCOPE, "advise", str(self.folder / "run"), "--all", "--json",
                               *options], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def fired(self, rule, *options):
        return rule in [finding["rule"] for finding in self.advice(*options)["findings"]]

    def steps(self, how):
        """Runs STEPS; the main thread's share of the time by its own account."""
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        config = self.write("genscope.yaml", "budget: 1\n")  # no reading is left out
        done = self.python(STEPS % how, under=True, gpus=TWO_GPUS,
                           options=("--interval", "20", "--config", str(config)))
        return float(done.stdout)

    def fired_above(self, share):
        """CPU-BOUND, with `share` in place of its threshold."""
        rules = self.write("rules.yaml", f"""\
            rules:
              - id: CPU-BOUND
                condition: gpu.busy_ratio < 0.85 && host.main_thread_busy_ratio > {share} && steps.steady_p50_ns > 2 * utilisation.predicted_step_ns
            """)
        return self.fired("CPU-BOUND", "--rules", str(rules))

    def test_a_main_thread_that_is_always_busy_holds_the_gpu_up(self):
        # On a machine with other work the share of one step is not that of the next, and the two
        # accounts do not begin and end together: then once more.
        for again in (True, True, False):
            share = self.steps("busy")
            agrees = self.fired_above(share - 0.1) and not self.fired_above(share + 0.1)
            if agrees or not again:
                break
        self.assertTrue(agrees)
        if share > 0.98:  # on a machine with other work it does not get a whole core
            self.assertTrue(self.fired("CPU-BOUND"))

    def test_a_main_thread_that_waits_for_another_does_not(self):
        share = self.steps("idle")
        self.assertFalse(self.fired_above(share + 0.1))
        self.assertFalse(self.fired("CPU-BOUND"))
        lacking = {row["rule"] for row in self.advice()["abstained"]}
        self.assertNotIn("CPU-BOUND", lacking, "all its facts are known")

    def test_the_stage_that_waits_for_what_others_queued_is_found(self):
        self.python(STAGES % False, under=True, gpus=TWO_GPUS)
        self.assertTrue(self.fired("TIME-ASYNC"))

    def test_stages_that_wait_for_their_own_work_are_right(self):
        self.python(STAGES % True, under=True, gpus=TWO_GPUS)
        self.assertFalse(self.fired("TIME-ASYNC"))
        self.assertNotIn("TIME-ASYNC", {row["rule"] for row in self.advice()["abstained"]})


if __name__ == "__main__":
    unittest.main()
