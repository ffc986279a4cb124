"""AsyncTaskManager: some tasks at a time, each with a time limit."""
from __future__ import annotations

import asyncio
import inspect
from typing import Any, Awaitable, Callable, Iterable, List, Set, Union

from ... import _core

Work = Union[Awaitable[Any], Callable[..., Any]]


class AsyncTaskManager:
    """A task that takes longer than `timeout` seconds: its caller gets asyncio.TimeoutError at once, it
    is asked to stop, and it keeps its place among the `max_concurrent` until it has really ended. So
    there are never more at work than that."""

    def __init__(self, max_concurrent: int = 4, timeout: float = 300.0) -> None:
        if max_concurrent < 1 or timeout <= 0:
            raise ValueError(f"max_concurrent must be at least 1 and timeout above 0; got {max_concurrent}, {timeout}")
        self.max_concurrent, self.timeout = max_concurrent, timeout
        self.active_tasks: "Set[asyncio.Task[Any]]" = set()
        self.completed = self.failed = self.timed_out = 0
        self._places = asyncio.Semaphore(max_concurrent)

    async def run_task(self, work: Work, *args: Any, **kwargs: Any) -> Any:
        """An awaitable, or a function (async or not) with its arguments. The limit counts from when it
        has its place."""
        try:
            await self._places.acquire()
        except asyncio.CancelledError:
            if inspect.iscoroutine(work):
                work.close()  # it will never be awaited
            raise
        try:
            task = asyncio.ensure_future(_begun(work, args, kwargs))
        except BaseException:
            self._places.release()
            raise
        self.active_tasks.add(task)
        task.add_done_callback(self._ended)
        try:
            done, _ = await asyncio.wait({task}, timeout=self.timeout)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not done:
            self.timed_out += 1
            task.cancel()
            raise asyncio.TimeoutError(f"the task has not ended after {self.timeout:g} s")
        return task.result()

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self.active_tasks.discard(task)
        self._places.release()
        if task.cancelled() or task.exception() is not None:
            self.failed += 1
        else:
            self.completed += 1
        _core.counter("optimizer/active_tasks", len(self.active_tasks))

    async def run_batch(self, works: "Iterable[Work]") -> "List[Any]":
        """All of them, in order. One that failed is its exception in the list; the others go on."""
        return list(await asyncio.gather(*(self.run_task(work) for work in works), return_exceptions=True))

    async def cancel_all_tasks(self) -> int:
        """Asks all to stop, and waits until they have; how many there were."""
        tasks = list(self.active_tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return len(tasks)


async def _begun(work: Work, args: tuple, kwargs: "dict[str, Any]") -> Any:
    if inspect.isawaitable(work):
        return await work
    if inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(getattr(work, "__call__", None)):
        return await work(*args, **kwargs)  # type: ignore[operator]
    found = await _on_a_thread(work, args, kwargs)  # type: ignore[arg-type]
    return await found if inspect.isawaitable(found) else found


async def _on_a_thread(function: Callable[..., Any], args: tuple, kwargs: "dict[str, Any]") -> Any:
    """A thread cannot be stopped: whoever is cancelled here ends when the function has returned."""
    running = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            try:
                await asyncio.wait({running})
            except asyncio.CancelledError:
                pass
        if not running.cancelled():
            running.exception()  # nobody else will ask
        raise
