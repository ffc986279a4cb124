"""Stacks of Python programs under `genscope run`: what they show, and that the program cannot tell.

No assertion on wall time: programs run until they have been sampled, by the CPU time that they take or by a sleep
that is far longer than the delay before sampling.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import textwrap
import unittest

from harness import GENSCOPE, ProgramCase

BUSY = """
import time
def busy(seconds):
    begin = time.process_time()
    while time.process_time() - begin < seconds:
        sum(range(500))
"""


class StacksCase(ProgramCase):
    def sampled(self, text, *options, expect=0, env=None):
        """The program's output and the report's `stacks`, None if there are none; self.report is all of it."""
        text = BUSY + textwrap.dedent(text)
        done = self.python(text, under=True, options=options, expect=expect, env=env)
        report = json.loads(subprocess.run([GENSCOPE, "report", self.folder / "run", "-f", "json"], check=True,
                                           capture_output=True, text=True).stdout)
        self.report = report
        return done, report.get("stacks")

    def same_as_bare(self, text, *options):
        """Runs it without us and with us: the same output, errors and exit code."""
        self.doCleanups()
        self.setUp()
        text = BUSY + textwrap.dedent(text)
        bare = self.python(text, expect=None)
        ours = self.python(text, under=True, options=("--stacks", "--stacks-rate", "200", *options), expect=None,
                           env={"GENSCOPE_DEBUG": "1"})
        code = bare.returncode if bare.returncode >= 0 else 128 - bare.returncode
        self.assertEqual(ours.returncode, code, ours.stderr)
        self.assertEqual(ours.stdout, bare.stdout)
        self.assertTrue(ours.stderr.startswith(bare.stderr), ours.stderr)
        self.assertNotIn("Traceback", ours.stderr[len(bare.stderr):])
        return ours

    @staticmethod
    def functions(stacks):
        return {row["name"]: row for row in stacks["functions"]}


class WhatIsSeen(StacksCase):
    def test_where_the_time_went(self):
        _, stacks = self.sampled("""
            class Loader:
                def read(self):
                    time.sleep(0.8)
            def main():
                busy(0.8)
                Loader().read()
            main()
        """)
        rows = self.functions(stacks)
        read = "Loader.read" if sys.version_info >= (3, 11) else "read"
        self.assertIn("busy", rows)
        self.assertIn(read, rows)
        self.assertGreater(rows["busy"]["self_cpu_ns"], 0)
        self.assertLess(rows[read]["self_cpu_ns"], 0.2 * rows[read]["self_ns"])
        self.assertGreaterEqual(rows["main"]["total_ns"], rows[read]["self_ns"])
        self.assertEqual(rows["busy"]["line"], 3)
        self.assertTrue(rows["busy"]["file"].endswith("program.py"))
        self.assertEqual(stacks["rate"], 50)
        self.assertGreater(stacks["own_cpu_ns"], 0)
        written = self.report["process"]["io_write_bytes"]
        if written is not None:  # /proc/PID/io may be forbidden
            self.assertLess(written, 1 << 20, "the program writes nothing; the rest are our buffers")

    def test_threads_have_their_names_and_their_cpu_time(self):
        _, stacks = self.sampled("""
            import threading
            def work():
                busy(0.8)
            thread = threading.Thread(target=work, name="worker-7")
            thread.start()
            thread.join()
        """)
        threads = [n["name"] for n in stacks["nodes"] if n["kind"] == "thread"]
        self.assertTrue(any(name.startswith("worker-7 (") for name in threads), threads)
        self.assertTrue(any(name.startswith("MainThread (") for name in threads), threads)
        work = self.functions(stacks)["work"]
        self.assertEqual(work["total_ns"], 0)  # not the main thread's
        self.assertGreater(work["total_cpu_ns"], 0)

    def test_functions_lie_below_the_stage_that_was_open(self):
        done, stacks = self.sampled("""
            import genscope as gs
            def decode():
                time.sleep(0.8)
            def prepare():
                time.sleep(0.8)
            with gs.stage("outer"):
                with gs.stage("vae_decode"):
                    decode()
            prepare()
        """, "--stacks")
        nodes = stacks["nodes"]

        def path(node):
            above = node["parent"]
            return ([] if above is None else path(nodes[above])) + [node["name"]]
        decode = next(path(n) for n in nodes if n["name"] == "decode")
        self.assertEqual(decode[1:4], ["outer", "vae_decode", "<module>"])
        rows = self.functions(stacks)
        self.assertGreater(rows["prepare"]["outside_ns"], 0.9 * rows["prepare"]["self_ns"])
        self.assertLess(rows["decode"]["outside_ns"], 0.2 * rows["decode"]["self_ns"])
        self.assertIn("outside stages: ", done.stderr)
        self.assertIn("prepare (program.py:", done.stderr)

    def test_generators_coroutines_and_imports(self):
        self.write("slow_module.py", "import time\ntime.sleep(0.8)\n")
        _, stacks = self.sampled("""
            import asyncio
            def rows():
                for _ in range(2):
                    time.sleep(0.3)
                    yield 1
            async def task():
                list(rows())
            import slow_module
            asyncio.run(task())
        """)
        rows = self.functions(stacks)
        self.assertIn("rows", rows)
        self.assertGreater(rows["(import)"]["total_ns"], 0)
        self.assertNotIn("_find_and_load", rows)

    def test_a_recursion_is_one_row_and_its_depth_costs_nothing(self):
        _, stacks = self.sampled("""
            import sys
            sys.setrecursionlimit(20_000)
            def down(n):
                if n == 0:
                    return time.sleep(0.8)
                return down(n - 1)
            down(5_000)
            busy(0.5)
        """)
        names = [n["name"] for n in stacks["nodes"]]
        self.assertEqual(names.count("down"), 1)
        self.assertIn("(deeper callers)", names)

    def test_functions_without_end_are_bounded_and_counted(self):
        _, stacks = self.sampled("""
            begin = time.process_time()
            n = 0
            while time.process_time() - begin < 1.5:
                n += 1
                scope = {"time": time}
                exec(f"def made_{n}():\\n  x = 0\\n  for i in range(20_000): x += i\\n", scope)
                scope[f"made_{n}"]()
        """, "--stacks-rate", "1000")
        self.assertLessEqual(len(stacks["nodes"]), 4000)
        self.assertLessEqual(len(stacks["functions"]), 1001)

    def test_marks_end_it_unless_it_is_asked_for(self):
        text = """
            import genscope as gs
            busy(0.8)
            with gs.stage("denoise"):
                busy(1.0)
        """
        _, stacks = self.sampled(text)
        self.assertEqual(stacks["stopped"], ["the program marks stages itself"])

    def test_a_short_program_loads_nothing(self):
        _, stacks = self.sampled("""
            import sys
            assert not [n for n in sys.modules if n.startswith(("genscope", "_core", "_later"))]
        """)
        self.assertIsNone(stacks)

    def test_no_stacks(self):
        _, stacks = self.sampled("busy(0.8)", "--no-stacks")
        self.assertIsNone(stacks)

    def test_stacks_without_hooks(self):
        _, stacks = self.sampled("busy(0.8)", "--instrument", "none")
        self.assertIn("busy", self.functions(stacks))

    def test_other_tools_read_it(self):
        self.sampled("busy(0.8)")
        collapsed = subprocess.run([GENSCOPE, "report", self.folder / "run", "-f", "collapsed"], check=True,
                                   capture_output=True, text=True).stdout
        for line in collapsed.splitlines():
            self.assertRegex(line, r"^MainThread \(\d+\)(;[^;]+)* \d+$")
        self.assertIn(";busy (", collapsed)
        speedscope = self.folder / "s.json"
        subprocess.run([GENSCOPE, "report", self.folder / "run", "-f", "speedscope", "-o", speedscope], check=True)
        profile = json.loads(speedscope.read_text())
        names = [frame["name"] for frame in profile["shared"]["frames"]]
        self.assertIn("busy", names)
        for one in profile["profiles"]:
            self.assertEqual(len(one["samples"]), len(one["weights"]))
            self.assertEqual(sum(one["weights"]), one["endValue"])


class TheProgramCannotTell(StacksCase):
    def test_threads_modules_and_frames(self):
        self.same_as_bare("""
            import sys, threading, _thread
            busy(0.8)
            print(threading.enumerate() == [threading.main_thread()], threading.active_count(), _thread._count())
            print(len(sys._current_frames()), [n for n in sys.modules if "genscope" in n])
        """)

    def test_signals_and_interrupted_calls(self):
        self.same_as_bare("""
            import os, signal
            got = []
            signal.signal(signal.SIGALRM, lambda *_: got.append("alarm"))
            signal.signal(signal.SIGPROF, lambda *_: got.append("prof"))
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            time.sleep(1)
            signal.siginterrupt(signal.SIGALRM, True)
            read, write = os.pipe()
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            import select
            print(select.select([read], [], [], 0.6)[0], got)
            print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
        """)

    def test_fork_exec_and_exits(self):
        self.same_as_bare("""
            import os, sys, warnings
            warnings.simplefilter("error")
            busy(0.6)
            for how in range(3):
                child = os.fork()
                if child == 0:
                    busy(0.5)
                    if how == 0:
                        os._exit(7)
                    if how == 1:
                        os.execv(sys.executable, [sys.executable, "-c", "import sys; sys.exit(8)"])
                    sys.exit(9)
                print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            sys.stdout.flush()
            os._exit(5)
        """)

    def test_no_warning_of_threads_beside_a_fork(self):
        names = ("python3.12", "python3.13", "python3.14")
        found = [shutil.which(name) for name in names]
        for name in names:  # pyenv's, which are on no path
            found += sorted(pathlib.Path.home().glob(f".pyenv/versions/*/bin/{name}"))
        newer = [path for path in found if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0]
        if not newer:
            self.skipTest("no Python that warns of a fork beside threads (3.12 or later)")
        program = self.folder / "forks.py"
        program.write_text("import os, time\n"
                           "for i in range(12):\n"
                           "    time.sleep(0.5 if i < 2 else 0.01)\n"
                           "    if os.fork() == 0: os._exit(0)\n"
                           "    os.wait()\n")
        for python in newer:
            run = self.folder / pathlib.Path(python).name
            shutil.rmtree(run, ignore_errors=True)
            done = subprocess.run([GENSCOPE, "--quiet", "run", "--live", "never", "--no-gpu", "--run-dir", run, "--", python,
                                   "-W", "default", program], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            report = json.loads(subprocess.run([GENSCOPE, "report", run, "-f", "json"], check=True, capture_output=True,
                                               text=True).stdout)
            self.assertIn("<module>", self.functions(report["stacks"]), "sampled until it forks")

    def test_multiprocessing(self):
        self.same_as_bare("""
            import multiprocessing
            def square(n):
                busy(0.1)
                return n * n
            if __name__ == "__main__":
                for method in ("fork", "spawn"):
                    with multiprocessing.get_context(method).Pool(2) as pool:
                        print(pool.map(square, range(6)))
        """)

    def test_forks_while_threads_come_and_go(self):
        self.same_as_bare("""
            import os, threading
            def child():
                pid = os.fork()
                if pid == 0:
                    os._exit(3)
                assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
            busy(0.5)
            for _ in range(30):
                threads = [threading.Thread(target=busy, args=(0.005,)) for _ in range(4)]
                for t in threads: t.start()
                child()
                for t in threads: t.join()
            print("fine")
        """)

    def test_ends_of_the_interpreter(self):
        for end in ("raise SystemExit(3)", "raise ValueError('x')", "import os; os.kill(os.getpid(), 15)",
                    "import os; os.abort()", "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"):
            with self.subTest(end):
                self.same_as_bare(f"import threading, atexit\natexit.register(busy, 0.2)\nbusy(0.5)\n{end}\n")

    def test_finalizers_do_not_run_on_our_thread(self):
        self.same_as_bare("""
            import gc, threading
            where = set()
            class Cycle:
                def __init__(self):
                    self.me = self
                def __del__(self):
                    where.add(threading.current_thread().name)
            begin = time.process_time()
            while time.process_time() - begin < 1:
                Cycle()
            gc.collect()
            print(where, gc.isenabled())
        """)

    def test_objects_die_when_they_would(self):
        self.same_as_bare("""
            import weakref
            class Thing: pass
            def one():
                thing = Thing()
                alive = weakref.ref(thing)
                sum(range(2000))
                return alive
            begin = time.process_time()
            late = 0
            while time.process_time() - begin < 1:
                late += one()() is not None
            print(late)
        """)

    def test_an_audit_hook_that_forbids(self):
        self.same_as_bare("""
            import sys
            def hook(name, args):
                if name == "sys._current_frames":
                    raise RuntimeError("no")
            sys.addaudithook(hook)
            busy(0.8)
            print("done")
        """)

    def test_a_subinterpreter(self):
        try:
            import _xxsubinterpreters  # noqa: F401
        except ImportError:
            self.skipTest("this Python has no subinterpreters to try")
        self.same_as_bare("""
            import _xxsubinterpreters as interpreters
            busy(0.5)
            one = interpreters.create()
            interpreters.run_string(one, "import time, sys; time.sleep(0.5); print('in', flush=True)")
            interpreters.destroy(one)
            print("out")
        """)



if __name__ == "__main__":
    unittest.main(verbosity=2)
