"""The workflow files in examples/ci: they are YAML, and every genscope command in them runs and is green or red as it
should be, with a program that is as fast, or slower, than its base."""
import pathlib
import subprocess
import unittest

import yaml

from bench_case import GENSCOPE, BenchCase

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "ci"


def github_scripts():
    steps = yaml.safe_load((EXAMPLES / "github.yml").read_text())["jobs"]["bench"]["steps"]
    for step in steps:
        assert ("uses" in step) != ("run" in step), step
    return [step["run"] for step in steps if "run" in step]


def gitlab_scripts():
    job = yaml.safe_load((EXAMPLES / "gitlab.yml").read_text())["bench"]
    return job["script"] + job.get("after_script", [])


class Examples(BenchCase):
    def program(self, folder, seconds):
        path = self.folder / folder / "generate"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\nsleep {seconds}\n")
        path.chmod(0o755)

    def run_scripts(self, scripts, slower):
        """Those that call genscope, with few runs; the worst exit code."""
        self.program("base/build", 0.01)
        self.program("build", 1 if slower else 0.01)
        env = dict(self.env, GITHUB_STEP_SUMMARY=str(self.folder / "summary.md"))
        ours = [script for script in scripts if "genscope " in script]
        self.assertTrue(ours)
        codes = []
        for script in ours:
            script = script.replace("genscope bench ab", "genscope bench ab --units 4 --warmup 0")
            done = subprocess.run(["sh", "-ec", script], cwd=self.folder, env=env, capture_output=True, text=True, timeout=300)
            self.assertIn(done.returncode, (0, 1), f"{script}\n{done.stdout}\n{done.stderr}")
            codes.append(done.returncode)
        return max(codes)

    def test_github(self):
        self.assertEqual(self.run_scripts(github_scripts(), slower=True), 1)
        self.assertIn("regressed", (self.folder / "summary.md").read_text())

    def test_gitlab(self):
        self.run_scripts(gitlab_scripts(), slower=False)

    def test_files_that_jobs_keep_are_written(self):
        self.run_scripts(gitlab_scripts(), slower=True)
        job = yaml.safe_load((EXAMPLES / "gitlab.yml").read_text())["bench"]["artifacts"]
        for name in [*job["paths"], job["reports"]["junit"]]:
            self.assertTrue((self.folder / name).exists(), name)


if __name__ == "__main__":
    unittest.main()
