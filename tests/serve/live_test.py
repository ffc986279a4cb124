#!/usr/bin/env python3
"""Runs that are watched while they go: `genscope serve`, and `genscope run --serve`."""
import concurrent.futures
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

from serving import BIN, TINYDIFF, PATIENCE, LONG, fewer, events, ServeCase


class Live(ServeCase):
    def follow(self, steps):
        """The events of a run, from its start until its stream ends."""
        name = f"going-{steps}"
        self.start_run(name, steps)
        server = self.serve()
        self.wait_until(lambda: name in server.get("/api/v1/runs")[1].decode(), "run")
        return events(server, name, 1000)

    def test_a_run_is_followed_to_its_end(self):
        # How long a step takes depends on the machine and the sanitizer: a run that is over before a
        # tick has seen its stage is made longer.
        for count in (fewer(60), 200, 2000):
            got = self.follow(count)
            ticks = [data for _, name, data in got if name == "tick"]
            stages = {p["stage"] for tick in ticks for p in tick["processes"]}
            if "denoising" in stages:
                break
        names = [name for _, name, _ in got]
        self.assertEqual(names[-1], "end")
        self.assertEqual(got[-1][2], {"exit_code": 0})
        numbers = [number for number, _, _ in got]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertIn("denoising", stages)
        steps = [p["steps_done"] for tick in ticks for p in tick["processes"]
                 if p["stage"] == "denoising"]
        self.assertEqual(steps, sorted(steps))
        self.assertTrue(any(tick["steps"] for tick in ticks))
        metrics = {v["metric"] for tick in ticks for v in tick["values"]}
        self.assertIn("rss_bytes", metrics)

    def test_who_comes_back_gets_what_was_missed(self):
        self.start_run("going", LONG)
        server = self.serve()
        self.wait_until(lambda: "going" in server.get("/api/v1/runs")[1].decode(), "run")
        first = events(server, "going", 2)
        time.sleep(2.5)
        again = events(server, "going", 2, last_id=first[-1][0])
        self.assertEqual(again[0][0], first[-1][0] + 1)

    def test_a_run_that_is_killed_while_watched(self):
        process = self.start_run("going", LONG)
        server = self.serve()
        self.wait_until(lambda: "going" in server.get("/api/v1/runs")[1].decode(), "run")
        events(server, "going", 2)
        children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True,
                                  text=True).stdout.split()
        process.kill()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        got = events(server, "going", 1000)
        self.assertEqual(got[-1][1:], ("end", {"exit_code": None}))
        self.assertEqual(server.get("/api/v1/runs/going/page")[0].status, 200)

    def test_a_killed_run_whose_pid_lives_again_is_over(self):
        process = self.start_run("going", LONG)
        server = self.serve()
        entry = lambda: json.loads(server.get("/api/v1/runs")[1])["runs"][0]
        self.wait_until(lambda: (self.runs / "going/run.json").exists() and entry()["in_progress"],
                        "run in progress")
        self.end(process)
        for file in list((self.runs / "going").glob("trace-*")):
            file.rename(file.with_name(re.sub(r"^trace-\d+-", f"trace-{os.getpid()}-", file.name)))
        self.wait_until(lambda: not entry()["in_progress"], "end of the run")
        self.assertIn("genscope_runs_in_progress 0", server.get("/metrics")[1].decode())

    def test_two_hundred_viewers_and_nothing_is_dropped(self):
        process = self.start_run("going", fewer(120))
        server = self.serve()
        self.wait_until(lambda: "going" in server.get("/api/v1/runs")[1].decode(), "run")
        with concurrent.futures.ThreadPoolExecutor(200) as pool:
            readers = [pool.submit(events, server, "going", 1000) for _ in range(200)]
            self.assertEqual(process.wait(PATIENCE), 0)
            ends = [reader.result()[-1][1] for reader in readers]
        self.assertEqual(set(ends), {"end"})
        report = json.loads(server.get("/api/v1/runs/going/report.json")[1])
        self.assertEqual(report["recorder"]["dropped"], 0)
        self.assertEqual(report["steps"]["count"], fewer(120))


class RunServe(ServeCase):
    """`genscope run --serve`: the run shows itself."""

    def run_it(self, *command, options=()):
        process = subprocess.Popen(
            [BIN, "run", "--serve", "--run-dir", str(self.runs / "it"), "--live", "never",
             "--no-gpu", *options, "--", *command], stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(self.end, process)
        line = process.stderr.readline()
        found = re.search(r"live at http://127\.0\.0\.1:(\d+)/runs/it\?token=([0-9a-f]{32})$", line)
        self.assertTrue(found, line)
        self.port, self.token = int(found[1]), found[2]
        return process

    def stream(self):
        """Names and data of all events until the stream ends."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", f"/api/v1/runs/it/stream?token={self.token}")
        text = connection.getresponse().read().decode()
        connection.close()
        return re.findall(r"event: (\w+)\ndata: (.*)\n", text)

    def test_viewers_are_told_of_the_end_and_get_the_last_page(self):
        process = self.run_it(TINYDIFF, "--size", "64", "--guidance", "1", "--steps",
                              str(fewer(60)), "--no-image")
        got = self.stream()
        self.assertEqual(got[-1], ("end", '{"exit_code":0}'))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", f"/api/v1/runs/it/report.json?token={self.token}")
        self.assertEqual(json.loads(connection.getresponse().read())["steps"]["count"], fewer(60))
        connection.close()
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_the_exit_code_is_the_commands_and_no_socket_is_inherited(self):
        process = self.run_it("sh", "-c", "ls -l /proc/self/fd >&2; exit 3")
        self.assertEqual(process.wait(PATIENCE), 3)
        said = process.stderr.read()
        self.assertNotIn("socket:", said)

    def test_it_lingers_when_asked_to(self):
        process = self.run_it("sh", "-c", "exit 4", options=["--linger"])
        for line in process.stderr:
            if "still at" in line:
                break
        got = self.stream()
        self.assertEqual(got[-1][0], "end")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE), 4)

    def test_a_taken_port_does_not_keep_the_command_from_running(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = subprocess.run(
                [BIN, "run", "--serve", "--port", str(taken.getsockname()[1]), "--run-dir",
                 str(self.runs / "it"), "--no-gpu", "--", "sh", "-c", "exit 5"],
                capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 5)
        self.assertIn("there is no live page: ", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
