"""Device time through a torch that is none and a driver that is a double: what the script of the
double says is what the spans have."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

from harness import spans_of

GENSCOPE = os.environ["GENSCOPE_BIN"]
FOLDER = pathlib.Path(GENSCOPE).resolve().parent.parent / "driver_double"
MS = 1_000_000

# A torch with the few functions that are used; CUDA is the double.
FAKE_TORCH = {
    "__init__.py": """
        from . import _C, version, cuda, compiler
    """,
    "version.py": "hip = None\ncuda = '12.8'\n",
    "compiler.py": "flag = False\ndef is_compiling(): return flag\n",
    "_C.py": """
        device, streams = 0, {0: 0, 1: 0}
        def _cuda_getDevice(): return device
        def _cuda_getCurrentRawStream(index): return streams[index]
    """,
    "cuda.py": """
        import ctypes, os
        _queued, _initialized = [], False
        double = None
        def _lazy_call(call):
            call() if _initialized else _queued.append(call)
        def init():
            global _initialized, double
            double = ctypes.CDLL(os.environ["GENSCOPE_CUDA_LIBRARY"])
            double.double_set_context(ctypes.c_uint64(1))
            for call in _queued: call()
            _initialized = True
        def launch(milliseconds, stream=0):
            double.double_launch(ctypes.c_uint64(stream), ctypes.c_int64(milliseconds * 1000000))
        reads = 0
        allocated = 100
        def memory_stats_as_nested_dict(device):
            global reads
            reads += 1
            return {"allocated_bytes": {"all": {"current": allocated, "peak": allocated + 50}},
                    "reserved_bytes": {"all": {"current": 4096}}, "num_ooms": 2}
    """,
}


class DeviceTime(unittest.TestCase):
    def setUp(self) -> None:
        if not (FOLDER / "libcuda.so.1").exists():
            self.skipTest(f"the double of the driver is not built: {FOLDER}")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.place = pathlib.Path(self.folder.name)
        (self.place / "torch").mkdir()
        for name, text in FAKE_TORCH.items():
            (self.place / "torch" / name).write_text(textwrap.dedent(text))

    def run_program(self, program: str, **environment: str) -> str:
        """Runs it in a session of its own; its output."""
        text = textwrap.dedent(program)
        path = os.pathsep.join([str(self.place), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
        done = subprocess.run(
            [sys.executable, "-c", "import genscope as gs, os, json\n" + text],
            env={**os.environ, "PYTHONPATH": path, "RUN": str(self.place / "run"),
                 "GENSCOPE_CUDA_LIBRARY": str(FOLDER / "libcuda.so.1"),
                 "GENSCOPE_HIP_LIBRARY": str(FOLDER / "libamdhip64.so"), **environment},
            capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def spans(self) -> "dict[str, dict]":
        return {span["name"] if span["kind"] != "step" else f"step {span['args']['index']}": span
                for span in spans_of(self.place / "run")}

    def report(self) -> dict:
        return json.loads(subprocess.run(
            [GENSCOPE, "report", str(self.place / "run"), "-f", "json"],
            capture_output=True, text=True, check=True).stdout)

    def test_spans_have_what_the_script_launched(self) -> None:
        self.run_program("""
            with gs.session("fake", run_dir=os.environ["RUN"]):
                import torch
                with gs.stage("before"):
                    pass
                torch.cuda.init()
                with gs.stage("text_encode"):
                    torch.cuda.launch(3)
                with gs.stage("denoise"):
                    for i in range(3):
                        with gs.step(i), gs.span("not timed", "function"):
                            torch.cuda.launch(10 + i)
                id = gs.begin("vae_decode")
                torch.cuda.launch(7)
                gs.end(id)
                gs.wrap(lambda: torch.cuda.launch(2), "unet")()
                assert torch.cuda.double.double_mistakes() == 0
                assert torch.cuda.double.double_synchronizes() == 0
        """)
        device = {name: span["device_ns"] for name, span in self.spans().items()}
        self.assertEqual(device, {
            "fake": None, "before": None, "text_encode": 3 * MS, "denoise": 33 * MS,
            "step 0": 10 * MS, "step 1": 11 * MS, "step 2": 12 * MS, "not timed": None,
            "vae_decode": 7 * MS, "unet": 2 * MS})

    def test_a_run_without_a_session_and_an_init_before_the_import(self) -> None:
        program = textwrap.dedent("""
            import torch; torch.cuda.init()
            import genscope as gs
            with gs.stage("a"): torch.cuda.launch(4)
        """)
        path = os.pathsep.join([str(self.place), os.environ.get("PYTHONPATH", "")])
        subprocess.run([GENSCOPE, "run", "--live", "never", "--no-gpu", "--run-dir",
                        str(self.place / "run"), "--", sys.executable, "-c", program],
                       env={**os.environ, "PYTHONPATH": path,
                            "GENSCOPE_CUDA_LIBRARY": str(FOLDER / "libcuda.so.1")},
                       check=True, capture_output=True, timeout=120)
        self.assertEqual(self.spans()["a"]["device_ns"], 4 * MS)

    def test_not_while_compiling_nor_capturing_nor_when_switched_off(self) -> None:
        program = """
            import torch, ctypes
            with gs.session("fake", run_dir=os.environ["RUN"]):
                torch.cuda.init()
                torch.compiler.flag = True
                with gs.stage("compiling"): torch.cuda.launch(1)
                torch.compiler.flag = False
                torch.cuda.double.double_set_capturing(ctypes.c_uint64(0), 1)
                with gs.stage("capturing"): torch.cuda.launch(1)
                torch.cuda.double.double_set_capturing(ctypes.c_uint64(0), 0)
                with gs.stage("again"): torch.cuda.launch(1)
                assert torch.cuda.double.double_mistakes() == 0
            print(json.dumps(gs._core.device_timing_stats()))
        """
        stats = json.loads(self.run_program(program))
        self.assertEqual((stats["resolved"], stats["capturing"]), (1, 1))
        device = {name: span["device_ns"] for name, span in self.spans().items()}
        self.assertEqual(device, {"fake": None, "compiling": None, "capturing": None, "again": MS})
        self.setUp()
        self.assertEqual(self.run_program(program, GENSCOPE_DEVICE_TIME="0").strip(), "null")
        self.assertEqual({span["device_ns"] for span in self.spans().values()}, {None})

    def test_allocator_figures_at_stage_ends_only(self) -> None:
        reads = self.run_program("""
            import torch
            with gs.session("fake", run_dir=os.environ["RUN"]):
                torch.cuda.init()
                for name in ("a", "b"):
                    with gs.stage(name):
                        for i in range(5):
                            with gs.step(i): torch.cuda.launch(1)
                    torch.cuda.allocated += 1000
                gs.end(gs.begin("hand", "step"))
            print(torch.cuda.reads)
        """)
        self.assertEqual(int(reads), 2)
        report = self.report()
        self.assertEqual([row["device"] if "device" in row else row["id"]
                          for row in report["allocators"]], ["cuda:0"])
        peak = next(row for row in report["counters"]
                    if row["name"] == "torch_allocated_peak_bytes.cuda:0")
        self.assertEqual((peak["count"], peak["last"]), (2, 1150))

    def test_errors_of_the_program_and_of_the_driver_pass(self) -> None:
        out = self.run_program("""
            import torch, ctypes
            with gs.session("fake", run_dir=os.environ["RUN"]):
                torch.cuda.init()
                def fail(): raise KeyError("mine")
                try:
                    gs.wrap(fail, "unet")()
                except KeyError as error:
                    print("caught", error)
                torch.cuda.double.double_fail(b"event_record", 719, 1)
                with gs.stage("a"): torch.cuda.launch(1)
                with gs.stage("b"): torch.cuda.launch(1)
            print(gs._core.device_timing_stats()["off"])
        """)
        self.assertEqual(out.splitlines()[0], "caught 'mine'")
        self.assertIn("719", out.splitlines()[1])
        spans = self.spans()
        self.assertEqual((spans["a"]["device_ns"], spans["b"]["device_ns"]), (None, None))
        self.assertEqual(spans["unet"]["args"], {})

    def test_without_a_driver_the_program_goes_on(self) -> None:
        out = self.run_program("""
            import torch
            with gs.session("fake", run_dir=os.environ["RUN"]):
                torch.cuda.init = lambda: [call() for call in torch.cuda._queued]
                torch.cuda.init()
                with gs.stage("a"): pass
            print(gs._core.device_timing_stats())
        """, GENSCOPE_CUDA_LIBRARY="/nowhere/libcuda.so.1")
        self.assertEqual(out.strip(), "None")

    def test_a_forked_child_has_none(self) -> None:
        self.run_program("""
            import torch
            with gs.session("fake", run_dir=os.environ["RUN"]):
                torch.cuda.init()
                with gs.stage("parent"): torch.cuda.launch(1)
                pid = os.fork()
                if pid == 0:
                    with gs.stage("child"): torch.cuda.launch(1)
                    os._exit(0)
                assert os.waitpid(pid, 0)[1] == 0
        """)
        spans = self.spans()
        self.assertEqual(spans["parent"]["device_ns"], MS)
        self.assertIsNone(spans["child"]["device_ns"])

    def test_hip(self) -> None:
        (self.place / "torch" / "version.py").write_text("hip = '6.3'\n")
        self.run_program("""
            import torch
            with gs.session("fake", run_dir=os.environ["RUN"]):
                torch.cuda.init()
                with gs.stage("a"): torch.cuda.launch(5)
        """)
        self.assertEqual(self.spans()["a"]["device_ns"], 5 * MS)


if __name__ == "__main__":
    unittest.main()
