"""Requests of real servers without middleware: FastAPI, Starlette and aiohttp, a generation inside."""
import asyncio
import unittest

import httpx
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

import genscope as gs
from genscope import asgi, hooks
from genscope._request import kind_of_generation
from genscope._core import begin, end

from recorded import RecordedCase

hooks.install(["servers"])


def generate():
    span = begin("Pipeline", kind_of_generation())
    end(span)
    return "picture"


def get(app, *paths):
    async def all_of_them():
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return await asyncio.gather(*(client.get(path) for path in paths))
    return asyncio.run(all_of_them())


def fast():
    app = FastAPI()

    @app.get("/sync/{user}")
    def sync(user: str):
        return generate()

    @app.get("/async/{user}")
    async def asynchronous(user: str):
        await asyncio.sleep(0.01)
        return generate()

    @app.get("/thread")
    async def thread():
        return await asyncio.to_thread(generate)

    @app.get("/stream")
    async def stream():
        async def parts():
            yield "a"
            await asyncio.sleep(0)
            yield generate()
        return StreamingResponse(parts())

    @app.get("/boom")
    def boom():
        raise RuntimeError("boom")
    return app


class Asgi(RecordedCase):
    def test_a_generation_is_a_stage_of_its_request(self):
        paths = ("/sync/ann", "/async/ann", "/async/bob", "/thread", "/stream")
        run = self.record(lambda: get(fast(), *paths))
        self.assertEqual([answer.status_code for answer in self.result], [200] * 5)
        requests = run.of("request")
        self.assertEqual(sorted(r["name"] for r in requests),
                         ["/async/{user}", "/async/{user}", "/stream", "/sync/{user}", "/thread"])
        for request in requests:
            self.assertEqual(run.stages(request), ["Pipeline"], request["name"])
            self.assertEqual((request["args"]["http_status"], request["args"]["method"]), (200, "GET"))

    def test_what_fails_and_what_is_not_there(self):
        run = self.record(lambda: get(fast(), "/boom", "/nowhere"))
        self.assertEqual([answer.status_code for answer in self.result], [500, 404])
        boom, nowhere = sorted(run.of("request"), key=lambda r: r["name"])
        self.assertEqual((boom["name"], boom["args"]["error"]), ("/boom", "RuntimeError"))
        self.assertIn("failed", boom["flags"])
        self.assertEqual((nowhere["name"], nowhere["args"]["http_status"]), ("unmatched", 404))
        self.assertNotIn("failed", nowhere["flags"])

    def test_a_monitor_in_the_application_or_around_it_records_alone(self):
        inside = fast()
        inside.add_middleware(asgi.RequestMonitor, name="inside")
        for app in (inside, asgi.RequestMonitor(fast(), name="around")):
            run = self.record(lambda: get(app, "/sync/ann"))
            (request,) = run.of("request")
            self.assertEqual(run.stages(request), ["Pipeline"])

    def test_an_application_in_another_is_one_request(self):
        async def home(request):
            return PlainTextResponse(generate())
        inner = Starlette(routes=[Route("/deep/{thing}", home)])
        run = self.record(lambda: get(Starlette(routes=[Mount("/in", inner)]), "/in/deep/x"))
        (request,) = run.of("request")
        self.assertEqual((request["name"], run.stages(request)), ("/in/deep/{thing}", ["Pipeline"]))


class Aiohttp(RecordedCase):
    def test_a_generation_is_a_stage_of_its_request(self):
        async def make(request):
            await asyncio.sleep(0.01)
            return web.Response(text=generate())

        async def gone(request):
            raise web.HTTPNotFound

        async def talk():
            app = web.Application()
            app.add_routes([web.get("/make/{user}", make), web.get("/gone", gone)])
            async with TestClient(TestServer(app)) as client:
                return [(await answer).status for answer in
                        (client.get("/make/ann"), client.get("/gone"), client.get("/nowhere"))]
        run = self.record(lambda: asyncio.run(talk()))
        self.assertEqual(self.result, [200, 404, 404])
        requests = {r["name"]: r for r in run.of("request")}
        self.assertEqual(set(requests), {"/make/{user}", "/gone", "unmatched"})
        self.assertEqual(run.stages(requests["/make/{user}"]), ["Pipeline"])
        self.assertEqual(requests["/gone"]["args"]["http_status"], 404)
        self.assertEqual([r for r in run.of("request") if "failed" in r["flags"]], [])


class Off(RecordedCase):
    def test_without_a_run_answers_are_as_ever(self):
        self.assertFalse(gs.enabled() and gs.current())
        self.assertEqual([a.status_code for a in get(fast(), "/sync/ann", "/nowhere")], [200, 404])


if __name__ == "__main__":
    unittest.main()
