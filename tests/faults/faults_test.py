#!/usr/bin/env python3
"""Real runs with a fault in them: `tinydiff --fault NAME` under `genscope run`, and what
`genscope advise` says of it. The rule that a fault is for must fire, and on the clean run none may.

A machine that is busy with other things can hide a fault that is a matter of even steps, or make a
clean run look uneven: each gets five tries.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

GENSCOPE, TINYDIFF = os.environ["GENSCOPE_BIN"], os.environ["TINYDIFF"]
DOUBLE = os.environ.get("NVML_DOUBLE", "")
TRIES = 5
PATIENCE = 120
# Who else is on it is no fault of the run, nor is a step that had no CPU for a while.
OF_THE_MACHINE = {"CPU-OTHERS", "CPU-STEAL", "CPU-QUOTA", "STEP-OUTLIER", "STEP-PAUSES"}
GPU = """time real
devices 1
0 uuid = GPU-0000
0 pci = 0000:01:00.0
0 index 0
system driver = 570.86.15
system cuda 12080
* name = NVIDIA H100 80GB HBM3
* memory.total 85520809984
* memory.reserved 502267904
* memory.used 20000000000
* memory.free 65018542080
* busy.gpu 80
* samples.busy 80
* field.185 300000
* field.186 300000
* field.83 integral field.185
* field.190 700000
* clock.1 1980
* max_clock.1 1980
* temperature 45
* throttle 0
* processes.compute none
* processes.graphics none
* processes.mps none
"""


def listed():
    """{fault: the rule that should find it}"""
    text = subprocess.run([TINYDIFF, "--fault", "list"], capture_output=True, text=True,
                          check=True).stdout
    rows = [line[:36].split() for line in text.splitlines()]
    return {row[0]: row[1] if len(row) > 1 else "" for row in rows}


def advice_of(fault, env=None):
    """The rules that fire on one run with that fault."""
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        environment = dict(os.environ, **(env or {}))
        subprocess.run(
            [GENSCOPE, "run", "--run-dir", run, "--live", "never", "--",
             TINYDIFF, "--fault", fault, "--out", os.path.join(folder, "x.png")],
            env=environment, capture_output=True, timeout=PATIENCE, check=False)
        told = subprocess.run([GENSCOPE, "advise", run, "--json", "--all"], env=environment,
                              capture_output=True, timeout=PATIENCE, check=True)
        return json.loads(told.stdout)


def fired(advice):
    return {finding["rule"]: finding["evidence"] for finding in advice["findings"]}


class Faults(unittest.TestCase):
    def expect(self, rule, fault, env=None):
        for _ in range(TRIES):
            advice = advice_of(fault, env)
            if rule in fired(advice):
                return
        abstained = [a for a in advice["abstained"] if a["rule"] == rule]
        self.fail(f"{rule} did not fire on {fault}; fired: {fired(advice)}; abstained: {abstained}")

    def test_no_rule_fires_on_a_clean_run(self):
        for _ in range(TRIES):
            found = {rule: evidence for rule, evidence in fired(advice_of("none")).items()
                     if rule not in OF_THE_MACHINE}
            if not found:
                return
        self.fail(f"fired on a clean run: {found}")


class GpuFaults(Faults):
    """The same workload beside a GPU, by the double of the vendor's library, that is unwell."""

    def setUp(self):
        if not os.path.exists(DOUBLE):
            self.skipTest(f"the double is not built: {DOUBLE}")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def gpu(self, rule, *changes, env=None):
        lines = GPU
        for change in changes:
            lines += change + "\n"
        path = os.path.join(self.folder.name, "scenario")
        with open(path, "w", encoding="utf-8") as file:
            file.write(lines)
        self.expect(rule, "many-steps", {"GENSCOPE_NVML_LIBRARY": DOUBLE,
                                         "GENSCOPE_NVML_SCENARIO": path, **(env or {})})

    # Once is enough; and beside a GPU the clean run is none: DEV-CPU says so.
    test_no_rule_fires_on_a_clean_run = None

    def test_a_variable_that_serializes_it(self):
        self.gpu("TIME-BLOCKING", env={"CUDA_LAUNCH_BLOCKING": "1"})

    def test_idle(self):
        self.gpu("GPU-IDLE", "* busy.gpu 10", "* samples.busy 10")

    def test_underused(self):
        self.gpu("GPU-UNDERUSED", "* busy.gpu 60", "* samples.busy 60")

    def test_hot(self):
        self.gpu("TEMP-HIGH", "* temperature 91")

    def test_throttled_by_heat(self):
        self.gpu("THERMAL", "* throttle 64", "* clock.1 480")

    def test_at_its_power_limit(self):
        self.gpu("POWER-CAP", "* throttle 4", "* clock.1 1700")

    def test_nearly_full(self):
        self.gpu("MEM-HIGH", "* memory.used 82000000000", "* memory.free 3000000000")

    def test_mostly_unused(self):
        self.gpu("MEM-UNUSED")

    def test_beside_a_model_on_the_cpu(self):
        self.gpu("DEV-CPU")


def add_cases():
    for fault, rule in listed().items():
        if rule:
            name = "test_" + fault.replace("-", "_")
            setattr(Faults, name, lambda self, r=rule, f=fault: self.expect(r, f))
            setattr(GpuFaults, name, None)  # once is enough


if __name__ == "__main__":
    add_cases()
    unittest.main(argv=sys.argv, verbosity=2)
