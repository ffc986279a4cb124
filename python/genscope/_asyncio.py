"""Tells the core about event loops, as soon as asyncio is imported and not before.

In a loop tasks take turns on one thread, so that the order of begins and ends says nothing about
who called whom: there the parent of a span is kept in a context variable.
"""
from __future__ import annotations

from contextvars import ContextVar

from . import _core

# The id of the innermost open span of the task.
_current: ContextVar = ContextVar("genscope_span", default=None)


def watch() -> None:
    from ._imports import when_imported
    when_imported("asyncio.events",
                  lambda events: _core.watch_asyncio(events._get_running_loop, _current))
