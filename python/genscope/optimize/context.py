"""What a request carries: deadline, priority, tenant, stop.

    with Context(timeout=5, tenant="acme"):
        image = lane.run(pipeline, prompt)      # waits its turn, at most 5 s

    def steps():
        for step in range(20):
            checkpoint()                        # raises once the request was stopped or is late
            denoise(step)

A Context is current in its `with` block: for the thread or the asyncio task, and for what that starts. One made inside
another is its child: it has the earlier of the two deadlines, and stops when its parent stops.
"""
from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from typing import Callable, Optional

from .batch import Rejected

_current: contextvars.ContextVar[Optional["Context"]] = contextvars.ContextVar("genscope_context", default=None)
# What was current before each `with` that is open. Threads and tasks that enter one context have a list each.
_before: contextvars.ContextVar[tuple[Optional["Context"], ...]] = contextvars.ContextVar("genscope_before", default=())


class Cancelled(asyncio.CancelledError):
    """The work was asked to stop."""


class Timeout(TimeoutError):
    """The deadline passed."""


class Context:
    """`timeout` is in seconds from now, `deadline` of time.monotonic(). `priority` is from -4 to 3, higher goes first.
    What is left out is the parent's; the parent is the current context unless given."""

    def __init__(self, timeout: Optional[float] = None, *, deadline: Optional[float] = None,
                 priority: Optional[int] = None, tenant: Optional[str] = None,
                 parent: Optional["Context"] = None) -> None:
        parent = parent if parent is not None else _current.get()
        ends = [at for at in (deadline, parent.deadline if parent else None,
                              time.monotonic() + timeout if timeout is not None else None) if at is not None]
        self.deadline = min(ends) if ends else None
        self.priority = priority if priority is not None else parent.priority if parent else 0
        self.tenant = tenant if tenant is not None else parent.tenant if parent else ""
        self.parent = parent
        self._lock = threading.Lock()
        self._stopped = False
        self._hooks: dict[object, Callable[[], object]] = {}

    def left(self) -> Optional[float]:
        """Seconds until the deadline; None: there is none."""
        return None if self.deadline is None else self.deadline - time.monotonic()

    @property
    def stopped(self) -> bool:
        context: Optional[Context] = self
        while context is not None:
            if context._stopped:
                return True
            context = context.parent
        return False

    def stop(self) -> None:
        """Asks the work under this context to end: waits end at once, running code at its next checkpoint."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            hooks, self._hooks = list(self._hooks.values()), {}
        for hook in hooks:
            hook()

    def on_stop(self, function: Callable[[], object]) -> Callable[[], None]:
        """Calls `function` when this context or one above it is stopped; at once if it was. Gives what undoes it."""
        chain, context = [], self
        token = object()
        once = threading.Lock()

        def call():
            if once.acquire(blocking=False):
                function()
        while context is not None:
            with context._lock:
                if not context._stopped:
                    context._hooks[token] = call
                    chain.append(context)
                    context = context.parent
                    continue
            call()
            break

        def undo():
            for each in chain:
                with each._lock:
                    each._hooks.pop(token, None)
        return undo

    def checkpoint(self) -> None:
        """Raises Cancelled (an asyncio.CancelledError) or Timeout (a TimeoutError) if the work should end."""
        if self.stopped:
            raise Cancelled("the work was asked to stop")
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise Timeout("the deadline passed")

    def __enter__(self) -> "Context":
        _before.set((*_before.get(), _current.get()))
        _current.set(self)
        return self

    def __exit__(self, *exc: object) -> None:
        *rest, before = _before.get() or (None,)
        _before.set(tuple(rest))
        _current.set(before)


def current_context() -> Optional[Context]:
    return _current.get()


def checkpoint() -> None:
    """Raises if the current context says that the work should end; call it between steps."""
    context = _current.get()
    if context is not None:
        context.checkpoint()


def raise_ended(status: str) -> None:
    """What a wait that ended with `status` means for who waited."""
    if status == "cancelled":
        raise Cancelled("the work was asked to stop before it ran")
    if status == "timeout":
        raise Timeout("the deadline passed before its turn came")
    if status == "rejected":
        raise Rejected("the queue is full, or the request is larger than the limit")
