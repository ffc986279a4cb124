#!/usr/bin/env python3
"""Marking by hand: spans, steps, sessions, decorators, threads, tasks, forks."""
import shutil
import unittest

from harness import ProgramCase

HEAD = "import genscope as gs\n"


class Spans(ProgramCase):
    def test_stages_steps_and_forwards_nest(self):
        self.python(HEAD + '''
with gs.session("s", tags={"model": "tiny"}):
    with gs.stage("denoise", steps=3, dtype="bf16", scale=4.5, tiled=True, nothing=None) as stage:
        assert stage.id == gs.current() != 0
        for i in gs.steps(range(3)):
            with gs.forward("net"):
                pass
    assert gs.current() == 0
    with gs.block(7, frames=4):
        pass
    with gs.loading("weights"), gs.span("inner"):
        pass
''')
        run = self.recorded()
        self.assertEqual(run.one("s")["args"], {"model": "tiny"})
        stage = run.one("denoise", "stage")
        self.assertEqual(stage["args"], {"steps": 3, "dtype": "bf16", "scale": 4.5, "tiled": True})
        steps = run.children(stage)
        self.assertEqual([s["kind"] for s in steps], ["step"] * 3)
        self.assertEqual([s["args"]["index"] for s in steps], [0, 1, 2])
        self.assertEqual([c["name"] for s in steps for c in run.children(s)], ["net"] * 3)
        self.assertEqual(run.one("block", "block")["args"], {"index": 7, "frames": 4})
        self.assertEqual(run.parent(run.one("inner", "function"))["kind"], "load")

    def test_a_kind_by_keyword_and_one_that_there_is_not(self):
        self.python(HEAD + '''
with gs.session("s"):
    with gs.span("a", kind="stage", images=2): pass
    with gs.span("b", kind="load"): pass
    gs.end(gs.begin("c", kind="task", rows=3))
for wrong in (lambda: gs.span("x", kind="nope"), lambda: gs.begin("x", kind="nope"),
              lambda: gs.span("x", "nope"), lambda: gs.profile(kind="nope"),
              lambda: gs.hooks.install(["nope"])):
    try: wrong()
    except ValueError as error: assert "nope" in str(error)
    else: raise AssertionError("no ValueError")
''')
        run = self.recorded()
        self.assertEqual(run.one("a", "stage")["args"], {"images": 2})
        self.assertEqual(run.one("b", "load")["args"], {})
        self.assertEqual(run.one("c", "task")["args"], {"rows": 3})

    def test_signatures_can_be_asked_for(self):
        self.python(HEAD + '''
import inspect
assert str(inspect.signature(gs.stage)) == "(name, /, **args)"
assert str(inspect.signature(gs.span)) == "(name, /, kind='function', **args)"
for function in (gs.step, gs.block, gs.forward, gs.event, gs.counter, gs.begin, gs.end, gs.flush):
    inspect.signature(function)
''')

    def test_an_inner_session_says_that_its_folder_is_not_used(self):
        done = self.python(HEAD + '''
import tempfile, os
with gs.session("outer") as outer:
    with gs.session("inner", run_dir=os.path.join(tempfile.gettempdir(), "elsewhere")) as inner:
        assert inner.run_dir == outer.run_dir
    with gs.session("again", run_dir=outer.run_dir):
        pass
''')
        said = [line for line in done.stderr.splitlines() if "not used" in line]
        self.assertEqual(len(said), 1, done.stderr)
        self.assertIn("elsewhere", said[0])

    def test_an_exception_is_a_failure_and_passes_through(self):
        self.python(HEAD + '''
with gs.session("s"):
    try:
        with gs.stage("bad"):
            raise KeyError("x")
    except KeyError:
        pass
    with gs.stage("good"):
        pass
    @gs.profile
    def fails(): raise OSError()
    try: fails()
    except OSError: pass
''')
        run = self.recorded()
        self.assertIn("failed", run.one("bad")["flags"])
        self.assertEqual(run.one("bad")["args"], {"error": "KeyError"})
        self.assertIn("failed", run.one("fails")["flags"])
        self.assertNotIn("failed", run.one("good")["flags"])

    def test_begin_and_end_by_hand(self):
        self.python(HEAD + '''
with gs.session("s"):
    gs.begin("outer")
    first = gs.begin("a", "task", n=1)
    second = gs.begin("b")
    gs.end(first)          # out of order
    gs.end(second, True)
    gs.end()
    gs.end()               # nothing is open: nothing happens
''')
        run = self.recorded()
        outer = run.one("outer", "stage")
        self.assertEqual(run.one("a", "task")["parent"], outer["id"])
        self.assertIn("failed", run.one("b")["flags"])
        self.assertNotIn("unfinished", str(run.spans))

    def test_a_shared_object_serves_recursion_and_threads(self):
        self.python(HEAD + '''
import threading, time
shared = gs.stage("shared")
def recurse(n):
    with shared:
        if n: recurse(n - 1)
def work():
    for _ in range(200):
        with shared:
            time.sleep(0)
with gs.session("s"):
    recurse(4)
    threads = [threading.Thread(target=work) for _ in range(8)]
    [t.start() for t in threads]; [t.join() for t in threads]
''')
        spans = self.recorded().named("shared")
        self.assertEqual(len(spans), 5 + 8 * 200)
        self.assertFalse([s for s in spans if s["flags"]])

    def test_threads_have_their_own_parents(self):
        self.python(HEAD + '''
import threading, time
def work(n):
    with gs.stage(f"outer{n}"):
        for _ in range(50):
            with gs.stage(f"inner{n}"): time.sleep(0)
with gs.session("s"):
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    [t.start() for t in threads]; [t.join() for t in threads]
''')
        run = self.recorded()
        for n in range(4):
            outer = run.one(f"outer{n}")
            inner = run.named(f"inner{n}")
            self.assertEqual(len(inner), 50)
            self.assertEqual({s["parent"] for s in inner}, {outer["id"]})

    def test_tasks_have_their_own_parents(self):
        self.python(HEAD + '''
import asyncio
async def work(n):
    with gs.stage(f"outer{n}"):
        await asyncio.sleep(0.001)
        with gs.stage(f"inner{n}"):
            await asyncio.sleep(0.001)
            await asyncio.gather(child(n), child(n))
async def child(n):
    h = gs.begin(f"child{n}")
    await asyncio.sleep(0.001)
    gs.end(h)
@gs.profile(name="main", kind="stage")
async def main():
    await asyncio.gather(*(work(n) for n in range(5)))
with gs.session("s"):
    with gs.stage("around"):
        asyncio.run(main())
''')
        run = self.recorded()
        main = run.one("main", "stage")
        self.assertEqual(run.parent(main)["name"], "around")
        for n in range(5):
            outer = run.one(f"outer{n}")
            self.assertEqual(outer["parent"], main["id"])
            inner = run.one(f"inner{n}")
            self.assertEqual(inner["parent"], outer["id"])
            self.assertEqual({c["parent"] for c in run.named(f"child{n}")}, {inner["id"]})

    def test_tasks_of_a_loop_that_began_before_the_import(self):
        program = '''
import asyncio, threading, sys
async def work(n):
    import genscope as gs
    with gs.stage(f"outer{n}"):
        await asyncio.sleep(0.01)
        with gs.stage(f"inner{n}"): await asyncio.sleep(0.01)
async def main():
    import genscope as gs
    with gs.session("s"):
        await asyncio.gather(work(0), work(1))
stop = threading.Event()
thread = threading.Thread(target=stop.wait)
if THREADS: thread.start()  # it might run a loop too
asyncio.run(main())
stop.set()
'''
        for threads in ("False", "True"):
            with self.subTest(threads=threads):
                self.python(program.replace("THREADS", threads))
                run = self.recorded()
                for n in range(2):
                    self.assertEqual(run.parent(run.one(f"inner{n}"))["name"], f"outer{n}")
                shutil.rmtree(self.folder / "runs")

    def test_generators_and_async_generators_are_stages(self):
        self.python(HEAD + '''
import asyncio
@gs.profile(name="tokens", kind="stage")
def tokens(n):
    got = None
    for i in range(n):
        got = yield i
    return "done"
@gs.profile(name="frames", kind="stage")
async def frames(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i
@gs.profile(name="broken", kind="stage")
def broken():
    yield 1
    raise ValueError()
def outer():
    return (yield from tokens(2))
with gs.session("s"):
    for i in tokens(3):
        with gs.stage("consumer"): pass
    g = outer(); assert [*g] == [0, 1]
    g = tokens(5); next(g); g.close()
    async def main(): return [i async for i in frames(4)]
    assert asyncio.run(main()) == [0, 1, 2, 3]
    try: list(broken())
    except ValueError: pass
    def mine():
        with gs.stage("with in a generator"):
            yield 1
            yield 2
    a, b = mine(), mine()
    next(a), next(b), next(a), list(b), list(a)
''')
        run = self.recorded()
        tokens = run.named("tokens", "stage")
        self.assertEqual([s["args"]["items"] for s in tokens], [3, 2, 1])
        self.assertTrue(all("active_seconds" in s["args"] for s in tokens))
        self.assertEqual({run.parent(s) and run.parent(s)["name"] for s in run.named("consumer")}, {None})
        self.assertEqual(run.one("frames")["args"]["items"], 4)
        self.assertIn("failed", run.one("broken")["flags"])
        pair = run.named("with in a generator")
        self.assertEqual(len(pair), 2)
        self.assertFalse([s for s in pair if "unfinished" in s["flags"] or "failed" in s["flags"]])

    def test_wrapped_calls_and_modules(self):
        self.python(HEAD + '''
class Module:
    def forward(self, x, *, y=1):
        "doc"
        if x < 0: raise ValueError(x)
        return x + y
with gs.session("s"):
    m = gs.wrap(Module(), "net")
    assert m.forward(1) == 2 and m.forward(1, y=5) == 6
    try: m.forward(-1)
    except ValueError: pass
    assert m.forward.__self__.__wrapped__.__doc__ == "doc"
    add = gs.wrap(lambda *a, **k: (a, k), "add", kind="task")
    assert add(1, b=2) == ((1,), {"b": 2})
    import gc, weakref
    alive = weakref.ref(m); del m; gc.collect(); assert alive() is None
''')
        run = self.recorded()
        flags = [s["flags"] for s in run.named("net", "forward")]
        self.assertEqual(len(flags), 3)
        self.assertEqual(sum("failed" in f for f in flags), 1)
        run.one("add", "task")

    def test_forked_and_spawned_workers_record(self):
        self.python(HEAD + '''
import multiprocessing, os
def work(n):
    with gs.stage("worker", n=n): pass
    return os.getpid()
if __name__ == "__main__":
    with gs.session("s", run_dir=os.environ["RUN"]):
        with gs.stage("parent"): pass
        os.environ["GENSCOPE_RUN_DIR"] = os.environ["RUN"]
        for method in ("fork", "spawn"):
            with multiprocessing.get_context(method).Pool(2) as pool:
                assert len(pool.map(work, range(6))) == 6
                pool.close(); pool.join()
''', env={"RUN": str(self.folder / "run")})
        run = self.recorded()
        workers = run.named("worker")
        self.assertEqual(sorted(s["args"]["n"] for s in workers), sorted([*range(6)] * 2))
        self.assertNotIn(run.one("parent")["pid"], {s["pid"] for s in workers})

    def test_events_counters_and_facts(self):
        self.python(HEAD + '''
with gs.session("s"):
    gs.event("milestone", a=1, b=2.5, c="d", e=True, f=6, g=object(), h=2**80)
    gs.counter("loss", 0.5)
    gs.configure(steps=20, **{"set.offload": "none"})
    try: gs.stage(3)
    except TypeError as e: assert "str" in str(e)
    try: gs.span("x", "nothing")
    except ValueError as e: assert "no kind" in str(e)
''')
        import genscope as gs
        run = gs.load(self.recorded().run)
        args = {k: (n, t) for k, n, t in zip(run.event_args["key"], run.event_args["number"],
                                             run.event_args["text"])}
        self.assertEqual(args["a"][0], 1)
        self.assertEqual(args["c"][1], "d")
        self.assertEqual(args["g"][1], "<object>")
        self.assertAlmostEqual(args["h"][0], 2.0 ** 80)
        self.assertEqual(args["set.offload"][1], "none")
        self.assertEqual(list(run.counters["value"]), [0.5])

    def test_without_a_session_nothing_happens_and_off_is_off(self):
        self.python(HEAD + '''
with gs.stage("before"): pass
assert gs.begin("x") == 0 and gs.current() == 0
gs.end()
with gs.session("s"):
    gs.set_enabled(False)
    assert not gs.enabled()
    with gs.stage("off"): assert gs.current() == 0
    gs.set_enabled(True)
    with gs.stage("on"): pass
''')
        self.assertEqual({s["name"] for s in self.recorded().spans}, {"s", "on"})

    def test_a_folder_that_cannot_be_written_is_said_and_does_not_raise(self):
        done = self.python(HEAD + '''
import sys
s = gs.session("s", out="/proc/nowhere", quiet=True)
with gs.stage("x"): pass
print(s.active, s.error)
''')
        self.assertIn("False", done.stdout)
        self.assertIn("/proc/nowhere", done.stdout)

    def test_names_without_end_take_no_memory_without_end(self):
        done = self.python(HEAD + '''
import resource
with gs.session("s", max_trace_bytes=1 << 20, quiet=True):
    for i in range(20000):
        with gs.stage("warm %d" % i): pass
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for i in range(200000):
        with gs.stage("name %d" % i): pass
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
''')
        self.assertLess(int(done.stdout), 64 * 1024)  # KiB


if __name__ == "__main__":
    unittest.main()
