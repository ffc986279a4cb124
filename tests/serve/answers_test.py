#!/usr/bin/env python3
"""What `genscope serve` answers, over its sockets, with real runs behind it; and to whom."""
import gzip
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import struct
import sys
import threading
import time
import unittest

from serving import BIN, ROOT, PATIENCE, TOKEN, LONG, events, ServeCase


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

    def test_the_token_moves_from_the_address_into_a_cookie(self):
        name = self.finished_run()
        server = self.serve()
        answer, _ = server.get(f"/runs/{name}?a=b%20c&token={TOKEN}&d=%26", token=False)
        self.assertEqual(answer.status, 303)
        self.assertEqual(answer.getheader("Location"), f"/runs/{name}?a=b%20c&d=%26")
        cookie = answer.getheader("Set-Cookie")
        for part in ("; HttpOnly", "; SameSite=Strict", "; Path=/"):
            self.assertIn(part, cookie)
        headers = {"Cookie": "other=1; " + cookie.split(";")[0]}
        for path in (answer.getheader("Location"), "/", "/api/v1/runs"):
            self.assertEqual(server.get(path, headers, token=False)[0].status, 200, path)
        answer, _ = server.get(f"/?token={TOKEN}x", token=False)
        self.assertEqual((answer.status, answer.getheader("Set-Cookie")), (401, None))
        # Who asks without a browser is answered at once.
        self.assertEqual(server.get(f"/metrics?token={TOKEN}", token=False)[0].status, 200)

    def test_a_token_that_is_not_in_ps(self):
        file = self.dir / "token"
        file.write_text(TOKEN + "\n")
        for more in ({"token": ("--token-file", str(file))},
                     {"token": (), "environment": {"GENSCOPE_TOKEN": TOKEN}}):
            server = self.serve(**more)
            command = pathlib.Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
            self.assertNotIn(TOKEN.encode(), command)
            self.assertEqual(server.get("/api/v1/runs")[0].status, 200)
            self.assertEqual(server.get("/api/v1/runs", token=False)[0].status, 401)
            server.stop()
        for options, environment in ((["--token-file", str(self.dir / "none")], {}),
                                     (["--token-file", "/dev/null"], {}),
                                     (["--token", "a", "--token-file", str(file)], {}),
                                     (["--token", "a", "--no-token"], {}),
                                     ([], {"GENSCOPE_TOKEN": "a b"})):
            done = subprocess.run([BIN, "serve", str(self.runs), *options], capture_output=True,
                                  text=True, timeout=PATIENCE, env={**os.environ, **environment})
            self.assertEqual(done.returncode, 2, options)

    def test_who_opens_the_server_to_others_is_warned(self):
        for options, token, warning in (
                ((), ("--token", TOKEN), None),
                (("--address", "0.0.0.0"), ("--token", TOKEN), "who has the token can read the runs"),
                (("--address", "0.0.0.0"), ("--no-token",), "everyone there can read the runs"),
                ((), ("--no-token",), "without a token every user")):
            server = self.serve(*options, token=token)
            if warning:
                self.assertEqual(server.get("/api/v1/runs", {"Host": "evil.example"})[0].status, 421)
                self.assertEqual(server.get("/api/v1/runs", {"Host": socket.gethostname()})[0].status,
                                 200 if options else 421)
            server.stop()
            self.assertEqual("warning" in server.said, warning is not None, server.said)
            self.assertIn(warning or "", server.said)
        server = self.serve("--allow-host", "front.example,other.example")
        for host, status in (("front.example:80", 200), ("other.example", 200), ("evil.example", 421)):
            self.assertEqual(server.get("/api/v1/runs", {"Host": host})[0].status, status, host)

    def test_no_answer_allows_inline_scripts(self):
        name = self.finished_run()
        server = self.serve()
        for path in ("/", f"/runs/{name}", "/api/v1/runs", f"/api/v1/runs/{name}/report.html", "/none"):
            policy = server.get(path)[0].getheader("Content-Security-Policy")
            self.assertNotIn("unsafe", policy)
            self.assertIn("frame-ancestors 'none'", policy)
            self.assertEqual("script-src 'sha256-" in policy, not path.startswith(("/api", "/none")), path)

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
