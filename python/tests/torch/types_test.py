#!/usr/bin/env python3
"""The types that the package promises: stubs equal the extension, users' programs check."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import genscope

PACKAGE = pathlib.Path(genscope.__file__).parent
GOOD = '''
import genscope as gs
from typing import Iterator

with gs.session("s", tags={"model": "tiny"}, quiet=True) as session:
    run: str = session.run_dir
    with gs.stage("denoise", steps=20) as stage:
        stage.arg("tiles", 4)
    for i in gs.steps(range(3)):
        doubled: int = i * 2
    handle: int = gs.begin("x")
    gs.end(handle)

@gs.profile
def encode(prompt: str) -> int:
    return len(prompt)

length: int = encode("a")
table = gs.load(run).spans
names: list[str] = table.columns
'''
BAD = '''
import genscope as gs
gs.counter("loss", "high")
gs.stage(3)
with gs.session("s") as session:
    session.nothing
@gs.profile(kind="stage")
def decode(latents: int) -> bytes:
    return b""
picture: str = decode(3)
'''


def mypy(path: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null", path],
                          capture_output=True, text=True,
                          env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})


class Types(unittest.TestCase):
    def check(self, program: str) -> "subprocess.CompletedProcess[str]":
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(program)
            file.flush()
            return mypy(file.name)

    def test_a_right_program_checks_strictly(self):
        done = self.check(GOOD)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_wrong_one_does_not(self):
        done = self.check(BAD)
        for line in (3, 4, 6, 10):
            self.assertIn(f":{line}: error", done.stdout)

    def test_the_stub_of_the_core_is_what_the_core_is(self):
        done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "--ignore-disjoint-bases", "genscope._core"],
                              capture_output=True, text=True,
                              env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_it_says_that_it_is_typed(self):
        self.assertTrue((PACKAGE / "py.typed").exists())


if __name__ == "__main__":
    unittest.main()
