"""Generators as spans. One is open from the first item asked for until it ends; what its consumer
does meanwhile is no child of it, since it is detached."""
from __future__ import annotations

import functools
import time
from typing import Any, Callable

from . import _core


class _Open:
    """The span of one generator, and how long it ran itself."""

    def __init__(self, label: str, kind: str):
        self.id = _core.begin_detached(kind, label, _core.current())
        self.active = 0
        self.items = 0

    def close(self, error: "BaseException | None") -> None:
        failed = error is not None and not isinstance(error, GeneratorExit)
        if failed:
            _core.args(self.id, error=type(error).__name__)
        _core.args(self.id, items=self.items, active_seconds=self.active / 1e9)
        _core.end_detached(self.id, failed)


def wrap_generator(function: Callable[..., Any], label: str, kind: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def generator(*args: Any, **kwargs: Any):
        inner = function(*args, **kwargs)
        span = _Open(label, kind)
        send, given = inner.send, None
        try:
            while True:
                begin = time.perf_counter_ns()
                try:
                    item = send(given)
                finally:
                    span.active += time.perf_counter_ns() - begin
                span.items += 1
                try:
                    send, given = inner.send, (yield item)
                except GeneratorExit:
                    inner.close()
                    raise
                except BaseException as error:
                    send, given = inner.throw, error
        except StopIteration as stop:
            span.close(None)
            return stop.value
        except BaseException as error:
            span.close(error)
            raise
    return generator


def wrap_async_generator(function: Callable[..., Any], label: str, kind: str) -> Callable[..., Any]:
    @functools.wraps(function)
    async def generator(*args: Any, **kwargs: Any):
        inner = function(*args, **kwargs)
        span = _Open(label, kind)
        send, given = inner.asend, None
        try:
            while True:
                begin = time.perf_counter_ns()
                try:
                    item = await send(given)
                finally:
                    span.active += time.perf_counter_ns() - begin
                span.items += 1
                try:
                    send, given = inner.asend, (yield item)
                except GeneratorExit:
                    await inner.aclose()
                    raise
                except BaseException as error:
                    send, given = inner.athrow, error
        except StopAsyncIteration:
            span.close(None)
        except BaseException as error:
            span.close(error)
            raise
    return generator
