"""One function over many items, so many at once.

    images = await parallel_map(generate, prompts, limit=4)        # an async function
    async for index, image in parallel_stream(generate, prompts, ordered=False): ...
    images = thread_map(generate, prompts, limit=4)                # an ordinary function, on threads
"""
from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any, AsyncIterator, Awaitable, Callable, Iterable, Iterator, TypeVar

from .context import Context, _current, checkpoint

T = TypeVar("T")
R = TypeVar("R")


def _checked(limit, on_error):
    if limit < 1:
        raise ValueError("limit is at least 1")
    if on_error not in ("raise", "collect"):
        raise ValueError(f"on_error is 'raise' or 'collect', and not {on_error!r}")


async def parallel_map(function: Callable[[T], Awaitable[R]], items: Iterable[T], *, limit: int = 8,
                       on_error: str = "raise") -> list[Any]:
    """The results in the order of the items. `limit` tasks take the items in turn: there are never more, and items are
    taken from the iterable as they are needed. The first exception cancels the rest and is raised; with "collect" it
    takes the place of its result."""
    _checked(limit, on_error)
    results: dict[int, Any] = {}
    numbered = enumerate(items)

    async def runner():
        for index, item in numbered:
            checkpoint()
            try:
                results[index] = await function(item)
            except Exception as error:
                if on_error == "raise":
                    raise
                results[index] = error
    runners = [asyncio.ensure_future(runner()) for _ in range(limit)]
    try:
        await asyncio.gather(*runners)
    except BaseException:
        for task in runners:
            task.cancel()
        await asyncio.gather(*runners, return_exceptions=True)
        raise
    return [results[index] for index in range(len(results))]


async def parallel_stream(function: Callable[[T], Awaitable[R]], items: Iterable[T], *, limit: int = 8,
                          ordered: bool = True, on_error: str = "raise") -> AsyncIterator[tuple[int, Any]]:
    """(index, result) in the order of the items, or as they complete. It runs ahead of its reader by `limit` items at
    most: who reads slowly holds it back."""
    _checked(limit, on_error)
    numbered, pending, ready, expected = enumerate(items), {}, {}, 0

    def fill():
        while len(pending) + len(ready) < limit:
            try:
                index, item = next(numbered)
            except StopIteration:
                return
            pending[asyncio.ensure_future(function(item))] = index
    try:
        fill()
        while pending or ready:
            index = expected if ordered and expected in ready else next(iter(ready), None) if not ordered else None
            if index is None:
                done, _ = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    ready[pending.pop(task)] = task
                continue
            task = ready.pop(index)
            expected += 1
            error = task.exception()
            if error is not None and on_error == "raise":
                raise error
            yield index, error if error is not None else task.result()
            fill()
    finally:
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)


def thread_map(function: Callable[[T], R], items: Iterable[T], *, limit: int = 8, on_error: str = "raise") -> list[Any]:
    """parallel_map for an ordinary function, on `limit` threads, under the caller's context. The first exception stops
    the rest at their next item or checkpoint() and is raised."""
    _checked(limit, on_error)
    results: dict[int, Any] = {}
    numbered: Iterator[tuple[int, T]] = enumerate(items)
    lock, context = threading.Lock(), Context()
    errors: list[BaseException] = []

    def runner():
        _current.set(context)
        while not context.stopped:
            with lock:
                try:
                    index, item = next(numbered)
                except StopIteration:
                    return
                except BaseException as error:
                    errors.append(error)
                    context.stop()
                    return
            try:
                results[index] = function(item)
            except BaseException as error:
                if on_error == "collect" and isinstance(error, Exception):
                    results[index] = error
                    continue
                errors.append(error)
                context.stop()
    threads = [threading.Thread(target=contextvars.copy_context().run, args=(runner,), daemon=True)
               for _ in range(limit)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:
        context.stop()
        raise
    if errors:
        raise errors[0]
    if context.stopped:
        context.checkpoint()
    return [results[index] for index in range(len(results))]
