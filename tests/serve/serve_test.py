#!/usr/bin/env python3
"""`genscope serve` as browsers, scrapers and those who mean no good see it: over its sockets, with real
runs behind it."""
import concurrent.futures
import gzip
import http.client
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import struct
import sys
import tempfile
import threading
import time
import unittest

BIN, TINYDIFF = os.environ["GENSCOPE_BIN"], os.environ["TINYDIFF"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 300
TOKEN = "0123456789abcdef"
LONG = 1000


def fewer(count):
    """So many, or a sixth where a sanitizer makes each of them twenty times slower."""
    return count // 6 if os.environ.get("SANITIZED") == "1" else count


class Server:
    """One `genscope serve`; stopped when it goes."""

    def __init__(self, folder, *options):
        self.process = subprocess.Popen(
            [BIN, "serve", str(folder), "--token", TOKEN, *options], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
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
        return code


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

    def serve(self, *options):
        server = Server(self.runs, *options)
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


class Answers(ServeCase):
    def test_every_documented_route_answers_as_documented(self):
        name = self.finished_run()
        server = self.serve()
        described = json.loads((ROOT / "docs/openapi.json").read_text())
        for path, item in described["paths"].items():
            with self.subTest(path):
                where = path.replace("{run}", name)
                if path.endswith("/stream"):
                    got = events(server, name, 1)
                    self.assertEqual(got[0][1], "tick")
                    continue
                answer, body = server.get(where)
                documented = item["get"]["responses"]
                self.assertIn(str(answer.status), documented)
                self.assertEqual(answer.status, 200)
                (kind, content), = documented["200"]["content"].items()
                self.assertEqual(answer.getheader("Content-Type").split(";")[0], kind)
                if kind == "application/json":
                    document = json.loads(body)
                    for key in content["schema"].get("required", []):
                        self.assertIn(key, document)

    def test_the_page_holds_the_run(self):
        name = self.finished_run()
        server = self.serve()
        _, packed = server.get(f"/api/v1/runs/{name}/page")
        container = gzip.decompress(packed)
        self.assertEqual(container[:8], b"GSPAGE1\0")
        length, = struct.unpack("<I", container[8:12])
        header = json.loads(container[12:12 + length])
        self.assertEqual(header["schema"], "genscope.page/1")
        self.assertEqual(header["report"]["steps"]["count"], 4)
        answer, html = server.get(f"/api/v1/runs/{name}/report.html")
        self.assertIn("attachment", answer.getheader("Content-Disposition"))
        self.assertIn(b'id="genscope-data">H4sI', html)

    def test_metrics_are_what_prometheus_reads(self):
        self.start_run("going", LONG)
        server = self.serve()
        text = self.wait_until(
            lambda: (t := server.get("/metrics")[1].decode()) and "genscope_step_seconds{" in t and t,
            "step time in /metrics")
        families = set()
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                name = line.split()[2]
                self.assertNotIn(name, families, "one group per family")
                families.add(name)
                self.assertEqual(line.split()[3] == "counter", name.endswith("_total"), line)
            elif not line.startswith("#"):
                self.assertRegex(line, r'^[a-z_:0-9]+(\{([a-z]+="([^"\\\\]|\\\\.)*",?)*\})? [-+.e\d]+$')
                self.assertIn(re.split(r"[{ ]", line)[0], families)
        self.assertIn("genscope_runs_in_progress 1", text)

    def test_head_and_keep_alive(self):
        server = self.serve()
        answer, body = server.get("/api/v1/runs", method="HEAD")
        self.assertEqual((answer.status, body), (200, b""))
        self.assertEqual(int(answer.getheader("Content-Length")), len(server.get("/api/v1/runs")[1]))
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        for _ in range(3):
            connection.request("GET", "/healthz")
            self.assertEqual(connection.getresponse().read(), b"ok\n")
        connection.close()

    def test_term_ends_it_after_what_is_being_answered(self):
        name = self.finished_run()
        server = self.serve()
        reader = threading.Thread(target=lambda: events(server, name, 100))
        reader.start()
        time.sleep(0.5)
        self.assertEqual(server.stop(signal.SIGTERM), 0)
        reader.join(PATIENCE)
        self.assertFalse(reader.is_alive())

    def test_a_folder_that_is_not_there(self):
        done = subprocess.run([BIN, "serve", str(self.dir / "none")], capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no such folder", done.stderr)

    def test_a_port_that_is_taken(self):
        server = self.serve()
        done = subprocess.run([BIN, "serve", str(self.runs), "--port", str(server.port)],
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 5)
        self.assertIn("choose another --address or --port", done.stderr)


class Guarded(ServeCase):
    def test_without_the_token_there_is_nothing_but_health(self):
        server = self.serve()
        self.assertEqual(server.get("/healthz", token=False)[0].status, 200)
        for path in ("/", "/metrics", "/api/v1/runs", "/api/v1/runs/x/page", "/nothing"):
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": "genscope_0=x"}):
                self.assertEqual(server.get(path, headers, token=False)[0].status, 401, path)
            self.assertEqual(server.get(path + "?token=wrong", token=False)[0].status, 401)

    def test_the_address_with_the_token_gives_a_cookie_that_opens_the_rest(self):
        server = self.serve()
        answer, _ = server.get(f"/?token={TOKEN}", token=False)
        cookie = answer.getheader("Set-Cookie")
        self.assertIn("HttpOnly", cookie)
        self.assertIn("SameSite=Strict", cookie)
        headers = {"Cookie": "other=1; " + cookie.split(";")[0]}
        self.assertEqual(server.get("/api/v1/runs", headers, token=False)[0].status, 200)

    def test_another_host_name_is_not_believed(self):
        server = self.serve()
        for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil:80", ""):
            self.assertEqual(server.get("/api/v1/runs", {"Host": host})[0].status, 421, host)
        for host in ("localhost", f"localhost:{server.port}", "127.0.0.1", "[::1]:80"):
            self.assertEqual(server.get("/api/v1/runs", {"Host": host})[0].status, 200, host)

    def test_every_answer_is_dressed(self):
        server = self.serve()
        for path in ("/", "/api/v1/runs", "/nothing", "/healthz"):
            headers = server.get(path)[0].headers
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Cache-Control"], "no-store")
            self.assertNotIn("Access-Control-Allow-Origin", headers)

    def test_no_path_leads_out_of_the_folder(self):
        (self.dir / "secret").mkdir()
        (self.dir / "secret/run.json").write_text('{"name":"secret","started_unix_ns":1}')
        self.finished_run()
        server = self.serve()
        for run in ("..", "../secret", "..%2fsecret", "%2e%2e%2fsecret", "/etc", "done/../../secret",
                    "./done", "done%00", "runs", ""):
            for part in ("", "/page", "/report.json", "/stream"):
                status = server.get(f"/api/v1/runs/{run}{part}")[0].status
                self.assertIn(status, (400, 404), run + part)

    def test_only_get_and_head(self):
        server = self.serve()
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
            self.assertEqual(server.get("/api/v1/runs", method=method)[0].status, 405, method)


class Rough(ServeCase):
    """Malformed, huge, slow and many: the server goes on serving."""

    def alive(self, server):
        self.assertEqual(server.get("/healthz")[1], b"ok\n")

    def test_malformed_requests(self):
        server = self.serve()
        for data in (b"\0\1\2\3\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 100,
                     b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"GET /a%00b HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"GET http://x/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
                     b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: localhost\r\n\r\nzz\r\n",
                     b"GET / HTTP/1.1\r\n" + b": no name\r\n" * 3 + b"\r\n",
                     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
            out = server.raw(data, wait=1.0)
            self.assertNotIn(b" 200 ", out.split(b"\r\n")[0], data)
            self.alive(server)

    def test_huge_headers_and_bodies(self):
        server = self.serve()
        out = server.raw(b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\n\r\n")
        self.assertIn(out.split(b" ")[1:2], ([b"431"], []))  # refused, or cut while we still wrote
        out = server.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"x: y\r\n" * 100_000 + b"\r\n")
        self.assertIn(out.split(b" ")[1:2], ([b"431"], []))
        out = server.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n" +
                         b"b" * 100_000)
        self.assertIn(out.split(b" ")[1:2], ([b"413"], []))
        self.alive(server)

    def test_a_slow_request_is_cut(self):
        server = self.serve()
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as s:
            s.sendall(b"GET / HTTP/1.1\r\n")
            began = time.monotonic()
            try:
                while time.monotonic() - began < 60:
                    s.sendall(b"x")
                    s.settimeout(0.2)
                    try:
                        if s.recv(10) == b"":
                            break
                    except TimeoutError:
                        pass
            except ConnectionError:
                pass
        self.assertLess(time.monotonic() - began, 60)
        self.alive(server)

    def test_more_idle_connections_than_it_takes(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = min(10_000, hard - 100)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        server = self.serve()
        held = []
        self.addCleanup(lambda: [s.close() for s in held])
        for _ in range(wanted):
            held.append(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE))
        self.alive(server)
        text = server.get("/metrics")[1].decode()
        count = int(float(re.search(r"(?m)^genscope_http_connections (\S+)$", text).group(1)))
        self.assertLessEqual(count, 4096)

    def test_many_at_once(self):
        name = self.finished_run()
        server = self.serve()
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            codes = list(pool.map(
                lambda i: server.get(f"/api/v1/runs/{name}/report.json" if i % 4 == 0 else "/api/v1/runs")
                [0].status, range(400)))
        self.assertLessEqual(set(codes), {200, 503})
        self.assertIn(200, codes)

    def test_beside_a_reader_that_does_not_read_others_are_served(self):
        self.start_run("going", LONG)
        server = self.serve()
        self.wait_until(lambda: "going" in server.get("/api/v1/runs")[1].decode(), "run")
        with socket.create_connection(("127.0.0.1", server.port)) as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            lazy.sendall(b"GET /api/v1/runs/going/stream HTTP/1.1\r\nHost: localhost\r\n"
                         b"Authorization: Bearer " + TOKEN.encode() + b"\r\n\r\n")
            self.assertEqual(len(events(server, "going", 3)), 3)


class Live(ServeCase):
    def test_a_run_is_followed_to_its_end(self):
        self.start_run("going", fewer(60))
        server = self.serve()
        self.wait_until(lambda: "going" in server.get("/api/v1/runs")[1].decode(), "run")
        got = events(server, "going", 1000)  # until the stream ends
        names = [name for _, name, _ in got]
        self.assertEqual(names[-1], "end")
        self.assertEqual(got[-1][2], {"exit_code": 0})
        numbers = [number for number, _, _ in got]
        self.assertEqual(numbers, sorted(set(numbers)))
        ticks = [data for _, name, data in got if name == "tick"]
        stages = {p["stage"] for tick in ticks for p in tick["processes"]}
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
