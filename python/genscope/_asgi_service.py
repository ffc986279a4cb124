"""genscope.asgi.Service: an optimize.Service behind HTTP, as middleware around the app that asks it."""
from __future__ import annotations

import asyncio
import contextlib
import json
import math
import signal
import threading
from typing import Any, Iterator, Optional

from ._mark import session as open_session
from .asgi import RequestMonitor
from .optimize.batch import Rejected
from .optimize.service import Service as _Service

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Service(RequestMonitor):
    """Pure ASGI middleware around an app whose endpoints call an `optimize.Service`.

        app.add_middleware(genscope.asgi.Service, service=service)

    A RequestMonitor that does, besides:
    - answer `/metrics` (Prometheus: requests, admission, batches) and `/stats` (JSON);
    - answer 503 with Retry-After for an endpoint that raised Rejected or TimeoutError;
    - cancel the endpoint of a client that has left, once the request's body has been read;
    - record a session while the server runs, unless one is open;
    - on SIGTERM and SIGINT refuse what waits, and drain the service before the server ends.
    """

    def __init__(self, app: Any, service: _Service, *, session: bool = True, metrics_path: Optional[str] = "/metrics",
                 stats_path: Optional[str] = "/stats", **options: Any) -> None:
        super().__init__(app, service.slo, metrics_path=metrics_path, **options)
        self.service = service
        self.stats_path = stats_path
        self._session = session

    def prometheus_text(self) -> str:
        return super().prometheus_text() + self.service.prometheus_text()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        elif scope["type"] == "http" and scope.get("path") == self.stats_path:
            text = json.dumps({"requests": self.stats(), **self.service.stats()}, default=str)
            await _send(send, 200, b"application/json", text.encode())
        else:
            await super().__call__(scope, receive, send)

    async def serve(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await _until_gone(self.app, scope, receive, send)
        except (Rejected, TimeoutError, asyncio.TimeoutError) as busy:
            after = math.ceil(getattr(busy, "retry_after", None) or 1)
            await _send(send, 503, b"text/plain", f"{busy}\n".encode(), (b"retry-after", str(after).encode()))

    async def _live(self, scope: Any, receive: Any, send: Any) -> None:
        with contextlib.ExitStack() as held:
            async def told() -> Any:
                message = await receive()
                if message["type"] == "lifespan.startup":
                    if self._session:
                        held.enter_context(open_session(self.service.name, quiet=True))
                    held.enter_context(_refusing_on_signals(self.service))
                elif message["type"] == "lifespan.shutdown":
                    await asyncio.to_thread(self.service.drain)
                return message
            await self.app(scope, told, send)


@contextlib.contextmanager
def _refusing_on_signals(service: Any) -> "Iterator[None]":
    """The server's handlers go on; but what waits is refused at once, so that the server need not serve it first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def told(number: int, frame: Any) -> None:
        loop.call_soon_threadsafe(service.refuse)
        was = before[signal.Signals(number)]
        if callable(was):
            was(number, frame)
        elif was == signal.SIG_DFL:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    for number in _SIGNALS:
        signal.signal(number, told)
    try:
        yield
    finally:
        for number, was in before.items():
            if signal.getsignal(number) is told and was is not None:
                signal.signal(number, was)


async def _until_gone(app: Any, scope: Any, receive: Any, send: Any) -> None:
    """Runs the app; cancels it if the client leaves after its request was read and before it is answered."""
    messages: "asyncio.Queue[Any]" = asyncio.Queue(4)
    answered = False

    async def listen() -> None:
        more = True
        while more:
            message = await receive()
            await messages.put(message)
            more = message.get("more_body", False) and message["type"] == "http.request"
        gone = await receive()
        if gone["type"] == "http.disconnect" and not answered:
            task.cancel()
        await messages.put(gone)

    async def sending(message: Any) -> None:
        nonlocal answered
        answered = True
        await send(message)

    task = asyncio.ensure_future(app(scope, messages.get, sending))
    listener = asyncio.ensure_future(listen())
    try:
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()
    finally:
        task.cancel()
        listener.cancel()


async def _send(send: Any, status: int, kind: bytes, body: bytes, *headers: "tuple[bytes, bytes]") -> None:
    await send({"type": "http.response.start", "status": status,
                "headers": [(b"content-type", kind), *headers]})
    await send({"type": "http.response.body", "body": body})
