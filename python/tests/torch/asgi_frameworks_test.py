"""genscope.asgi in real FastAPI and Starlette applications, through httpx."""
import asyncio
import os
import tempfile
import unittest

import httpx
from fastapi import APIRouter, BackgroundTasks, FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

import genscope as gs
from genscope import asgi

from harness import spans_of

BIN = os.environ["GENSCOPE_BIN"]


async def get(app, *paths, method="GET"):
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        return [await client.request(method, path) for path in paths]


def service():
    app = FastAPI()
    app.add_middleware(asgi.RequestMonitor, slo_seconds=30, name="fast", metrics_path="/metrics")
    ran = []

    @app.get("/sync/{item}")
    def sync(item: int):
        with gs.stage("in_pool"):
            return {"item": item}

    @app.get("/async/{item}")
    async def asynchronous(item: int):
        with gs.stage("in_task"):
            await asyncio.sleep(0)
        return {"item": item}

    @app.get("/stream")
    async def stream():
        async def parts():
            for i in range(3):
                yield f"{i},"
        return StreamingResponse(parts())

    @app.get("/missing")
    def missing():
        raise HTTPException(404)

    @app.get("/boom")
    def boom():
        raise RuntimeError("boom")

    @app.get("/later")
    async def later(tasks: BackgroundTasks):
        tasks.add_task(lambda: ran.append(asgi.monitor("fast").stats()["in_flight"]))
        return "ok"
    router = APIRouter(prefix="/v1")

    @router.post("/generate/{user}")
    async def generate(user: str):
        return user
    inner = APIRouter(prefix="/deep")

    @inner.get("/{thing}")
    def deep(thing: str):
        return thing
    router.include_router(inner)
    app.include_router(router)
    return app, ran


class Fast(unittest.TestCase):
    def test_a_service(self):
        app, ran = service()
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            with gs.session("service", run_dir=run, quiet=True):
                answers = asyncio.run(get(app, "/sync/1", "/sync/2", "/async/3", "/stream",
                                          "/missing", "/boom", "/later", "/nowhere/17"))
                deep = asyncio.run(get(app, "/v1/deep/sea"))
                posted = asyncio.run(get(app, "/v1/generate/anna", method="POST"))
            spans = spans_of(run)
        self.assertEqual([a.status_code for a in answers],
                         [200, 200, 200, 200, 404, 500, 200, 404])
        self.assertEqual((answers[0].json(), answers[3].text), ({"item": 1}, "0,1,2,"))
        self.assertIn("x-request-time", answers[0].headers)
        self.assertIn("x-avg-request-time", answers[1].headers)
        self.assertEqual((deep[0].json(), posted[0].json()), ("sea", "anna"))
        self.check_spans(spans)
        self.assertEqual(ran, [0])  # the answer had been sent
        stats = asgi.monitor("fast").stats()
        self.assertEqual((stats["finished"], stats["failed"], stats["in_flight"]), (10, 3, 0))
        self.assertEqual(stats["errors"], {"4xx": 2, "RuntimeError": 1})
        self.assertEqual(stats["first_byte_seconds"]["count"], 9)
        metrics = asyncio.run(get(app, "/metrics"))[0]
        self.assertIn('genscope_requests_finished_total{entity="fast"} 10', metrics.text)

    def check_spans(self, spans):
        requests = [s for s in spans if s["kind"] == "request"]
        self.assertEqual([s["name"] for s in sorted(requests, key=lambda s: s["begin_ns"])], [
            "/sync/{item}", "/sync/{item}", "/async/{item}", "/stream", "/missing", "/boom",
            "/later", "unmatched", "/v1/deep/{thing}", "/v1/generate/{user}"])
        names = {s["id"]: s["name"] for s in spans}
        stages = [(s["name"], names.get(s["parent"])) for s in spans if s["kind"] == "stage"]
        self.assertEqual(sorted(stages), [("in_pool", "/sync/{item}")] * 2
                         + [("in_task", "/async/{item}")])


class Page(unittest.TestCase):
    def test_the_example_of_the_docs(self):
        page = os.path.join(os.path.dirname(__file__), "../../../docs/python-asgi.md")
        with open(page, encoding="utf-8") as file:
            code = file.read().split("```python\n")[1].split("```")[0]
        names = {}
        exec(compile(code, page, "exec"), names)  # noqa: S102
        posted = asyncio.run(get(names["app"], "/generate/anna", method="POST"))
        figures, metrics = asyncio.run(get(names["app"], "/figures", "/metrics"))
        self.assertEqual(posted[0].json(), {"user": "anna"})
        self.assertEqual((figures.json()["finished"], figures.json()["in_flight"]), (1, 1))
        self.assertIn("genscope_requests_finished_total", metrics.text)


class Passing(BaseHTTPMiddleware):
    async def dispatch(self, request, call_next):
        return await call_next(request)


class OfStarlette(unittest.TestCase):
    def test_mounts_and_other_middleware(self):
        async def item(request):
            return PlainTextResponse(request.path_params["id"])
        app = Starlette(
            routes=[Mount("/inner", routes=[Route("/item/{id}", item)])],
            middleware=[Middleware(asgi.RequestMonitor, name="star"), Middleware(Passing)])
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            with gs.session("service", run_dir=run, quiet=True):
                answers = asyncio.run(get(app, "/inner/item/7", "/inner/other"))
            spans = spans_of(run)
        self.assertEqual([a.status_code for a in answers], [200, 404])
        self.assertEqual(answers[0].text, "7")
        names = [s["name"] for s in spans if s["kind"] == "request"]
        self.assertEqual(names, ["/inner/item/{id}", "/inner/unmatched"])

    def test_web_sockets(self):
        from starlette.routing import WebSocketRoute
        from starlette.testclient import TestClient

        async def echo(socket):
            await socket.accept()
            await socket.send_text(await socket.receive_text() + "!")
            await socket.close()
        app = Starlette(routes=[WebSocketRoute("/echo", echo)],
                        middleware=[Middleware(asgi.RequestMonitor, name="sockets")])
        with TestClient(app) as client:  # lifespan too
            with client.websocket_connect("/echo") as socket:
                socket.send_text("hello")
                self.assertEqual(socket.receive_text(), "hello!")
        self.assertEqual(asgi.monitor("sockets").stats()["begun"], 0)


if __name__ == "__main__":
    unittest.main()
