#!/usr/bin/env python3
"""From a finding to a setting that is proved: `genscope advise --apply`, `genscope bench ab --verifies`."""
import json
import subprocess
import unittest

from support import BIN, PATIENCE, TINYDIFF, BenchCase

QUICK = ("--units", "8", "--warmup", "0")


class Settings(BenchCase):
    def setUp(self):
        super().setUp()
        self.run_folder = self.dir / "run"
        subprocess.run([BIN, "run", "--run-dir", self.run_folder, "--quiet", "--", TINYDIFF, "--size", "32", "--threads", "1",
                        "--fault", "distilled-steps", "--out", self.dir / "a.png"],
                       check=True, capture_output=True, env=self.env, cwd=self.dir, timeout=PATIENCE)

    def apply(self, *words, code=0):
        done = subprocess.run([BIN, "advise", self.run_folder, "--apply", *words], cwd=self.dir, env=self.env, text=True,
                              capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def patch(self, target="diffusers"):
        return json.loads(self.apply(target, "--json"))

    def test_the_patch_is_python_with_its_reasons(self):
        text = self.apply("diffusers")
        compile(text, "patch", "exec")
        self.assertIn("call.update(num_inference_steps=8)", text)
        self.assertIn("# 1. STEP-DISTIL: ", text)
        self.assertIn("genscope bench ab --verifies STEP-DISTIL", text)

    def test_what_was_measured_here_decides(self):
        self.assertEqual([step["rule"] for step in self.patch()["steps"]], ["STEP-DISTIL"])
        self.bench("ab", "--verifies", "STEP-DISTIL", "sleep 0.06", "sleep 0.01", *QUICK)
        measured = self.patch()["steps"][0]["measured"]
        self.assertEqual(measured["verdict"], "improved")
        self.assertLess(measured["ratio"], 0.9)
        self.bench("ab", "--verifies", "STEP-DISTIL", "sleep 0.01", "sleep 0.06", *QUICK, code=1)
        patch = self.patch()
        self.assertEqual(patch["steps"], [])
        self.assertRegex(patch["left_out"][0]["reason"], r"slower here \(\d{8}-")

    def test_a_rule_that_does_not_exist(self):
        done = self.bench("ab", "--verifies", "STEP-DISTI", "true", "true", code=2)
        self.assertIn("did you mean 'STEP-DISTIL'?", done.stderr)

    def test_nothing_for_a_program_that_has_no_such_setting(self):
        self.assertIn("Nothing to change", self.apply("comfyui"))


if __name__ == "__main__":
    unittest.main()
