"""Requests of a FastAPI, Starlette or other ASGI service.

    app = FastAPI()
    app.add_middleware(genscope.asgi.RequestMonitor, slo_seconds=5.0, metrics_path="/metrics")
    ...
    genscope.asgi.monitor().stats()["total_seconds"]["p95"]

Each HTTP request is a span of kind request, named after its route's pattern, never after a path
with ids in it. What is recorded while it is served, in its tasks and in the server's threads, is
below it; a generation inside of it is a stage of it. Web sockets and lifespan pass untouched. The
figures are kept with recording off as well.
"""
from __future__ import annotations

import asyncio
import json
import time
from typing import Any, Awaitable, Callable, Optional

from . import _core
from ._asgi_routes import route_before, route_of
from ._asyncio import _current
from ._request import serving

Scope = Any
Message = Any
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_QUEUE_HEADERS = (b"x-request-start", b"x-queue-start")
_LONGEST_WAIT = 3600.0  # seconds; above it the two clocks disagree
_monitors: "dict[str, RequestMonitor]" = {}


def monitor(name: str = "request") -> "RequestMonitor":
    """The monitor of that name that was made last; KeyError if the server has made none yet."""
    return _monitors[name]


class RequestMonitor:
    """Pure ASGI middleware.

    slo_seconds: a request that takes longer is outside its SLO. name: of its counters and labels,
    one for each service. window: last requests that percentiles are of. response_headers: adds
    X-Request-Time and X-Avg-Request-Time, in seconds. metrics_path: a path under which the
    middleware itself answers with prometheus_text(), for instance "/metrics".
    """

    def __init__(self, app: Any, slo_seconds: float = 5.0, *, name: str = "request",
                 window: int = 1000, error_classes: int = 32, publish_seconds: float = 1.0,
                 response_headers: bool = True, metrics_path: Optional[str] = None) -> None:
        self.app = app
        self.metrics_path = metrics_path
        self._headers = response_headers
        self._core = _core.RequestMonitor(
            name=name, slo_seconds=slo_seconds, window=window, error_classes=error_classes,
            publish_seconds=publish_seconds)
        _core.follow_context()
        _monitors[name] = self

    def stats(self) -> "dict[str, Any]":
        """begun, finished, failed, in_flight, total_seconds, queue_seconds, first_byte_seconds, errors,
        slo_share ...
        as in docs/monitors.md; what was not measured is None."""
        return json.loads(self._core.stats_json())

    def prometheus_text(self) -> str:
        """The same in Prometheus' text format 0.0.4."""
        return self._core.prometheus_text()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self.metrics_path is not None and scope.get("path") == self.metrics_path:
            await _answer(send, self.prometheus_text())
            return
        served = _Served(self, scope, receive, send)
        token = _current.set(served.span) if served.span else None
        inside = serving.set(True)
        try:
            await self.serve(scope, served.receive, served.send)
        except BaseException as error:
            served.end(error)
            raise
        else:
            served.end(None)
        finally:
            serving.reset(inside)
            if token is not None:
                _current.reset(token)


    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


class _Served:
    """A request on its way through the app."""

    def __init__(self, owner: RequestMonitor, scope: Scope, receive: Receive, send: Send) -> None:
        self._owner = owner
        self._scope = scope
        self._receive = receive
        self._send = send
        self._status: Optional[int] = None
        self._gone = False  # the client
        self._named = route_before(scope)
        self._request = owner._core.begin(self._named or "http")
        self.span = self._request.span_id
        if self.span:
            _core.args(self.span, method=str(scope.get("method", "")))
        waited = queue_seconds(scope.get("headers") or ())
        if waited is not None:
            self._request.waited(waited)

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._gone = True
        return message

    async def send(self, message: Message) -> None:
        kind = message["type"]
        if kind == "http.response.start":
            self._status = message.get("status")
            if self._owner._headers:
                message = self._with_headers(message)
        try:
            await self._send(message)
        except OSError:
            self._gone = True
            raise
        if kind == "http.response.body":
            self._request.first_byte()
            if not message.get("more_body", False):
                self.end(None)
        elif kind in ("http.response.pathsend", "http.response.zerocopysend"):
            self._request.first_byte()

    def _with_headers(self, message: Message) -> Message:
        ours = [(key.lower().encode("latin-1"), value.encode("latin-1"))
                for key, value in self._owner._core.response_headers(self._request)]
        return {**message, "headers": [*message.get("headers", ()), *ours]}

    def end(self, error: Optional[BaseException]) -> None:
        """With its last byte, or with what ended it before; later calls do nothing."""
        if self._request.id == 0:
            return
        if self.span:
            route = None if self._named else route_of(self._scope)
            _core.args(self.span, http_status=self._status, route=route)
        # A path that was sent as a whole by the server ends with the app.
        if self._gone and error is None and self._status is not None:
            self._request.fail("client_disconnect")
        elif error is None:
            self._request.finish(self._status) if self._status is not None \
                else self._request.fail("client_disconnect" if self._gone else "no_response")
        elif self._gone:
            self._request.fail("client_disconnect")
        elif isinstance(error, asyncio.CancelledError):
            self._request.fail("cancelled")
        else:
            self._request.fail(type(error).__name__)


def queue_seconds(headers: Any, now: Optional[float] = None) -> Optional[float]:
    """How long the request waited before, by the time that a proxy wrote into X-Request-Start or
    X-Queue-Start: seconds, milliseconds or microseconds since 1970, perhaps after "t=". None where
    it says nothing, or nothing that can be."""
    for key, value in headers:
        if bytes(key).lower() not in _QUEUE_HEADERS:
            continue
        text = bytes(value).decode("latin-1").strip()
        try:
            stamp = float(text[2:] if text.startswith("t=") else text)
        except ValueError:
            return None
        for unit in (1e6, 1e3):
            if stamp > 1e8 * unit:  # 1e8 s is the year 1973
                stamp /= unit
                break
        waited = (time.time() if now is None else now) - stamp
        return waited if 0 <= waited <= _LONGEST_WAIT else None
    return None


class Disconnected(Exception):
    """The client has left; nobody waits for an answer."""


async def until_disconnect(receive: Receive, work: Awaitable[Any]) -> Any:
    """What `work` gives. If the client leaves before, the work is cancelled, and this raises Disconnected.

        return await genscope.asgi.until_disconnect(request.receive, generate(prompt))

    For requests whose body has been read: it takes the messages that come after it.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
            raise Disconnected
        return task.result()
    finally:
        task.cancel()
        gone.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _answer(send: Send, text: str) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [
        (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")]})
    await send({"type": "http.response.body", "body": text.encode()})


from ._asgi_service import Service  # noqa: E402,F401  it needs RequestMonitor
