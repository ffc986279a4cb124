"""Requests of web servers, without middleware: what generates while one is served is a stage of it.

    request /generate/{user}        Starlette, FastAPI: each HTTP request; Flask, aiohttp the same
      stage FluxPipeline
    request predict                 gradio: each call of a function; its HTTP traffic is polling

A request is named after its route's pattern, never after a path. With genscope.asgi.RequestMonitor
in the application, that alone records. ComfyUI's server only queues: its prompts are the requests.
Web sockets and the server's own events pass untouched.
"""
from __future__ import annotations

import sys
from typing import Any, Optional

from .. import _core
from .._asgi_routes import route_before, route_of
from .._asyncio import _current
from .._imports import when_imported
from .._request import serving
from ._patch import around, wrap
from ._report import done, problem

_GRADIO = ("/gradio_api/", "/queue/", "/heartbeat")  # its own traffic, also where it is mounted


def install() -> None:
    report = lambda name, error: problem("servers", f"{name}: {error!r}")
    when_imported("starlette.applications", _patch_starlette, report)
    when_imported("flask.app", _patch_flask, report)
    when_imported("aiohttp.web_app", _patch_aiohttp, report)
    when_imported("gradio.blocks", _patch_gradio, report)


class _Request:
    """A request that is being served: its span, and the context in which others find it."""

    def __init__(self, name: str, **args: Any) -> None:
        _core.follow_context()
        self.span = _core.begin_detached("request", name, **args)
        self._span = _current.set(self.span) if self.span else None
        self._inside = serving.set(True)

    def leave(self) -> None:
        """In the context that made it; what ends elsewhere has had its own."""
        for variable, token in ((serving, self._inside), (_current, self._span)):
            try:
                if token is not None:
                    variable.reset(token)
            except ValueError:
                pass

    def end(self, status: Optional[int], error: Optional[BaseException], **args: Any) -> None:
        span, self.span = self.span, 0
        if not span:
            return
        if error is not None:
            args["error"] = type(error).__name__
        _core.args(span, http_status=status, **args)
        _core.end_detached(span, error is not None or (status or 0) >= 500)


# --- Starlette and FastAPI

def _patch_starlette(module: Any) -> None:
    if wrap(module.Starlette, "__call__", _served, "starlette"):
        done("starlette")


def _served(original: Any) -> Any:
    async def call(self, scope, receive, send):
        request = None
        try:
            request = _begin_http(self, scope)
        except Exception as error:
            problem("starlette", f"at a request's begin: {error!r}")
        if request is None:
            return await original(self, scope, receive, send)
        status = None

        async def told(message):
            nonlocal status
            if message.get("type") == "http.response.start":
                status = message.get("status")
            await send(message)
        failed = None
        try:
            return await original(self, scope, receive, told)
        except BaseException as error:
            failed = error
            raise
        finally:
            request.leave()
            request.end(status, failed,
                        **({} if request.named else {"route": route_of(scope)}))
    return call


def _begin_http(app: Any, scope: Any) -> Any:
    if scope["type"] != "http" or serving.get() or not _core.enabled() or _watched(app):
        return None
    name = route_before({**scope, "app": app})
    if any(word in (name if name and name != "unmatched" else scope.get("path", ""))
           for word in _GRADIO) and "gradio" in sys.modules:
        return None
    request = _Request(name or "http", method=str(scope.get("method", "")))
    request.named = name is not None
    return request


def _watched(app: Any) -> bool:
    """Whether the application has a RequestMonitor, or is gradio's own."""
    asgi = sys.modules.get("genscope.asgi")
    gradio = getattr(sys.modules.get("gradio.routes"), "App", ())
    if gradio and isinstance(app, gradio):
        return True
    return asgi is not None and any(
        isinstance(kind, type) and issubclass(kind, asgi.RequestMonitor)
        for kind in (getattr(each, "cls", None) for each in getattr(app, "user_middleware", ())))


# --- Flask

def _patch_flask(module: Any) -> None:
    if wrap(module.Flask, "wsgi_app", _wsgi, "flask"):
        done("flask")


def _wsgi(original: Any) -> Any:
    def wsgi_app(self, environ, start_response):
        if serving.get() or not _core.enabled():
            return original(self, environ, start_response)
        request = _Request(_flask_route(self, environ), method=environ.get("REQUEST_METHOD", ""))
        status = []

        def told(line, *args, **kwargs):
            if line[:3].isdigit():
                status[:] = [int(line[:3])]
            return start_response(line, *args, **kwargs)
        try:
            body = original(self, environ, told)
        except BaseException as error:
            request.leave()
            request.end(None, error)
            raise
        return _Body(body, request, status)
    return wsgi_app


def _flask_route(app: Any, environ: Any) -> str:
    try:
        rule, _ = app.url_map.bind_to_environ(environ).match(return_rule=True)
        return rule.rule
    except Exception:  # no such path, not this method, a redirect
        return "unmatched"


class _Body:
    """A response as the server iterates it: a stream is made meanwhile, so the request lasts until
    then."""

    def __init__(self, body: Any, request: _Request, status: "list[int]") -> None:
        self._body, self._request, self._status = body, request, status
        self._parts = iter(body)

    def __iter__(self) -> "_Body":
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._parts)
        except StopIteration:
            self._end(None)
            raise
        except BaseException as error:
            self._end(error)
            raise

    def close(self) -> None:
        try:
            if hasattr(self._body, "close"):
                self._body.close()
        finally:
            self._end(None)

    def _end(self, error: Optional[BaseException]) -> None:
        if self._request.span:
            self._request.leave()
            self._request.end(self._status[0] if self._status else None, error)


# --- aiohttp

def _patch_aiohttp(module: Any) -> None:
    if wrap(module.Application, "_handle", _handled, "aiohttp"):
        done("aiohttp")


def _handled(original: Any) -> Any:
    async def _handle(self, http):
        if serving.get() or not _core.enabled() or "comfy" in sys.modules:
            return await original(self, http)
        request = _Request(await _aiohttp_route(self, http), method=str(http.method))
        try:
            response = await original(self, http)
        except BaseException as error:
            status = getattr(error, "status", None)  # its answers may be raised
            request.leave()
            request.end(status, None if isinstance(status, int) else error)
            raise
        request.leave()
        request.end(getattr(response, "status", None), None)
        return response
    return _handle


async def _aiohttp_route(app: Any, http: Any) -> str:
    try:
        found = await app.router.resolve(http)
        return found.route.resource.canonical
    except Exception:
        return "unmatched"


# --- gradio

def _patch_gradio(module: Any) -> None:
    if around(module.Blocks, "process_api", _begin_gradio, _end_gradio, "gradio"):
        done("gradio")


def _begin_gradio(blocks: Any, args: tuple, kwargs: dict) -> Optional[_Request]:
    if serving.get() or not _core.enabled():
        return None
    function = kwargs.get("block_fn", args[0] if args else None)
    if isinstance(function, int):
        function = getattr(blocks, "fns", {})[function]
    name = getattr(function, "api_name", None) or getattr(function, "name", None)
    return _Request(str(name) if name else "gradio")


def _end_gradio(request: _Request, blocks: Any, result: Any, error: Optional[BaseException]) -> None:
    request.leave()
    request.end(None, error)
