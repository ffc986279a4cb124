#!/usr/bin/env python3
"""`genscope run`: the command cannot tell that it is watched, and what it did is written down."""
import collections
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import unittest

from support import BIN, BURST, PATIENCE, PYTHON, TINYDIFF, RunCase, wait_until

HANDLER = """
import signal, sys, time
count = 0
def handle(number, frame):
    global count
    count += 1
for name in sys.argv[1].split(","):
    signal.signal(getattr(signal, name), handle)
print("ready", flush=True)
end = time.monotonic() + 60
while count == 0 and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.5)  # a second delivery would come by now
print("count", count, flush=True)
sys.exit(9)
"""


class Starting(RunCase):
    def test_exit_code_and_output_are_the_commands(self):
        done = self.run_it("sh", "-c", "echo out; echo err >&2; exit 42")
        self.assertEqual(done.returncode, 42)
        self.assertEqual(done.stdout, b"out\n")
        self.assertTrue(done.stderr.startswith(b"err\n"), done.stderr)
        self.assertEqual(self.manifest()["exit_code"], 42)
        self.assertNotIn(b"\x1b", done.stderr)

    def test_no_such_command_is_127_and_leaves_nothing(self):
        for word in ("no-such-command-of-genscope", "/no/such/file"):
            done = self.run_it(word, "x")
            self.assertEqual(done.returncode, 127)
            self.assertEqual(done.stdout, b"")
            self.assertRegex(done.stderr.decode(), rf"^genscope: cannot run '{word}': .*\n$")
        self.assertEqual(self.runs(), [])

    def test_not_executable_is_126_and_leaves_nothing(self):
        script = self.dir / "script"
        script.write_text("#!/bin/sh\n")
        done = self.run_it(str(script))
        self.assertEqual(done.returncode, 126)
        self.assertIn(b"not executable", done.stderr)
        script.write_text("#!/nonexistent/interpreter\n")
        script.chmod(0o755)
        done = self.run_it(str(script))
        self.assertEqual(done.returncode, 127)
        self.assertIn(b"interpreter", done.stderr)
        self.assertEqual(self.runs(), [])

    def test_nothing_to_run_is_usage(self):
        done = self.run_it()
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"nothing to run", done.stderr)

    def test_words_arrive_as_they_are(self):
        words = ["[a,b]", "", "--quiet", "--", "run", "a b", "{x}", "-h", "%%", "ü\n"]
        done = self.run_it(PYTHON, "-c", "import sys, json; print(json.dumps(sys.argv[1:]))",
                           *words, options=["--quiet"])
        self.assertEqual(json.loads(done.stdout), words)
        self.assertEqual(done.stderr, b"")

    def test_the_environment_names_the_run(self):
        done = self.run_it("sh", "-c", 'echo "$GENSCOPE_RUN_DIR"', options=["--name", "my run"])
        path = done.stdout.decode().strip()
        self.assertTrue(os.path.isabs(path))
        self.assertEqual([str(r) for r in self.runs()], [path])
        self.assertEqual(self.manifest()["name"], "my run")
        self.assertIn(path.encode(), done.stderr)

    def test_a_directory_that_is_a_run_already_is_refused(self):
        place = str(self.dir / "mine")
        self.assertEqual(self.run_it("true", options=["--run-dir", place]).returncode, 0)
        done = self.run_it("echo", "ran", options=["--run-dir", place])
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, b"")

    def test_descriptors_are_the_same_as_without_us(self):
        code = ("import os, json; print(json.dumps({f: os.readlink(f'/proc/self/fd/{f}') "
                "for f in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{f}')}))")
        extra = os.open(self.dir, os.O_RDONLY)
        self.addCleanup(os.close, extra)
        alone = subprocess.run([PYTHON, "-c", code], stdin=subprocess.DEVNULL, pass_fds=[extra],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        watched = self.run_it(PYTHON, "-c", code, pass_fds=[extra])
        self.assertEqual(sorted(json.loads(watched.stdout)), sorted(json.loads(alone.stdout)))

    def test_stdin_is_the_commands(self):
        done = subprocess.run(
            [os.environ["GENSCOPE_BIN"], "run", "--quiet", "--", "wc", "-c"], env=self.env,
            input=b"x" * 100_000, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.stdout.strip(), b"100000")

    def test_a_flood_of_output_arrives_whole(self):
        done = self.run_it(PYTHON, "-c", "import sys\nfor i in range(200000): print(i, 'x' * 40)\n"
                           "sys.stderr.write('e' * 1000000 + '\\n')", options=["--quiet"])
        expected = b"".join(b"%d %s\n" % (i, b"x" * 40) for i in range(200000))
        self.assertEqual(done.stdout, expected)
        self.assertEqual(done.stderr, b"e" * 1000000 + b"\n")

    def test_nobody_reading_stderr_changes_nothing(self):
        read, write = os.pipe()
        os.close(read)
        process = subprocess.run([os.environ["GENSCOPE_BIN"], "run", "--", "sh", "-c", "exit 3"],
                                 env=self.env, stdin=subprocess.DEVNULL, stderr=write)
        os.close(write)
        self.assertEqual(process.returncode, 3)

    def test_closed_descriptors_stay_closed_and_nothing_is_written_to_them(self):
        bin_path = os.environ["GENSCOPE_BIN"]
        done = subprocess.run(
            ["sh", "-c", f"'{bin_path}' run -- ls /proc/self/fd <&- 2>&-; echo $?"],
            env=self.env, stdout=subprocess.PIPE)
        self.assertEqual(done.stdout.split(), [b"0", b"1", b"0"], "0 is the folder that ls reads")

    def test_a_wrong_probe_is_refused_with_the_nearest(self):
        done = self.run_it("true", options=["--probes", "process,sytem"])
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"did you mean 'system'", done.stderr)
        self.assertEqual(self.runs(), [])


class Signals(RunCase):
    def test_death_by_signal_is_128_and_its_number(self):
        done = self.run_it("sh", "-c", "kill -SEGV $$")
        self.assertEqual(done.returncode, 128 + signal.SIGSEGV)
        self.assertEqual(self.manifest()["exit_code"], 128 + signal.SIGSEGV)
        self.assertIn(b"SIGSEGV", done.stderr)

    def test_what_is_sent_to_us_alone_reaches_the_command_once(self):
        for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT"):
            with self.subTest(name):
                process = self.start(PYTHON, "-c", HANDLER, name, options=["--no-gpu"])
                self.assertEqual(process.stdout.readline(), b"ready\n")
                process.send_signal(getattr(signal, name))
                out, _ = process.communicate(timeout=120)
                self.assertEqual(out, b"count 1\n")
                self.assertEqual(process.returncode, 9)

    def test_terminating_us_ends_the_command_and_writes_the_run(self):
        process = self.start("sleep", "1000")
        wait_until(lambda: self.runs() and (self.runs()[0] / "run.json").exists(), "run")
        pid = process.pid
        wait_until(lambda: children(pid), "child")
        process.terminate()
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(self.manifest()["exit_code"], 128 + signal.SIGTERM)
        self.assertIn(b"SIGTERM", err)

    def test_ctrl_c_that_the_command_survives_does_not_lose_the_run(self):
        process = self.start(PYTHON, "-c", HANDLER, "SIGINT", start_new_session=True)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        # As the terminal does it, but for the sender: to the whole group.
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 9)
        self.assertEqual(self.manifest()["exit_code"], 9)

    def test_dispositions_and_mask_are_as_we_were_given_them(self):
        show = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]

        def ignore():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})

        for before in (None, ignore):
            alone = subprocess.run(show, stdout=subprocess.PIPE, preexec_fn=before).stdout
            watched = self.run_it(*show, options=["--quiet"], preexec_fn=before).stdout
            self.assertEqual(watched, alone)

    def test_signals_that_threads_use_are_as_we_were_given_them(self):
        # What posix_spawn starts has 32 and 33 ignored.
        def spawned(words):
            out = self.dir / "spawned"
            to_file = (os.POSIX_SPAWN_OPEN, 1, out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            pid = os.posix_spawnp(words[0], words, self.env, file_actions=[to_file])
            os.waitpid(pid, 0)
            return out.read_text()

        show = ["grep", "^SigIgn", "/proc/self/status"]
        alone = spawned(show)
        self.assertEqual(int(alone.split()[1], 16) & 0x1_8000_0000, 0x1_8000_0000)
        self.assertEqual(spawned([BIN, "run", "--quiet", "--", *show]), alone)

    def test_stopping_us_stops_the_command_and_both_go_on(self):
        process = self.start("sh", "-c", "echo ready; read x; sleep 0.2; exit 4")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGTSTP)
        wait_until(lambda: state(process.pid) == "T" or process.poll() is not None, "stop")
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 4)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return file.read().split()
    except OSError:
        return []


def state(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(") ", 1)[1][0]
    except OSError:
        return ""


class Families(RunCase):
    def test_descendants_that_outlive_the_command_are_named_and_not_waited_for(self):
        done = self.run_it("sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $!; exit 6")
        left = int(done.stdout)
        self.addCleanup(lambda: os.kill(left, signal.SIGKILL))
        self.assertEqual(done.returncode, 6)
        self.assertIn(f"1 still runs: {left} sleep".encode(), done.stderr)
        self.assertTrue(os.path.exists(f"/proc/{left}"), "it is not ours to end")

    def test_orphans_that_end_are_counted(self):
        # Each sh ends at once and leaves a sleep behind, which then ends before the command.
        done = self.run_it("sh", "-c", "for i in 1 2 3; do sh -c 'sleep 0.2 &'; done; sleep 1.5",
                           options=["--full"])
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"3 orphans ended", done.stderr)
        self.assertNotIn(b"still run", done.stderr)

    def test_cpu_time_of_children_is_counted(self):
        burn = "import time\nwhile time.process_time() < 0.4: pass"
        done = self.run_it(PYTHON, "-c", f"import subprocess, sys\nfor i in range(2): "
                           f"subprocess.run([sys.executable, '-c', {burn!r}])", options=["--full"])
        self.assertEqual(done.returncode, 0)
        match = re.search(r"CPU +([\d.]+) (ms|s)", done.stderr.decode())
        seconds = float(match[1]) * (0.001 if match[2] == "ms" else 1)
        self.assertGreater(seconds, 0.8)

    def test_peak_memory_is_the_trees(self):
        code = "import time; x = bytearray(300 << 20); x[::4096] = b'x' * len(x[::4096]); time.sleep(0.6)"
        done = self.run_it(PYTHON, "-c", code)
        match = re.search(r"memory +peak ([\d.]+) MiB \(([\d.]+) MiB anonymous\)",
                          done.stderr.decode())
        self.assertIsNotNone(match, done.stderr)
        self.assertTrue(300 <= float(match[1]) < 400, match[0])
        self.assertTrue(300 <= float(match[2]) < 400, match[0])

    def test_a_peak_between_two_samples_is_in_the_report_too(self):
        path = self.dir / "report.json"
        code = "import time; time.sleep(0.3); x = b'x' * (300 << 20); del x; time.sleep(0.3)"
        self.run_it(PYTHON, "-c", code, options=["--json", str(path), "--interval", "5000"])
        self.assertGreater(json.loads(path.read_text())["process"]["peak_rss_bytes"], 300 << 20)


class Troubles(RunCase):
    def complaint(self, done):
        """The only line that says that not all was recorded."""
        lines = [l for l in done.stderr.decode().splitlines() if "not " in l and "recorded" in l]
        self.assertEqual(len(lines), 1, done.stderr)
        return lines[0]

    def test_a_place_that_cannot_be_written_is_one_line(self):
        (self.dir / "file").write_text("x")
        done = self.run_it("sh", "-c", "echo out; exit 5", options=["-o", str(self.dir / "file/x")])
        self.assertEqual(done.returncode, 5)
        self.assertEqual(done.stdout, b"out\n")
        self.assertTrue(self.complaint(done).startswith("genscope: this run is not recorded: "))

    def test_a_full_disk_is_one_line(self):
        disk = self.dir / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "genscope-test", disk],
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("may not mount; the file size limit below tests the same")
        self.addCleanup(subprocess.run, ["umount", "-l", disk])
        done = self.run_it("sh", "-c", "echo out; exit 5", options=["-o", str(disk)])
        self.assertEqual(done.returncode, 5)
        self.assertEqual(done.stdout, b"out\n")
        self.assertIn("No space left", self.complaint(done))
        said = done.stderr.decode()
        self.assertRegex(said, r"\nFailed \(exit 5\) after [\d.]+ [mu]?s\.\n\n(  memory +peak .*\n)?  CPU ")
        for no in ("Recorded in", "In a browser", "n/a", "holds no trace"):
            self.assertNotIn(no, said, "nothing is there to be read")
        self.assertEqual(os.listdir(disk), [], "nor is a run left that only disappoints")

    def test_a_file_size_limit_is_one_line(self):
        # The signal has its default action: it must reach neither us nor be ignored for the command.
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        done = self.run_it("sh", "-c", "grep SigIgn /proc/self/status; exit 5", preexec_fn=limit)
        self.assertEqual(done.returncode, 5)
        self.assertIn("File too large", self.complaint(done))
        ignored = int(done.stdout.split()[1], 16)
        self.assertFalse(ignored & 1 << signal.SIGXFSZ - 1)

    def test_too_little_memory_to_read_the_run_is_one_line(self):
        if "/asan/" in BIN or "/tsan/" in BIN:
            self.skipTest("sanitizers reserve terabytes of address space")

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (160 << 20, 160 << 20))

        # A busy machine drops spans, and then the run is small enough to be read: it gets more time.
        for pace in ("1000", "4000", "12000"):
            run = str(self.out / f"run-{pace}")
            done = self.run_it(BURST, run, "3000000", pace, options=["--run-dir", run], preexec_fn=limit)
            self.assertEqual(done.returncode, 0)
            self.assertIn(b"made=6000000 ", done.stdout)
            if b"lost=0 " in done.stdout:
                break
        self.assertIn("memory", self.complaint(done))

    @unittest.skipUnless(os.getuid() == 0 and shutil.which("setpriv"),
                         "needs root and setpriv, to become nobody, whom the limit binds")
    def test_without_a_process_beside_it_the_command_runs_alone(self):
        self.out.mkdir()
        self.dir.chmod(0o777)
        self.out.chmod(0o777)
        for limit in (1, 2, 3):
            words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", "bash", "-c",
                     f'ulimit -u {limit}; exec "$@"', "bash", BIN, "run", "--", "/bin/sh", "-c",
                     "echo ran; exit 5"]
            done = subprocess.run(words, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=PATIENCE)
            self.assertEqual((done.stdout, done.returncode), (b"ran\n", 5), done.stderr)
            if limit == 1:
                self.assertIn(b"runs alone and unrecorded", done.stderr)

    def test_a_run_that_is_deleted_meanwhile_is_one_line(self):
        done = self.run_it("sh", "-c", 'rm -rf "$GENSCOPE_RUN_DIR"; exit 5')
        self.assertEqual(done.returncode, 5)
        self.complaint(done)

    def test_without_proc_the_command_runs_and_figures_are_unknown(self):
        empty = self.dir / "proc"
        empty.mkdir()
        self.env["GENSCOPE_PROC_ROOT"] = str(empty)
        self.env["GENSCOPE_SYS_ROOT"] = str(empty)
        done = self.run_it("sh", "-c", "echo out; sleep 0.3; exit 5", options=["--full"])
        self.assertEqual(done.returncode, 5)
        self.assertEqual(done.stdout, b"out\n")
        self.assertIn(b"written n/a", done.stderr)
        self.assertIn(b"energy    CPU n/a", done.stderr)

    def test_no_gpu_is_said_with_the_reason(self):
        self.env["GENSCOPE_NVML_LIBRARY"] = str(self.dir / "nothing.so")
        self.env["GENSCOPE_SYS_ROOT"] = str(self.dir)
        done = self.run_it("sleep", "0.5", options=["--full"])
        self.assertRegex(done.stderr.decode(), r"\n  GPU +n/a: .+\n")
        done = self.run_it("true", options=["--no-gpu"])
        self.assertNotIn(b"GPU", done.stderr)


class Results(RunCase):
    def test_quiet_says_nothing(self):
        done = self.run_it("sh", "-c", "echo err >&2", options=["--quiet"])
        self.assertEqual(done.stderr, b"err\n")
        self.assertEqual(self.manifest()["exit_code"], 0)

    def test_settings_decide_what_is_kept(self):
        if not TINYDIFF:
            self.skipTest("tinydiff was not built")
        settings = self.dir / "genscope.yaml"
        settings.write_text("save_raw_data: true\nmax_data_points: 4\nreport_format: json\n"
                            "profile_inference_steps: false\nprofile_vae_decode: false\n")
        done = self.run_it(TINYDIFF, "--steps", "3", "--out", str(self.dir / "x.png"),
                           options=["--config", str(settings), "--interval", "10"])
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((self.runs()[0] / "report.json").read_text())
        names = {(row["kind"], row["name"]) for row in report["stages"]}
        self.assertIn(("stage", "denoising"), names)
        self.assertNotIn(("stage", "vae_decode"), names)
        self.assertFalse([name for name in names if name[0] == "step"])
        lines = (self.runs()[0] / "samples.csv").read_text().splitlines()
        self.assertEqual(lines[0], "pid,counter,at_ns,value")
        of_series = collections.Counter(line.split(",")[1] for line in lines[1:])
        self.assertTrue(any(name.endswith("/rss_bytes") for name in of_series), of_series)
        self.assertLessEqual(max(of_series.values()), 4)

    def test_the_report_can_be_had_as_json(self):
        path = self.dir / "report.json"
        done = self.run_it("sh", "-c", "echo out; exit 3", options=["--json", str(path)])
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stdout, b"out\n")
        report = json.loads(path.read_text())
        self.assertEqual(report["schema"], "genscope.report/1")
        self.assertEqual(report["run"]["exit_code"], 3)

    def test_a_report_that_cannot_be_written_does_not_change_the_exit_code(self):
        done = self.run_it("sh", "-c", "exit 3", options=["--json", "/nonexistent/x.json"])
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"/nonexistent/x.json", done.stderr)

    def test_stages_of_a_program_that_marks_them_are_shown(self):
        if not TINYDIFF:
            self.skipTest("tinydiff is not built")
        done = self.run_it(TINYDIFF, "--steps", "3", "--out", str(self.dir) + "/", options=["--full"])
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr.decode(), r"\nStages\n.*\n(.*\n)*.*step")
        self.assertNotRegex(done.stderr.decode(), r"genscope +session", "our own is not theirs")
        done = self.run_it("true", options=["--full"])
        self.assertNotIn(b"Stages", done.stderr)


class FirstScreen(RunCase):
    """What a person sees first: the headline names the fact, in at most 30 lines."""

    LEAK = "import time\nkept = []\nfor i in range(215): kept.append(b'x' * (1 << 20)); time.sleep(0.1)"

    def screen(self, *words, options=(), code=0):
        done = self.run_it(*words, options=["--columns", "100", *options])
        self.assertEqual(done.returncode, code, done.stderr)
        lines = done.stderr.decode().split("\n\n", 1)[0].splitlines()
        text = done.stderr.decode()
        self.assertLessEqual(len(text.strip().splitlines()), 30, text)
        for line in text.splitlines():
            self.assertLessEqual(len(line), 100 if not line.startswith("Recorded in") else 1000, line)
        return " ".join(lines).strip(), text

    def test_a_program_that_marks_stages(self):
        if not TINYDIFF:
            self.skipTest("tinydiff is not built")
        headline, text = self.screen("sh", "-c", 'exec "$0" "$@" >/dev/null 2>&1', TINYDIFF, "--steps", "3",
                                     "--out", str(self.dir) + "/", options=["--no-gpu"])
        self.assertRegex(headline, r"\d% of [\d.]+ m?s.* findings?\.$")
        for part in (r"\n  denoising +\S+ +[\d.]+% ", r"\n  outside stages ", r"\n  steps +\S+  3: median ",
                     r"\n  memory +peak [\d.]+ MiB", r"\n  CPU +[\d.]+ of \d+ cores", r"\nRecorded in ",
                     r"\nNext: genscope report --full"):
            self.assertRegex(text, part)
        for word in ("probe_slowed", "cannot open", ".slice", "n/a"):
            self.assertNotIn(word, text)

    def test_a_plain_script(self):
        headline, text = self.screen(PYTHON, "-c", "print(1)", options=["--instrument", "none"])
        self.assertRegex(headline, r"^(Took [\d.]+ m?s|Its main thread waited|Waited for a CPU)")
        self.assertIn("with genscope.stage(", text)

    def test_a_script_that_fails(self):
        self.assertRegex(self.screen("sh", "-c", "exit 3", code=3)[0], r"^Failed \(exit 3\) after [\d.]+ m?s")

    def test_a_script_that_is_killed(self):
        self.assertRegex(self.screen("sh", "-c", "kill -KILL $$", code=137)[0],
                         r"^Killed \(SIGKILL\) after [\d.]+ m?s")

    def test_a_script_that_is_interrupted(self):
        headline, _ = self.screen("sh", "-c", "kill -INT $$", code=130)
        self.assertRegex(headline, r"^Interrupted \(SIGINT\) after [\d.]+ m?s")

    def test_a_script_that_leaks(self):
        headline, text = self.screen(PYTHON, "-c", self.LEAK, options=["--interval", "20", "--instrument", "none"])
        self.assertRegex(headline, r"Memory grew by [\d.]+ [KMG]iB a second\.")
        self.assertRegex(text, r"memory +peak .*, grows by [\d.]+ [KMG]iB a second")

    def test_the_command_needs_no_dashes(self):
        done = subprocess.run([BIN, "run", "--no-gpu", "sh", "-c", "exit 4", "--", "--quiet"], env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(self.manifest()["command"], ["sh", "-c", "exit 4", "--", "--quiet"])


class Named(RunCase):
    """Runs by name, and the commands that keep them in order."""

    def genscope(self, *words, code=0):
        done = subprocess.run([BIN, *words], env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, (words, done.stderr))
        return done.stdout.decode() if code == 0 else done.stderr.decode()

    def test_from_the_first_run_to_the_last(self):
        for name, code in (("one", 0), ("demo", 3)):  # a command's name, too
            self.run_it("sh", "-c", f"exit {code}", options=["--name", name, "--no-gpu", "--quiet"])
        runs = json.loads(self.genscope("list", "--json"))["runs"]
        self.assertEqual([(run["name"], run["state"]) for run in runs], [("demo", "failed (exit 3)"), ("one", "ok")])
        self.assertTrue(all(run["wall_ns"] > 0 and run["headline"] for run in runs))
        for words, name in (((), "demo"), (("last",), "demo"), (("demo",), "demo"), (("last~1",), "one"), (("one",), "one"),
                            ((runs[1]["id"][:-1],), "one"), ((runs[1]["path"],), "one")):
            self.assertEqual(json.loads(self.genscope("report", *words, "--json"))["run"]["name"], name, words)
        self.genscope("advise", "last")
        self.assertIn("neither a path nor the name of a run", self.genscope("report", "three", code=2))
        self.assertIn("baseline", self.genscope("tag", "one", "baseline"))
        self.assertIn("baseline", self.genscope("list"))
        self.assertEqual(len(json.loads(self.genscope("list", "--tag", "baseline", "--json"))["runs"]), 1)
        self.assertIn("Would remove", self.genscope("prune", "--keep", "0", "--dry-run"))
        self.assertEqual(len(self.genscope("prune", "--keep", "0").splitlines()), 2, "a tagged run stays")
        self.assertIn("Removed", self.genscope("rm", "last"))
        self.assertEqual(json.loads(self.genscope("list", "--json"))["runs"], [])
        self.assertIn("there is no run", self.genscope("report", code=2))

    def test_the_name_of_a_file_says_the_format(self):
        self.run_it("sh", "-c", "sleep 0.3", options=["--name", "one", "--no-gpu", "--quiet"])
        for command, name, begin in (("report", "r.json", b"{"), ("report", "r.HTML", b"<!"), ("report", "r.pftrace", b"\n"),
                                     ("advise", "a.json", b"{"), ("advise", "a.md", b"## "), ("aggregate", "g.json", b"{")):
            self.genscope(command, "last", "-o", name)
            self.assertTrue((self.dir / name).read_bytes().lower().startswith(begin), (command, name))
        trace = json.loads(self.genscope("report", "-f", "chrome"))
        self.assertIn("rss_bytes", {event["name"].split()[-1] for event in trace["traceEvents"] if event["ph"] == "C"})
        for command in ("report", "advise", "aggregate"):
            said = self.genscope(command, "last", "-o", "x.pdf", code=2)
            self.assertIn("x.pdf: this command writes no .pdf; end the name with .", said)
        self.assertFalse((self.dir / "x.pdf").exists())
        self.assertIn("leave --spans out", self.genscope("report", "--spans", "-f", "chrome", code=2))

    def test_a_run_in_progress_stays(self):
        process = self.start("sleep", "300", options=["--no-gpu", "--quiet"])
        wait_until(lambda: "running" in self.genscope("list"), "run in the list")
        self.assertIn("in progress", self.genscope("rm", "last", code=2))
        self.genscope("prune", "--keep", "0")
        self.assertEqual(len([path for path in self.runs() if path.is_dir()]), 1)
        process.terminate()
        self.assertEqual(process.wait(PATIENCE), 143)
        self.assertIn("killed (SIGTERM)", self.genscope("list"))


if __name__ == "__main__":
    unittest.main()
