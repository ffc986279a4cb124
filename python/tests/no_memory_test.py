#!/usr/bin/env python3
"""Without memory, recording drops and counts; the program makes what it makes without us.

helpers/faults.cc fails our allocations one after the other, as SQLite's tests do; helpers/tries.py
runs the parts of helpers/life.py for each of them.
"""
import os
import pathlib
import unittest

from harness import ProgramCase

HELPERS = pathlib.Path(__file__).resolve().parent / "helpers"
FAULTS = os.environ.get("GENSCOPE_PYTHON_FAULTS", "")

PARTS = '''
import os
import genscope as gs
import life
from tries import *

def made_by(part):
    made = []
    part(1, made)
    return repr(made)

def without_us(part):
    os.environ["GENSCOPE_DISABLE"] = "1"
    with open("expected", "w") as file:
        file.write(made_by(part))
    return 0

def check(part, expected, fault):
    made = []
    with gs.session("life", buffer_bytes=1 << 16):
        count = fault(lambda: part(1, made))
    assert repr(made) == expected, f"{made}, not {expected}"
    return count

def check_session(expected, fault):
    made = []
    count = fault(lambda: life.session(1, made))
    assert repr(made) == expected, f"{made}, not {expected}"
    return count

tried = 0
for part in (*life.PARTS, life.session):
    in_child(lambda: without_us(part))
    with open("expected") as file:
        expected = file.read()
    if part is life.session:
        tried += each(KIND, lambda fault: check_session(expected, fault), step=3)
    else:
        large = part in (life.served, life.compat)
        tried += each(KIND, lambda fault: check(part, expected, fault), step=2 if large else 1)
print(tried)
'''


# Each call of ours, while CPython has no memory for the objects that we ask it for.
OBJECTS = '''
import asyncio, os
import genscope as gs
from genscope import _core
from tries import *

def later():  # calls, each in order; what one gives is for those after it
    say = lambda function, *args, **keywords: faults.fault_call(function, args, keywords)
    span = say(gs.stage, "näme")
    yield span
    yield say(gs.stage, "name", a=1, b="zwölf", c=[])
    yield say(span.__enter__)
    again = say(span.__enter__)
    yield again
    yield say(span.arg, "kéy", "tèxt")
    yield say(span.__exit__, None, None, None)
    yield say(span.__exit__, KeyError, None, None)
    yield say(gs.span, "other", "load")
    yield say(gs.step, 10**6, x=1.5)
    yield say(gs.begin, "by händ", "task", a=[])
    yield say(gs.end)
    yield say(_core.begin_detached, "request", "dètached", 0, 0)
    yield say(gs.event, "évent", a=1, b=2, c=3, d=4, e="fünf")
    yield say(gs.counter, "cöunter", 1.5)
    yield say(gs.current)
    yield say(_core.wrap_call, len, "wräpped", "forward")
    yield say(_core.track, "träck")
    session = say(_core.Session, "sëssion", quiet=True)
    yield session
    yield say(session.arg, "kéy", "välue")
    yield say(session.__exit__, None, None, None)
    monitor = _core.RequestMonitor()
    request = say(monitor.begin, "/rôute")
    yield request
    yield say(monitor.response_headers, request)
    yield say(request.finish, 200)
    generations = _core.GenerationMonitor(gpu_memory=False)
    running = say(generations.start, num_steps=3)
    yield running
    yield say(running.begin_step)
    yield say(running.end_step) or ()
    yield say(running.finish) or ()
    load = say(generations.load, "model", False)
    yield load
    yield say(load.end)
    operations = _core.OperationMonitor()
    tracked = say(operations.track, "öperation")
    yield tracked
    yield say(tracked.__enter__) or ()
    yield say(tracked.__exit__, None, None, None)
    book = _core.StageBook(lambda: None, _current)
    stage = say(book.stage, "stäge", {"a": 1})
    yield stage
    yield say(stage.__enter__)
    yield say(stage.__exit__, None, None, None)
    yield say(_core.EventBook(2).add, "évent", {"a": 1}, True)
    yield say(_core.StepBook(2, float).add, 1, 2.5, 3, 4.5, 5, True)

from contextvars import ContextVar
_current = ContextVar("current", default=None)

async def in_a_loop():
    return list(later())

def check(fault):
    with gs.session("life", buffer_bytes=1 << 16):
        return fault(lambda: RUN)

print(each(PYTHON, check, alone=ALONE))
'''

# The program has what it needs itself; malloc() has nothing left.
LIMITED = '''
import ctypes, resource, sys, threading
import genscope as gs
from genscope import _core
from genscope.compat import training

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
names = [f"name {i} " + "x" * (i % 100) for i in range(3000)]
go, made = threading.Event(), [0, 0]

def record(place):
    go.wait()
    for i, name in enumerate(names):
        with gs.stage(name), gs.step(i, even=i % 2 == 0):
            gs.event(name, n=i)
            gs.counter(name, i)
            request = requests.begin(name)
            with operations.track(name), gs.forward(name):
                made[place] += i
            request.finish(200)

operations = training.PerformanceMonitor()
requests = _core.RequestMonitor()
session = gs.session("s", buffer_bytes=1 << 20)
thread = threading.Thread(target=record, args=(1,))
thread.start()
small = [bytes(300) for _ in range(60_000)]  # room for CPython's own objects, in arenas that stay
small = small[::1000]
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
before = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (used, before[1]))
for size in (1 << 16, 1 << 12, 256, 64, 16):
    while libc.malloc(size):
        pass
go.set()
record(0)
thread.join()
resource.setrlimit(resource.RLIMIT_AS, before)
lost = gs.stats()["dropped_spans"]
session.close()
print(*made, lost)
sys.exit(7)
'''


@unittest.skipUnless(FAULTS, "faults are not injected under a sanitizer")
class NoMemory(ProgramCase):
    def tried(self, text):
        done = self.python(text, env={
            "LD_PRELOAD": FAULTS, "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{HELPERS}"})
        for line in done.stderr.splitlines():
            self.assertRegex(line, "^genscope: recording is off: ")
        return int(done.stdout.split()[-1])

    def test_of_cpp(self):
        self.assertGreater(self.tried(PARTS.replace("KIND", "NEW")), 100)

    def test_of_malloc(self):
        self.tried(PARTS.replace("KIND", "MALLOC"))

    def test_of_python_objects(self):
        program = OBJECTS.replace("RUN", "list(later())").replace("ALONE", "False")
        self.assertGreater(self.tried(program), 30)

    def test_of_python_objects_in_a_loop(self):  # two failures in ContextVar.set() end CPython 3.11
        program = OBJECTS.replace("RUN", "asyncio.run(in_a_loop())").replace("ALONE", "True")
        self.assertGreater(self.tried(program), 30)

    def test_a_limit_of_memory(self):
        done = self.python(LIMITED, expect=7)
        first, second, lost = map(int, done.stdout.split())
        self.assertEqual(first, sum(range(3000)))
        self.assertEqual(second, first)
        self.assertGreater(lost, 0)
        recorder = self.recorded().report()["recorder"]
        self.assertEqual(recorder["dropped_spans"], lost)
        self.assertEqual(recorder["spans"] + lost, 2 * 3000 * 5 + 1)


if __name__ == "__main__":
    unittest.main()
