#!/usr/bin/env python3
"""Programs that mark nothing, under `genscope run`: of a program with a fault the rule that names it
fires, of ordinary programs none that is false.

What is said of the machine (others take its CPUs) depends on who else is on it, so that is left out of the
clean programs, and each fault gets three tries.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

GENSCOPE = os.environ["GENSCOPE_BIN"]
TRIES = 3
PATIENCE = 120
CPUS = len(os.sched_getaffinity(0))
OF_THE_MACHINE = {"CPU-OTHERS", "CPU-STEAL", "CPU-QUOTA", "HOST-FULL", "SELF-COST"}

BURN = """
import os, sys, time
end = time.monotonic() + float(sys.argv[2])
for _ in range(int(sys.argv[1]) - 1):
    if os.fork() == 0: break
while time.monotonic() < end: sum(range(1000))
"""
SYNC = """
import os, sys, time
end = time.monotonic() + 3
with open(sys.argv[1], "wb") as file:
    while time.monotonic() < end:
        file.seek(0)
        file.write(b"x" * 300000)
        file.flush()
        os.fsync(file.fileno())
"""
NAP = """
import time
for _ in range(30):
    end = time.thread_time() + 0.012
    while time.thread_time() < end: pass
    time.sleep(0.1)
"""
SERVER = """
import http.server, threading, urllib.request
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()
for _ in range(200):
    urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").read()
server.shutdown()
"""
TRAIN = """
import random
weights = [random.random() for _ in range(300)]
for step in range(400):
    error = sum(w * w for w in weights)
    weights = [w - 0.01 * w * error for w in weights]
"""


def python(code, *arguments):
    return [sys.executable, "-c", code, *arguments]


class Recorded(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def report_of(self, command):
        """The report of one run as JSON."""
        run = tempfile.mkdtemp(dir=self.folder)
        os.rmdir(run)
        subprocess.run([GENSCOPE, "run", "--run-dir", run, "--live", "never", "--no-gpu", "--", *command],
                       cwd=self.folder, capture_output=True, timeout=PATIENCE, check=True)
        told = subprocess.run([GENSCOPE, "report", run, "-f", "json"], capture_output=True,
                              timeout=PATIENCE, check=True)
        return json.loads(told.stdout)

    def split(self, report):
        time = report["resources"]["time"]
        shares = [time[key] for key in ("on_cpu_share", "ready_share", "storage_share", "other_share")]
        self.assertNotIn(None, shares, report["absent"].get("resources.time"))
        self.assertAlmostEqual(sum(shares), 1, places=6)
        return time


def fired(report):
    return {finding["rule"] for finding in report["findings"]}


class Faults(Recorded):
    def expect(self, rule, command, instead=None):
        for _ in range(TRIES):
            report = self.report_of(command)
            self.split(report)
            if rule in fired(report) or instead in fired(report):
                return report
        self.fail(f"{rule} did not fire; fired: {fired(report)}; {report['resources']['time']}; "
                  f"{report['resources']['host']}")

    def test_others_take_the_cpus(self):
        # In this session: the kernel gives each session its share of the CPUs (autogroup).
        others = subprocess.Popen(python(BURN, str(2 * CPUS), "60"), preexec_fn=os.setpgrp)
        try:
            self.expect("CPU-OTHERS", python(BURN, "1", "3.5"))
        finally:
            os.killpg(others.pid, 9)
            others.wait()

    def test_more_workers_than_cpus(self):
        # On a machine that others keep busy, too, these are named.
        self.expect("CPU-OVERSUB", python(BURN, str(4 * CPUS), "3.5"), instead="CPU-OTHERS")

    def test_naps_between_bits_of_work(self):
        report = self.expect("MOSTLY-WAITS", python(NAP))
        self.assertGreater(self.split(report)["other_share"], 0.5)

    def test_syncs_after_each_write(self):
        # How long a disk takes is its own affair: what it shows as waiting is told as such.
        report = self.report_of(python(SYNC, os.path.join(self.folder, "file")))
        time = self.split(report)
        said = "STORAGE-WAIT" in fired(report)
        self.assertEqual(said, time["storage_share"] > 0.2, time)


class Figures(Recorded):
    def test_what_is_written_last_is_counted(self):
        size = 40 << 20
        file = os.path.join(self.folder, "file")
        report = self.report_of(["dd", "if=/dev/zero", f"of={file}", "bs=1M", "count=40", "conv=fsync"])
        written = report["process"]["io_write_bytes"]
        if written is None or subprocess.run(["stat", "-fc", "%T", self.folder], capture_output=True,
                                             text=True, check=True).stdout.strip() == "tmpfs":
            self.skipTest("nothing here goes to storage")
        self.assertGreaterEqual(written, size)
        self.assertLess(written, size + (8 << 20))

    def test_a_stage_of_short_children_uses_no_more_than_the_machine_has(self):
        report = self.report_of(["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do "
                                 f"{sys.executable} -c 'sum(range(1500000))'; done"])
        host = report["resources"]["host"]
        self.assertLessEqual(host["own_cores"], host["cpus"] + 0.01)


class Endings(Recorded):
    def failed(self, arguments, stderr, code):
        """The report of a command that says two lines on stderr and ends with `code`."""
        run = os.path.join(self.folder, "failed")
        command = ["sh", "-c", f"echo working >&2; echo --token abcdefgh12345678 >&2; exit {code}"]
        done = subprocess.run([GENSCOPE, "run", "--run-dir", run, "--live", "never", "--no-gpu", *arguments, "--",
                               *command], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=stderr,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, code)
        told = subprocess.run([GENSCOPE, "report", run, "-f", "json"], capture_output=True, timeout=PATIENCE,
                              check=True)
        return json.loads(told.stdout)

    def test_last_words_are_read_from_a_file(self):
        with open(os.path.join(self.folder, "log"), "wb") as log:
            log.write(b"what was there before\n")
            log.flush()
            report = self.failed([], log, 3)
        self.assertEqual(report["run"]["last_words"], ["working", "--token ***"])
        self.assertTrue(report["headline"].startswith("Failed (exit 3) after "), report["headline"])
        self.assertIn("Last on stderr: --token ***", report["headline"])

    def test_last_words_are_read_as_they_pass_through_us(self):
        report = self.failed(["--logs", "auto"], subprocess.PIPE, 4)
        self.assertEqual(report["run"]["last_words"], ["working", "--token ***"])

    def test_a_pipe_that_we_do_not_see_has_none(self):
        self.assertEqual(self.failed([], subprocess.PIPE, 5)["run"]["last_words"], [])

    def test_threads_have_their_own_account(self):
        report = self.report_of(python(BURN, "1", "2.5"))
        threads = report["resources"]["time"]["threads"]
        self.assertGreaterEqual(len(threads), 1, report["absent"])
        self.assertGreater(threads[0]["on_cpu_share"] + threads[0]["ready_share"], 0.8, threads)


class Clean(Recorded):
    def clean(self, command, info=()):
        report = self.report_of(command)
        wrong = {finding["rule"]: finding["evidence"] for finding in report["findings"]
                 if finding["rule"] not in OF_THE_MACHINE | set(info)}
        self.assertEqual(wrong, {}, report["resources"]["time"])

    def shell(self, text, info=()):
        self.clean(["sh", "-c", text], info)

    def test_sleep(self):
        self.clean(["sleep", "2.2"])

    def test_gzip(self):
        self.shell("head -c 20000000 /dev/zero | gzip -9 > out.gz")

    def test_sort(self):
        self.shell("seq 300000 | sort -r > out")

    def test_sums(self):
        self.shell("head -c 100000000 /dev/zero | sha256sum")

    def test_a_build_of_many_short_commands(self):
        self.shell("for i in $(seq 60); do cp /bin/true t$i; ./t$i; done")

    def test_tar(self):
        self.shell("tar cf out.tar /usr/lib/python3 2>/dev/null; true")

    def test_a_loop(self):
        self.clean(python("sum(i * i for i in range(4_000_000))"))

    def test_a_web_server(self):
        self.clean(python(SERVER), info=["MOSTLY-WAITS"])

    def test_a_training_loop(self):
        self.clean(python(TRAIN))

    def test_true(self):
        self.clean(["true"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
