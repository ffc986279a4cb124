"""A stage while it runs: its time, and its time without the stages inside it."""
from __future__ import annotations

import contextvars
import sys
import threading
import time
from typing import Any, Optional

from ... import _core
from .session import ProfilingSession

_task_stage: "contextvars.ContextVar[Optional[Stage]]" = contextvars.ContextVar(
    "genscope_inferix_stage", default=None)


class _Here(threading.local):
    stage: "Optional[Stage]" = None  # innermost of this thread, outside of an event loop


_here = _Here()


def _current_task() -> Any:
    """The task that runs here; None outside of an event loop."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None:
        return None
    return asyncio.current_task()


class Stage:
    """Of a thread, or of a task: a stage around is a parent only if it is of the same."""
    __slots__ = ("session", "name", "metadata", "span", "task", "before", "around", "inside", "begin")

    def __init__(self, session: ProfilingSession, name: str, metadata: Any) -> None:
        self.session, self.name, self.metadata = session, name, metadata

    def __enter__(self) -> None:
        metadata = self.metadata
        self.span = span = _core.stage(self.name, **metadata) if metadata \
            else _core.stage(self.name)
        self.task = task = _current_task()
        if task is None:
            self.before, _here.stage = _here.stage, self
        else:
            self.before = _task_stage.get()
            _task_stage.set(self)
        around = self.before
        while around is not None and around.session is not self.session:
            around = around.before  # of another session
        self.around = around if around is not None and around.task is task else None
        self.inside = 0.0
        self.session.begin_stage()
        span.__enter__()
        self.begin = time.monotonic()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        seconds = time.monotonic() - self.begin
        self.span.__exit__(kind, error, trace)
        around, same = self.around, False
        if self.task is None:
            _here.stage = self.before
        else:
            _task_stage.set(self.before)
        if around is not None:
            around.inside += seconds
            while around is not None and not same:
                same, around = around.name == self.name, around.around
        self.session.add_stage(self.name, seconds, seconds - self.inside, same, kind is not None,
                               self.metadata)
