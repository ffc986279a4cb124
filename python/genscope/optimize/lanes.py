"""Lanes and limiters: who runs when, on a device that runs one thing at a time.

    lane = Lane("cuda:0")
    image = lane.run(pipeline, prompt, deadline=time.monotonic() + 5)     # from any thread
    image = await lane.arun(pipeline, prompt, tenant="acme")              # from asyncio

Functions run on the lane's own thread, one at a time, the urgent first, tenants in turn. Who waits holds no GIL. What
waits is dropped when its deadline passes or it is cancelled. What runs cannot be stopped from outside: its caller gets
Timeout or CancelledError at once, and the lane stays taken until the function has returned.
"""
from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import threading
import weakref
from functools import partial
from typing import Any, Awaitable, Callable, Optional, TypeVar

from .. import _core
from .context import Cancelled, Context, Timeout, _current, raise_ended

T = TypeVar("T")
_inside = threading.local()


def _call_context(deadline, priority, tenant):
    return Context(deadline=deadline, priority=priority, tenant=tenant)


class Lane:
    """The queue of one device. `width` functions run at once. A waiter rises by one class of priority for each `aging`
    seconds (0: never); more than `max_waiting` waiters are Rejected (0: no bound)."""

    def __init__(self, device: str = "cpu", width: int = 1, *, aging: float = 5.0, max_waiting: int = 0) -> None:
        self.device, self.width = str(device), width
        self._lane = _core.device_lane(self.device, width, aging, max_waiting)
        _open.add(self)

    def run(self, function: Callable[..., T], *args: Any, deadline: Optional[float] = None,
            priority: Optional[int] = None, tenant: Optional[str] = None, cost: float = 1.0, **kwargs: Any) -> T:
        """What `function(*args, **kwargs)` gives or raises. `deadline` is of time.monotonic()."""
        self._not_inside()
        context = _call_context(deadline, priority, tenant)
        ticket = self._post(context, partial(function, *args, **kwargs), None, cost)
        with _stopping(context, ticket):
            status = _in_time(context, ticket, ticket.wait(context.left()))
        raise_ended(status)
        return ticket.value()

    async def arun(self, function: Callable[..., T], *args: Any, deadline: Optional[float] = None,
                   priority: Optional[int] = None, tenant: Optional[str] = None, cost: float = 1.0,
                   **kwargs: Any) -> T:
        """The same for asyncio: the loop goes on meanwhile. Cancelling the task drops a call that waits."""
        loop = asyncio.get_running_loop()
        context = _call_context(deadline, priority, tenant)
        future: asyncio.Future[None] = loop.create_future()
        ticket = self._post(context, partial(function, *args, **kwargs), _waker(loop, future), cost)
        with _stopping(context, ticket):
            await _until(future, context)
            status = _in_time(context, ticket, ticket.status)
        raise_ended(status)
        return ticket.value()

    def stats(self) -> dict[str, Any]:
        return self._lane.stats()

    def close(self) -> None:
        """Drops what waits and waits for what runs."""
        self._not_inside()
        self._lane.close()

    def __enter__(self) -> "Lane":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Lane({self.device!r}, width={self.width})"

    def _not_inside(self):
        if getattr(_inside, "lane", None) is self:
            raise RuntimeError(f"{self!r}: called from a function that runs on this lane, which would wait for itself")

    def _post(self, context, call, on_done, cost):
        variables = contextvars.copy_context()
        variables.run(_current.set, context)

        def body():
            if context.stopped:  # stop() has not come to this one yet
                raise Cancelled("the work was asked to stop")
            _inside.lane = self
            try:
                return variables.run(call)
            finally:
                _inside.lane = None
        return self._lane.post(body, on_done, context.deadline, context.priority, context.tenant, _core.current(), cost)


_open: "weakref.WeakSet[Lane]" = weakref.WeakSet()


@atexit.register
def _close_all():
    for lane in list(_open):
        lane.close()


class Permit:
    """Units of a Limiter, until release() or the end of its `with` block."""

    def __init__(self, ticket: _core.Ticket) -> None:
        self._ticket = ticket

    def release(self) -> None:
        self._ticket.release()

    def __enter__(self) -> "Permit":
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()


class Limiter:
    """So many units at once, in the order of a lane, for code that runs where it is.

        with limiter.acquire(units=4): ...
        async with limiter.aacquire(): ...
    """

    def __init__(self, capacity: int, *, aging: float = 5.0, max_waiting: int = 0) -> None:
        self._limiter = _core.fair_limiter(capacity, aging, max_waiting)

    def acquire(self, units: int = 1, *, cost: float = 0.0, deadline: Optional[float] = None,
                priority: Optional[int] = None, tenant: Optional[str] = None) -> Permit:
        context = _call_context(deadline, priority, tenant)
        ticket = self._ask(context, units, cost, None)
        undo = context.on_stop(ticket.cancel)
        try:
            status = ticket.wait(None)
        except BaseException:  # a signal; what was granted meanwhile goes back
            ticket.cancel()
            ticket.wait(None)
            ticket.release()
            raise
        finally:
            undo()
        raise_ended(status)
        return Permit(ticket)

    def aacquire(self, units: int = 1, *, cost: float = 0.0, deadline: Optional[float] = None,
                 priority: Optional[int] = None, tenant: Optional[str] = None) -> "_AsyncPermit":
        return _AsyncPermit(partial(self._aacquire, units, cost, deadline, priority, tenant))

    async def _aacquire(self, units, cost, deadline, priority, tenant):
        loop = asyncio.get_running_loop()
        context = _call_context(deadline, priority, tenant)
        future = loop.create_future()
        ticket = self._ask(context, units, cost, _waker(loop, future))
        undo = context.on_stop(ticket.cancel)
        try:
            await asyncio.shield(future)
        except BaseException:
            ticket.cancel()
            ticket.wait(None)  # decided by now: cancelled, or granted just before
            ticket.release()
            raise
        finally:
            undo()
        raise_ended(ticket.status or "cancelled")
        return Permit(ticket)

    def _ask(self, context, units, cost, on_done):
        return self._limiter.acquire(units, cost, on_done, context.deadline, context.priority, context.tenant)

    def set_weight(self, tenant: str, weight: float) -> None:
        """A tenant's share in the turns; 1 unless told."""
        self._limiter.set_weight(tenant, weight)

    def set_capacity(self, capacity: int) -> None:
        self._limiter.set_capacity(capacity)

    def stats(self) -> dict[str, Any]:
        return self._limiter.stats()


class _AsyncPermit:
    """`await` it for the Permit, or use it with `async with`."""

    def __init__(self, acquire):
        self._acquire = acquire

    def __await__(self):
        return self._acquire().__await__()

    async def __aenter__(self):
        self._permit = await self._acquire()
        return self._permit

    async def __aexit__(self, *exc):
        self._permit.release()


_left_behind: "set[asyncio.Task]" = set()


async def with_timeout(seconds: float, awaitable: Awaitable[T]) -> T:
    """What `awaitable` gives, or Timeout after `seconds`, at once. The body is cancelled and its context stopped, but
    nobody waits for it: permits and lanes that it holds are taken until it has really returned. (asyncio.wait_for waits
    for the body to end first.)"""
    context = Context(seconds)
    with context:
        task = asyncio.ensure_future(awaitable)
    try:
        done, _ = await asyncio.wait({task}, timeout=context.left())
    except BaseException:
        context.stop()
        task.cancel()
        raise
    if done:
        return task.result()
    context.stop()
    task.cancel()
    _left_behind.add(task)
    task.add_done_callback(_forget)
    raise Timeout(f"not done within {seconds} s")


def _forget(task):
    _left_behind.discard(task)
    if not task.cancelled():
        task.exception()  # nobody is left to ask for it


@contextlib.contextmanager
def _stopping(context, ticket):
    """While a caller waits: the context's stop cancels the call, and a caller that is interrupted stops the context."""
    undo = context.on_stop(ticket.cancel)
    try:
        yield
    except BaseException:
        context.stop()
        raise
    finally:
        undo()


def _in_time(context, ticket, status):
    """How a call ended. None, for one whose time is up: "ok" if it just has ended, else it is dropped, or goes on alone."""
    if status is not None:
        return status
    context.stop()
    status = ticket.status
    if status is None:
        raise Timeout("the deadline passed while it ran; the lane is taken until it returns")
    return "ok" if status == "ok" else "timeout"


def _waker(loop, future):
    """Ends `future` on its loop, from any thread."""
    def end():
        if not future.done():
            future.set_result(None)

    def wake():
        try:
            loop.call_soon_threadsafe(end)
        except RuntimeError:
            pass  # the loop is closed: nobody waits
    return wake


async def _until(future, context):
    """Until it is done or the deadline has passed."""
    left = context.left()
    if left is None:
        await asyncio.shield(future)
    else:
        await asyncio.wait({future}, timeout=max(0.0, left))
