"""What the tests share: a run recorded by a program, read back span by span."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

GENSCOPE = os.environ.get("GENSCOPE_BIN", "genscope")
# GPUs of the double of NVIDIA's library; not in every build.
DOUBLE = pathlib.Path(GENSCOPE).parent.parent / "nvml_double" / "580" / "libnvidia-ml.so.1"
TWO_GPUS = (pathlib.Path(__file__).resolve().parents[2] / "tests" / "nvml_double" /
            "two_gpus.scenario").read_text()


def spans_of(run, imports=False):
    """The spans of a run: dicts as `genscope report --spans -f json` writes them, in its order.
    Imports of libraries, which hooks record too, only with `imports`."""
    done = subprocess.run([GENSCOPE, "report", str(run), "--spans", "-f", "json"],
                          capture_output=True, text=True)
    assert done.returncode in (0, 7), done.stderr  # 7: nothing was recorded
    spans = [json.loads(line) for line in done.stdout.splitlines()]
    return spans if imports else [s for s in spans if not s["name"].startswith("import ")]


def inside(spans, span):
    """Everything below a span, at any depth, in the order of `spans`, where parents come first."""
    found, ids = [], {span["id"]}
    for other in spans:
        if other["parent"] in ids:
            ids.add(other["id"])
            found.append(other)
    return found


class Recorded:
    """The spans of a run, by name and by parent."""

    def __init__(self, run):
        self.run = run
        self.spans = spans_of(run)

    def named(self, name, kind=None):
        return [s for s in self.spans if s["name"] == name and kind in (None, s["kind"])]

    def one(self, name, kind=None):
        found = self.named(name, kind)
        assert len(found) == 1, f"{len(found)} spans named {name}"
        return found[0]

    def parent(self, span):
        return next((s for s in self.spans if s["id"] == span["parent"]), None)

    def children(self, span):
        return [s for s in self.spans if s["parent"] == span["id"]]

    def report(self):
        return json.loads(subprocess.run([GENSCOPE, "report", self.run, "-f", "json"], check=True,
                                         capture_output=True, text=True).stdout)


class ProgramCase(unittest.TestCase):
    """Runs small programs in a folder of their own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="genscope-python-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def python(self, text, *, expect=0, under=False, options=(), env=None, gpus="", timeout=120):
        """Runs a program; with `under`, below `genscope run` without the package in its path, and
        without GPUs but those of the scenario `gpus`."""
        program = self.write("program.py", text)
        environment = {**os.environ, "GENSCOPE_OUT": str(self.folder / "runs"), **(env or {})}
        command = [sys.executable, str(program)]
        if under:
            environment.pop("PYTHONPATH", None)
            environment.update(env or {})
            if gpus:
                if not DOUBLE.exists():
                    self.skipTest(f"the double is not built: {DOUBLE}")
                environment.update(GENSCOPE_NVML_LIBRARY=str(DOUBLE),
                                   GENSCOPE_NVML_SCENARIO=str(self.write("scenario", gpus)))
            command = [GENSCOPE, "run", "--run-dir", str(self.folder / "run"), "--live", "never",
                       *([] if gpus else ["--no-gpu"]), *options, "--", *command]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True,
                              text=True, timeout=timeout)
        if expect is not None:
            self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def recorded(self, name=None):
        """The run of the program: that of `under`, or the only one in runs/."""
        run = self.folder / "run"
        if not run.exists():
            run = next((self.folder / "runs").iterdir())
        return Recorded(str(run))
