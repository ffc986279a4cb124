"""What the tests of `genscope bench` share: a folder of its own for each test, and the command."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import urllib.request

BIN = os.environ["GENSCOPE_BIN"]
TINYDIFF = os.environ["TINYDIFF"]
SERVICE = str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "python" / "image_service.py")
PATIENCE = 300


class BenchCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)
        self.env = dict(os.environ, GENSCOPE_OUT=str(self.dir / "runs"), NO_COLOR="1", COLUMNS="120")
        self.env.pop("GENSCOPE_RUN_DIR", None)

    def bench(self, *words, code=0):
        """Runs it in the test's folder; what it printed."""
        done = subprocess.run([BIN, "bench", *map(str, words)], cwd=self.dir, env=self.env, text=True,
                              capture_output=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
        self.assertIn(done.returncode, code if isinstance(code, tuple) else (code,), f"{done.stdout}\n{done.stderr}")
        return done

    def result(self, *words, code=0):
        """The same with --json: the result."""
        return json.loads(self.bench(*words, "--json", code=code).stdout)


class ServiceCase(BenchCase):
    """With examples/python/image_service.py beside it, one for all tests of the class; `url` is its address."""
    SERVICE_WORDS = ("--seconds", "0.001", "--workers", "4")

    @classmethod
    def setUpClass(cls):
        cls.service = subprocess.Popen([sys.executable, SERVICE, *cls.SERVICE_WORDS], stdout=subprocess.PIPE, text=True)
        cls.url = cls.service.stdout.readline().strip()

    @classmethod
    def tearDownClass(cls):
        cls.service.kill()
        cls.service.wait()
        cls.service.stdout.close()

    def answered(self):
        """How many requests the service has counted."""
        with urllib.request.urlopen(self.url + "/stats", timeout=PATIENCE) as answer:
            return json.load(answer)["requests"]

    def suite(self, runner, more=""):
        path = self.dir / "suite.yaml"
        path.write_text(f"suite: s\ndefaults:\n  runner:\n    kind: http\n{runner}\n"
                        f"  warmup: {{mode: none}}\n{more}")
        return path
