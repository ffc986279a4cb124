"""What the tests of `genscope run` share."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BIN = os.environ.get("GENSCOPE_BIN", "")
TINYDIFF = os.environ.get("TINYDIFF", "")
BURST = os.environ.get("BURST", "")  # tests/integration/helpers
PYTHON = os.path.realpath(sys.executable)
PATIENCE = 120  # seconds that a loaded machine may take for anything


def wait_until(condition, what):
    """Waits for a condition; what did not happen is the failure's message."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"in {PATIENCE} s there was no {what}")


class RunCase(unittest.TestCase):
    """A folder of its own per test; runs go into its `out`."""

    def setUp(self):
        if not BIN:
            self.fail("GENSCOPE_BIN is not set")
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="genscope-run-test-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.out = self.dir / "out"
        self.env = dict(os.environ, GENSCOPE_OUT=str(self.out), LC_ALL="C.UTF-8")
        for name in ("GENSCOPE_RUN_DIR", "NO_COLOR", "GENSCOPE_PROC_ROOT", "GENSCOPE_SYS_ROOT"):
            self.env.pop(name, None)

    def run_it(self, *words, options=(), **more):
        """`genscope run OPTIONS -- WORDS` to its end, output captured."""
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("env", self.env)
        return subprocess.run([BIN, "run", *options, "--", *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=PATIENCE, **more)

    def start(self, *words, options=(), **more):
        process = subprocess.Popen([BIN, "run", *options, "--", *words], env=self.env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **more)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def runs(self):
        return sorted(self.out.iterdir()) if self.out.is_dir() else []

    def manifest(self):
        """run.json of the only run."""
        runs = self.runs()
        self.assertEqual(len(runs), 1, runs)
        return json.loads((runs[0] / "run.json").read_text())
