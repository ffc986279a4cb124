"""Tells the core about event loops, as soon as asyncio is imported and not before.

In a loop tasks take turns on one thread, so that the order of begins and ends says nothing about
who called whom: there the parent of a span is kept in a context variable.

A loop announces itself with asyncio.events._set_running_loop(), which is replaced by one that also
notes it for the thread; that costs a span nothing. Where loops may have begun before, on other
threads or by a library that took the function earlier (uvloop), each span asks asyncio instead.
"""
from __future__ import annotations

import sys
from contextvars import ContextVar
from types import ModuleType

from . import _core

# The id of the innermost open span of the task.
_current: ContextVar = ContextVar("genscope_span", default=None)


def watch() -> None:
    from ._imports import when_imported
    _core.keep_context(_current)
    if "asyncio.events" not in sys.modules:
        when_imported("asyncio.events", _follow)
    elif "uvloop" in sys.modules or len(sys._current_frames()) > 1:
        _core.ask_for_loops(sys.modules["asyncio.events"]._get_running_loop)
    else:
        _follow(sys.modules["asyncio.events"])


def _follow(events: ModuleType) -> None:
    running = events._get_running_loop() is not None
    ours = _core.follow_loops(events._set_running_loop, running)
    events._set_running_loop = ours  # type: ignore[attr-defined]
    asyncio = sys.modules.get("asyncio")
    if hasattr(asyncio, "_set_running_loop"):
        asyncio._set_running_loop = ours  # type: ignore[union-attr]
