#!/usr/bin/env python3
"""Ten million spans take no more memory than one million."""
import unittest

from harness import ProgramCase

PROGRAM = '''
import genscope as gs

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def record(millions):
    stage, forward = gs.stage, gs.forward
    for _ in range(millions * 250_000):
        with stage("outer"):
            with forward("net"): pass
            with forward("net"): pass
        gs.begin("by hand"); gs.end()

with gs.session("s", buffer_bytes=8 << 20):
    record(1)
    before = resident()
    record(9)
    print(resident() - before, gs.stats()["dropped_spans"])
'''


class Memory(ProgramCase):
    def test_ten_million_spans_are_flat(self):
        grown, lost = map(int, self.python(PROGRAM, timeout=280).stdout.split())
        self.assertLess(grown, 16 << 20)
        run = next((self.folder / "runs").iterdir())
        import genscope as gs
        recorder = gs.load(run).summary["recorder"]
        self.assertEqual(recorder["spans"] + lost, 10_000_000 + 1)  # and the session
        self.assertEqual(recorder["dropped_spans"], lost)


if __name__ == "__main__":
    unittest.main()
