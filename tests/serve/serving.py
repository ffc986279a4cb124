"""What the tests of `genscope serve` share: a server, runs behind it, a reader of its events."""
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest

BIN, TINYDIFF = os.environ["GENSCOPE_BIN"], os.environ["TINYDIFF"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 300
TOKEN = "0123456789abcdef"
LONG = 1000
MEMORY = 400 if os.environ.get("SANITIZED") == "1" else 24  # MB: a sanitizer keeps what was freed


def fewer(count):
    """So many, or a sixth where a sanitizer makes each of them twenty times slower."""
    return count // 6 if os.environ.get("SANITIZED") == "1" else count


class Server:
    """One `genscope serve`; stopped when it goes."""

    def __init__(self, folder, *options, token=("--token", TOKEN), environment=None, before=None):
        self.process = subprocess.Popen(
            [BIN, "serve", str(folder), *token, *options], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, **(environment or {})}, preexec_fn=before)
        self.url = self.process.stdout.readline().strip()
        self.port = int(re.search(r":(\d+)/", self.url).group(1))

    def get(self, path, headers=None, method="GET", token=True):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        sent = {"Authorization": f"Bearer {TOKEN}"} if token else {}
        connection.request(method, path, headers={**sent, **(headers or {})})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body

    def raw(self, data, wait=5.0):
        """What comes back for these bytes, until the server closes or `wait` seconds pass."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as s:
            try:
                s.sendall(data)
                out = b""
                while piece := s.recv(65536):
                    out += piece
            except (TimeoutError, ConnectionError):
                pass
            return out

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        if not self.process.stderr.closed:
            self.said = self.process.stderr.read()
            self.process.stderr.close()
        return code

    def memory(self):
        """Resident, in MB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) >> 10


def events(server, run, count, last_id=None):
    """The first `count` events of a run's stream: (id, name, data)."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    if last_id is not None:
        headers["Last-Event-ID"] = str(last_id)
    connection.request("GET", f"/api/v1/runs/{run}/stream", headers=headers)
    answer = connection.getresponse()
    assert answer.status == 200, answer.status
    assert answer.getheader("Content-Type") == "text/event-stream"
    found, now = [], {}
    while len(found) < count:
        line = answer.fp.readline()
        if not line:
            break
        line = line.decode().rstrip("\n")
        if line:
            key, _, value = line.partition(": ")
            now[key] = value
        elif now:
            found.append((int(now["id"]), now["event"], json.loads(now["data"])))
            now = {}
    connection.close()
    return found


class ServeCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = pathlib.Path(scratch.name)
        self.runs = self.dir / "runs"
        self.runs.mkdir()

    def serve(self, *options, **more):
        server = Server(self.runs, *options, **more)
        self.addCleanup(server.stop)
        return server

    def start_run(self, name, steps, *options):
        """tinydiff under `genscope run`; LONG steps take minutes."""
        process = subprocess.Popen(
            [BIN, "run", "--run-dir", str(self.runs / name), "--live", "never", "--no-gpu", "--",
             TINYDIFF, "--size", "256" if steps == LONG else "64", "--guidance", "1", "--steps",
             str(steps), "--no-image", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        """With what it runs, which would go on for minutes."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def finished_run(self, name="done", steps=4):
        self.assertEqual(self.start_run(name, steps).wait(PATIENCE), 0)
        return name

    def wait_until(self, condition, what):
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if value := condition():
                return value
            time.sleep(0.05)
        self.fail(f"in {PATIENCE} s there was no {what}")
