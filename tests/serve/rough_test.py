#!/usr/bin/env python3
"""Those who mean `genscope serve` no good, and those who are only many."""
import concurrent.futures
import gzip
import json
import re
import resource
import socket
import sys
import time
import unittest

from serving import PATIENCE, TOKEN, LONG, MEMORY, fewer, events, ServeCase


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

    def test_bodies_without_end_take_no_memory(self):
        server = self.serve()
        before = server.memory()
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\n"
        for begin, block in ((head + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a" * 65536),
                             (head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n" * 9000),
                             (head + b"Transfer-Encoding: gzip\r\n\r\n", b"a" * 65536),
                             (head + b"Content-Length: 1000000000\r\n\r\n", b"a" * 65536),
                             (head, b"X: y\r\n" * 9000),
                             (b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)):
            with socket.create_connection(("127.0.0.1", server.port), timeout=5) as s:
                try:
                    s.sendall(begin)
                    for _ in range(400):  # 25 MB, of which none is to be kept
                        s.sendall(block)
                except OSError:
                    pass
            self.assertLess(server.memory() - before, MEMORY, begin)
        self.alive(server)

    def test_connections_are_closed_where_the_client_says_so(self):
        server = self.serve()
        for version, field in (("1.0", b""), ("1.1", b"Connection: Close\r\n"),
                               ("1.1", b"Connection: te, close\r\n"), ("1.1", b"Host: two\r\n")):
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as s:
                s.sendall(f"GET /healthz HTTP/{version}\r\nHost: localhost\r\n".encode() + field + b"\r\n")
                while s.recv(4096):  # the 30 s are fewer than an idle connection has
                    pass

    def test_without_descriptors_the_runs_are_still_found(self):
        self.finished_run()
        server = self.serve(before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)))
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(100)]
        self.addCleanup(lambda: [s.close() for s in held])
        answer, body = server.get("/api/v1/runs")
        self.assertEqual((answer.status, len(json.loads(body)["runs"])), (200, 1))

    def test_what_cannot_be_looked_at_is_not_told_as_nothing(self):
        server = self.serve()
        self.runs.rename(self.dir / "moved")
        for path in ("/api/v1/runs", "/metrics"):
            answer, body = server.get(path)
            self.assertEqual(answer.status, 503, path)
            self.assertIn(b"cannot list", body)

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
