"""What the tests of cells on other machines share: a suite, its plan, the gathered result."""
import contextlib
import fcntl
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

GENSCOPE = os.environ["GENSCOPE_BIN"]
ROOT = pathlib.Path(__file__).parents[2]

# Each cell says where it ran, and takes {ms} of time.
SUITE = """\
version: 1
suite: cells on machines
defaults:
  runner: {{kind: command, command: "echo {{ms}} >> {folder}/ran; sleep 0.0{{ms}}; {extra}"}}
  processes: {{min: 4, max: 4}}
  warmup: {{max_iters: 0}}
matrix:
  axes: {{ms: [10, 20, 30, 40, 50, 60]}}
"""


@contextlib.contextmanager
def the_only_ray():
    """Clusters of Ray on one machine find one another: one test has its own at a time."""
    with open(os.path.join(tempfile.gettempdir(), "genscope-ray-tests.lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class BenchCase(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="genscope-peer-")
        self.folder = pathlib.Path(self.temporary.name)
        self.env = {**os.environ, "PATH": f"{pathlib.Path(GENSCOPE).parent}:{os.environ['PATH']}"}

    def tearDown(self):
        self.temporary.cleanup()

    def suite(self, extra="true"):
        path = self.folder / "suite.yaml"
        path.write_text(SUITE.format(folder=self.folder, extra=extra))
        return path

    def genscope(self, *words, expect=0, env=None):
        done = subprocess.run([GENSCOPE, "bench", *map(str, words)], capture_output=True, text=True,
                              cwd=self.folder, env={**self.env, **(env or {})}, timeout=300)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def plan(self, extra="true"):
        self.genscope("plan", self.suite(extra), "-o", self.folder / "plan.json")
        return self.folder / "plan.json"

    def gathered(self, expect=0):
        self.genscope("gather", self.folder, "-o", self.folder / "result.json", expect=expect)
        return json.loads((self.folder / "result.json").read_text())

    def assert_every_cell_once(self, result):
        self.assertEqual([cell["params"]["ms"] for cell in result["cells"]],
                         ["10", "20", "30", "40", "50", "60"])
        for cell in result["cells"]:
            self.assertEqual(cell["status"], "ok")
            self.assertEqual(len(cell["units"]), 4, cell["id"])
