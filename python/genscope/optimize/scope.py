"""Tasks that end together, and a list of what runs.

    async with Scope(timeout=5) as scope:
        scope.spawn(encode(prompt), name="encode")
        scope.spawn(fetch(reference))
    # both have ended; the first error stopped the other and is raised here

    for task in live_tasks(): print(task)      # from any thread: what each waits for, its age, its deadline
"""
from __future__ import annotations

import asyncio
import os
import threading
import time
import weakref
from typing import Any, Coroutine, NamedTuple, Optional

from .context import Context


class LiveTask(NamedTuple):
    """One task of a Scope. Times in seconds."""
    name: str
    scope: str
    site: str  # file:line and function of the innermost `await` outside of asyncio; "" while it runs or before it began
    age: float
    left: Optional[float]  # until its deadline; None: it has none
    tenant: str

    def __str__(self) -> str:
        ends = "no deadline" if self.left is None else f"{self.left:.1f} s left"
        return f"{self.scope}/{self.name}: {self.site or 'running'}, {self.age:.1f} s old, {ends}"


_ASYNCIO = os.path.dirname(asyncio.__file__) + os.sep
_scopes: "weakref.WeakSet[Scope]" = weakref.WeakSet()
_scopes_mutex = threading.Lock()


def live_tasks() -> "list[LiveTask]":
    """The tasks of all scopes that have not ended, the oldest first."""
    with _scopes_mutex:
        scopes = list(_scopes)
    return sorted((task for scope in scopes for task in scope.live()), key=lambda task: -task.age)


class Scope:
    """A block that no task started in it outlives. Of one event loop.

    on_error: "stop": the first error cancels the other tasks and the block, and is raised at its end. "collect": the
    others go on; `errors` has them all. timeout, priority, tenant: of the Context of its tasks.
    """

    def __init__(self, *, name: str = "scope", on_error: str = "stop", timeout: Optional[float] = None,
                 priority: Optional[int] = None, tenant: Optional[str] = None) -> None:
        if on_error not in ("stop", "collect"):
            raise ValueError(f"on_error is 'stop' or 'collect', and not {on_error!r}")
        self.name, self.on_error = name, on_error
        self.errors: "list[BaseException]" = []
        self.context = Context(timeout, priority=priority, tenant=tenant)
        self._tasks: "dict[asyncio.Task[Any], float]" = {}  # and when each began
        self._owner: "Optional[asyncio.Task[Any]]" = None  # while it is in the block
        self._stopped_owner = False

    def spawn(self, coroutine: "Coroutine[Any, Any, Any]", *, name: Optional[str] = None) -> "asyncio.Task[Any]":
        """Starts it. Its errors are the scope's; the task can be awaited for its result."""
        if self.context.stopped:
            coroutine.close()
            raise RuntimeError(f"{self.name} was stopped: it starts nothing more")
        with self.context:
            task = asyncio.get_running_loop().create_task(coroutine, name=name or coroutine.__qualname__)
        self._tasks[task] = time.monotonic()
        with _scopes_mutex:
            _scopes.add(self)
        task.add_done_callback(self._ended)
        return task

    def stop(self) -> None:
        """Asks all tasks to end."""
        self.context.stop()
        for task in list(self._tasks):
            task.cancel()

    async def join(self) -> None:
        """Until all have ended, also those that they start meanwhile."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def close(self, grace: float) -> "list[LiveTask]":
        """Asks all to end and waits for so many seconds; those that still run are named, and go on."""
        self.stop()
        try:
            await asyncio.wait_for(self.join(), grace)
        except asyncio.TimeoutError:
            pass
        return self.live()

    def live(self) -> "list[LiveTask]":
        now, ends = time.monotonic(), self.context.deadline
        return [LiveTask(task.get_name(), self.name, _site(task), now - began, None if ends is None else ends - now,
                         self.context.tenant) for task, began in list(self._tasks.items()) if not task.done()]

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        del self._tasks[task]
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        self.errors.append(error)
        if self.on_error == "stop" and not self.context.stopped:
            self.stop()
            if self._owner is not None:
                self._stopped_owner = True
                self._owner.cancel()

    async def __aenter__(self) -> "Scope":
        self._owner = asyncio.current_task()
        return self

    async def __aexit__(self, _kind: Any, error: Optional[BaseException], _trace: Any) -> bool:
        owner, self._owner = self._owner, None
        if error is not None:
            self.stop()
        while True:
            try:
                await self.join()
                break
            except asyncio.CancelledError as stopped:
                error = error or stopped
                self.stop()
        if self._stopped_owner and isinstance(error, asyncio.CancelledError):
            if hasattr(owner, "uncancel") and owner.uncancel() > 0:  # type: ignore[union-attr]
                raise error  # somebody else cancelled it as well
            error = None
        if error is not None:
            raise error
        if self.on_error == "stop" and self.errors:
            raise self.errors[0]
        return False


def _site(task: "asyncio.Task[Any]") -> str:
    """Where it waits: along what each coroutine awaits, to the last one that is not asyncio's own."""
    site = ""
    inner: Any = task.get_coro()
    while inner is not None:
        frame = getattr(inner, "cr_frame", None) or getattr(inner, "gi_frame", None) or getattr(inner, "ag_frame", None)
        if frame is None:
            break
        if getattr(inner, "cr_running", False):
            return ""
        awaited = (getattr(inner, "cr_await", None) or getattr(inner, "gi_yieldfrom", None)
                   or getattr(inner, "ag_await", None))
        if awaited is not None and not frame.f_code.co_filename.startswith(_ASYNCIO):
            site = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}"
        inner = awaited
    return site
