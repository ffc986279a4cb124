"""genscope.asgi, spoken to by hand: no framework and no server."""
import asyncio
import os
import tempfile
import unittest
from contextvars import copy_context

import genscope as gs
from genscope import _core, asgi
from genscope._asgi_routes import route_before

from harness import spans_of

BIN = os.environ["GENSCOPE_BIN"]


def scope(path="/x", headers=(), **more):
    return {"type": "http", "method": "GET", "path": path, "headers": list(headers), **more}


async def call(app, scope, messages=({"type": "http.request"},)):
    """What the app sent."""
    left, sent = list(messages), []

    async def receive():
        return left.pop(0) if left else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)
    await app(scope, receive, send)
    return sent


def answering(status=200, parts=(b"ok",), before=None):
    async def app(scope, receive, send):
        if before is not None:
            result = before(scope)
            if asyncio.iscoroutine(result):
                await result
        await send({"type": "http.response.start", "status": status, "headers": [(b"a", b"b")]})
        for i, part in enumerate(parts):
            await send({"type": "http.response.body", "body": part, "more_body": i + 1 < len(parts)})
    return app


class Disconnect(unittest.IsolatedAsyncioTestCase):
    async def test_work_of_a_client_that_stays(self):
        async def work():
            await asyncio.sleep(0)
            return 7

        async def receive():
            await asyncio.sleep(3600)
        self.assertEqual(await asgi.until_disconnect(receive, work()), 7)

        async def failing():
            raise KeyError("x")
        with self.assertRaises(KeyError):
            await asgi.until_disconnect(receive, failing())

    async def test_work_of_a_client_that_leaves_is_cancelled(self):
        ended = []

        async def work():
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                ended.append("work")
                raise
        messages = [{"type": "http.request"}, {"type": "http.disconnect"}]

        async def receive():
            return messages.pop(0)
        with self.assertRaises(asgi.Disconnected):
            await asgi.until_disconnect(receive, work())
        self.assertEqual((ended, messages), (["work"], []))

    async def test_a_request_that_is_cancelled_cancels_the_work(self):
        begun, ended = asyncio.Event(), []

        async def work():
            begun.set()
            try:
                await asyncio.sleep(3600)
            finally:
                ended.append("work")

        async def receive():
            await asyncio.sleep(3600)
        task = asyncio.ensure_future(asgi.until_disconnect(receive, work()))
        await begun.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)
        self.assertEqual(ended, ["work"])


class Figures(unittest.TestCase):
    def test_counts_statuses_and_errors(self):
        ok = asgi.RequestMonitor(answering(), slo_seconds=60, name="figures")
        for _ in range(3):
            asyncio.run(call(ok, scope()))
        ok.app = answering(404)
        asyncio.run(call(ok, scope()))
        ok.app = answering(503)
        asyncio.run(call(ok, scope()))

        async def broken(scope, receive, send):
            raise ValueError("no")
        ok.app = broken
        with self.assertRaises(ValueError):
            asyncio.run(call(ok, scope()))
        stats = ok.stats()
        self.assertEqual((stats["begun"], stats["finished"], stats["failed"]), (6, 6, 3))
        self.assertEqual(dict(stats["errors"]), {"4xx": 1, "5xx": 1, "ValueError": 1})
        self.assertEqual((stats["in_flight"], stats["total_seconds"]["count"]), (0, 3))
        self.assertEqual(stats["slo_share"], 3 / 5)  # a client's error is in neither count
        self.assertIn('genscope_request_errors_total{entity="figures",class="5xx"} 1',
                      ok.prometheus_text())
        self.assertIs(asgi.monitor("figures"), ok)

    def test_in_flight(self):
        seen = []
        ok = asgi.RequestMonitor(None, name="flying")
        ok.app = answering(before=lambda _: seen.append(ok.stats()["in_flight"]))
        asyncio.run(call(ok, scope()))
        self.assertEqual((seen, ok.stats()["in_flight"]), ([1], 0))

    def test_headers_of_document_000(self):
        ok = asgi.RequestMonitor(answering())
        first = dict(asyncio.run(call(ok, scope()))[0]["headers"])
        second = dict(asyncio.run(call(ok, scope()))[0]["headers"])
        self.assertEqual(set(first), {b"a", b"x-request-time"})  # no average yet
        self.assertEqual(set(second), {b"a", b"x-request-time", b"x-avg-request-time"})
        self.assertRegex(second[b"x-avg-request-time"].decode(), r"^\d+\.\d{3}$")
        off = asgi.RequestMonitor(answering(), response_headers=False)
        self.assertEqual(asyncio.run(call(off, scope()))[0]["headers"], [(b"a", b"b")])

    def test_metrics_path(self):
        ok = asgi.RequestMonitor(answering(), metrics_path="/metrics")
        asyncio.run(call(ok, scope()))
        start, body = asyncio.run(call(ok, scope("/metrics")))
        self.assertEqual(start["status"], 200)
        self.assertIn(b"genscope_requests_finished_total", body["body"])
        self.assertEqual(ok.stats()["finished"], 1)  # it does not count itself

    def test_streams_pass_message_by_message(self):
        ok = asgi.RequestMonitor(answering(parts=(b"a", b"", b"b")), response_headers=False)
        sent = asyncio.run(call(ok, scope()))
        self.assertEqual(sent[1:], [
            {"type": "http.response.body", "body": b"a", "more_body": True},
            {"type": "http.response.body", "body": b"", "more_body": True},
            {"type": "http.response.body", "body": b"b", "more_body": False}])
        self.assertEqual(ok.stats()["first_byte_seconds"]["count"], 1)

    def test_other_protocols_are_untouched(self):
        seen = []

        async def app(scope, receive, send):
            seen.append((receive, send))
        ok = asgi.RequestMonitor(app)
        for kind in ("websocket", "lifespan"):
            given = (object(), object())
            asyncio.run(ok({"type": kind}, *given))
            self.assertIs(seen[-1][0], given[0])
            self.assertIs(seen[-1][1], given[1])
        self.assertEqual(ok.stats()["begun"], 0)

    def test_clients_that_go(self):
        async def waits(scope, receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"a", "more_body": True})
            while (await receive())["type"] != "http.disconnect":
                pass
        ok = asgi.RequestMonitor(waits)
        asyncio.run(call(ok, scope()))

        async def silent(scope, receive, send):
            pass
        ok.app = silent
        asyncio.run(call(ok, scope()))

        async def cancelled(scope, receive, send):
            raise asyncio.CancelledError
        ok.app = cancelled
        with self.assertRaises(asyncio.CancelledError):
            asyncio.run(call(ok, scope()))
        self.assertEqual(dict(ok.stats()["errors"]),
                         {"client_disconnect": 1, "no_response": 1, "cancelled": 1})

    def test_a_broken_pipe_is_the_client(self):
        async def send(message):
            raise BrokenPipeError
        ok = asgi.RequestMonitor(answering())
        with self.assertRaises(BrokenPipeError):
            asyncio.run(ok(scope(), None, send))
        self.assertEqual(dict(ok.stats()["errors"]), {"client_disconnect": 1})


class Queue(unittest.TestCase):
    def test_forms_of_the_header(self):
        now = 1_700_000_010.0
        for key, text, waited in [
                (b"X-Request-Start", b"t=1700000009.5", 0.5),
                (b"x-queue-start", b"1700000009500", 0.5),
                (b"x-request-start", b"t=1700000009500000", 0.5),
                (b"x-request-start", b"1700000011", None),  # of the future
                (b"x-request-start", b"1600000000", None),
                (b"x-request-start", b"soon", None),
                (b"x-request-start", b"nan", None),
                (b"x-other", b"1700000009", None)]:
            with self.subTest(text=text):
                got = asgi.queue_seconds([(b"a", b"1"), (key, text)], now)
                self.assertEqual(got, waited)

    def test_it_is_in_the_figures(self):
        import time
        ok = asgi.RequestMonitor(answering())
        asyncio.run(call(ok, scope()))
        self.assertEqual(ok.stats()["queue_seconds"]["count"], 0)
        header = (b"x-request-start", b"t=%.6f" % (time.time() - 100))
        asyncio.run(call(ok, scope(headers=[header])))
        self.assertEqual(ok.stats()["queue_seconds"]["count"], 1)
        self.assertGreater(ok.stats()["queue_seconds"]["max"], 99)


class Route:
    """As Starlette's: its path, and whether it fits."""

    def __init__(self, path, prefix, match=2, routes=None):
        self.path, self.prefix, self.match, self.routes = path, prefix, match, routes

    def matches(self, scope):
        return (self.match if scope["path"].startswith(self.prefix) else 0), {}


class App:
    def __init__(self, *routes):
        self.routes = routes


class Routes(unittest.TestCase):
    def test_patterns(self):
        app = App(Route("/a/{id}", "/a/", match=1), Route("/a/{name}", "/a/"),
                  Route("/m", "/m/", routes=[Route("/in/{x}", "/m/in")]), Route("/only", "/o", 1))
        for path, pattern in [("/a/17", "/a/{name}"), ("/m/in/4", "/m/in/{x}"),
                              ("/m/out", "/m/unmatched"), ("/o", "/only"), ("/z/9", "unmatched")]:
            self.assertEqual(route_before(scope(path, app=app)), pattern)
        self.assertIsNone(route_before(scope("/a/1")))
        self.assertIsNone(route_before(scope("/a/1", app=App(object()))))


class Recorded(unittest.TestCase):
    def test_spans_below_the_request(self):
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            with gs.session("service", run_dir=run, quiet=True):
                self.serve()
            spans = spans_of(run)
        names = {s["id"]: s["name"] for s in spans}
        parents = {s["name"]: names.get(s["parent"]) for s in spans}
        self.assertEqual(parents["in_task"], "/slow/{id}")
        self.assertEqual(parents["in_thread"], "/slow/{id}")
        self.assertEqual(parents["inner"], "in_thread")
        self.assertEqual(parents["after"], "/slow/{id}")
        self.assertEqual(parents["other"], "/other")
        self.assertNotIn(parents["outside"], ("http", "/other", "/slow/{id}"))
        requests = {s["name"]: s for s in spans if s["kind"] == "request"}
        self.assertEqual(set(requests), {"/slow/{id}", "/other", "http"})
        args = requests["/slow/{id}"]["args"]
        self.assertEqual((args["method"], args["http_status"]), ("GET", 200))
        self.assertEqual(requests["/other"]["args"]["http_status"], 500)
        self.assertIn("failed", requests["/other"]["flags"])
        # A framework that tells its route only when it has found it.
        self.assertTrue(requests["http"]["args"]["route"].endswith("late.<locals>.endpoint"))

    def serve(self):
        """Two requests that overlap, one of them with work in a thread, and one of a framework that
        is not known."""
        routes = App(Route("/slow/{id}", "/slow"), Route("/other", "/other"))

        def in_thread():
            with gs.stage("in_thread"):
                with gs.stage("inner"):
                    pass

        async def slow(_):
            with gs.stage("in_task"):
                await asyncio.sleep(0.02)
            context = copy_context()  # as servers do
            await asyncio.get_running_loop().run_in_executor(None, context.run, in_thread)
            _core.end(_core.begin("by_hand"))
            with gs.stage("after"):
                pass

        async def other(_):
            await asyncio.sleep(0.01)
            with gs.stage("other"):
                pass

        def late(scope):
            def endpoint():
                pass
            scope["endpoint"] = endpoint

        async def both():
            await asyncio.gather(
                call(asgi.RequestMonitor(answering(before=slow)), scope("/slow/1", app=routes)),
                call(asgi.RequestMonitor(answering(500, before=other)), scope("/other", app=routes)))
            await call(asgi.RequestMonitor(answering(before=late)), scope("/late"))
            with gs.stage("outside"):  # the task goes on to other things
                pass
        asyncio.run(both())


if __name__ == "__main__":
    unittest.main()
