"""What the tests of the Inferix calls share: a folder, and GPUs of the double."""
import contextlib
import io
import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from genscope.compat.inferix import (InferixProfiler, ProfilingConfig)
from harness import DOUBLE, TWO_GPUS, GENSCOPE as BIN

SCENARIO = TWO_GPUS + """* memory.total 85899345920
* memory.reserved 0
* memory.used 21474836480
* memory.free 64424509440
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.dir = pathlib.Path(self.folder.name)
        out = contextlib.redirect_stdout(io.StringIO())
        self.out = out.__enter__()
        self.addCleanup(out.__exit__, None, None, None)
        self.environment(GENSCOPE_NVML_LIBRARY="/nothing.so")

    def environment(self, **values):
        patch = mock.patch.dict(os.environ, values)
        patch.start()
        self.addCleanup(patch.stop)

    def with_gpus(self):
        if not DOUBLE.exists():
            self.skipTest(f"the double is not built: {DOUBLE}")
        (self.dir / "scenario").write_text(SCENARIO)
        self.environment(GENSCOPE_NVML_LIBRARY=str(DOUBLE),
                         GENSCOPE_NVML_SCENARIO=str(self.dir / "scenario"))

    def profiler(self, **changes):
        given = {"enabled": True, "real_time_display": False, "report_format": "json",
                 "output_dir": str(self.dir / "reports"), **changes}
        return InferixProfiler(ProfilingConfig(**given))

    def report(self, profiler):
        (path,) = [path for path in profiler.report_paths if "/profiling_report_" in path
                   and path.endswith(".json")]
        return json.loads(pathlib.Path(path).read_text())
