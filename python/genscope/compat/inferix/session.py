"""What is kept of one profiling session, in bounded memory. Any thread."""
from __future__ import annotations

import collections
import contextvars
import sys
import threading
import time
from typing import Any, Deque, Dict, Optional

from ... import _core
from .._torch import number

_task_stage: "contextvars.ContextVar[Any]" = contextvars.ContextVar("genscope_inferix_stage",
                                                                    default=None)


def _current_task() -> Any:
    """The task that runs here; None outside of an event loop."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None:
        return None
    return asyncio.current_task()


class Figures:
    """Running count, sum and bounds of a column. What is None is not counted."""
    __slots__ = ("count", "total", "least", "most")

    def __init__(self) -> None:
        self.count, self.total = 0, 0.0
        self.least: Optional[float] = None
        self.most: Optional[float] = None

    def add(self, value: Optional[float]) -> None:
        if value is None:
            return
        if self.count == 0:
            self.least = self.most = value
        elif value < self.least:  # type: ignore[operator]
            self.least = value
        elif value > self.most:  # type: ignore[operator]
            self.most = value
        self.count += 1
        self.total += value

    @property
    def mean(self) -> Optional[float]:
        return self.total / self.count if self.count else None


class Kept:
    """The newest rows of a list, and how many there were."""

    def __init__(self, limit: int) -> None:
        self.rows: Deque[Any] = collections.deque(maxlen=limit)
        self.count = 0

    def add(self, row: "dict[str, Any]") -> None:
        self.count += 1
        self.rows.append(row)


class ProfilingSession:
    """Durations are of a clock that is never set; the Unix times are told from its start."""

    def __init__(self, session_id: str, tags: "dict[str, Any]", limit: int) -> None:
        self.session_id = session_id
        self.tags = tags
        self.end: Optional[float] = None
        self.start()
        self.lock = threading.Lock()
        self.book = _core.StageBook(_current_task, _task_stage)
        self.stage = self.book.stage  # (name, metadata) -> for `with`
        self.steps = _core.StepBook(limit, number)
        self.add_step = self.steps.add
        self.events = _core.EventBook(limit)
        self.add_event = self.events.add
        self.blocks, self.streaming, self.memory = (Kept(limit) for _ in range(3))
        self.block_ms, self.frames, self.block_mb = Figures(), Figures(), Figures()
        self.models: "Dict[str, Dict[str, Any]]" = {}
        self.layers: "Dict[str, Figures]" = {}
        self.layer_parameters: "Dict[str, Optional[int]]" = {}
        self.sent_frames, self.dropped_frames = 0.0, 0
        self.encoding_ms, self.latency_ms = Figures(), Figures()
        self.allocated, self.freed, self.small = Figures(), Figures(), 0
        self.cache = {"hits": 0, "misses": 0, "evictions": 0}
        self.of: Any = None  # its profiler
        self.recording: Any = None  # genscope's own session
        self.recorded = False  # whether the recorder may take events
        self.run_dir = ""
        self.gpu_absent = ""

    def start(self) -> None:
        self.start_time, self.begin = time.time(), time.monotonic()

    @property
    def duration(self) -> float:
        return (time.monotonic() if self.end is None else self.end) - self.begin

    @property
    def end_time(self) -> Optional[float]:
        return None if self.end is None else self.start_time + self.duration

    def unix(self, monotonic: Optional[float] = None) -> float:
        """The Unix time of a moment of the clock, or of now."""
        return self.start_time + (time.monotonic() if monotonic is None else monotonic) - self.begin

    @property
    def stages(self) -> "Dict[str, Any]":
        """Figures of the stages that ended: count, failed, and seconds total, mean, least, most, own
        (without stages inside), covered (calls inside calls of the same name count once)."""
        return self.book.rows

    def add_block(self, row: "dict[str, Any]") -> None:
        with self.lock:
            self.blocks.add(row)
            self.block_ms.add(row["computation_time_ms"])
            self.frames.add(row["block_size"])
            self.block_mb.add(row["memory_usage_mb"])

    def add_memory(self, kind: str, size: float, row: "dict[str, Any]") -> None:
        with self.lock:
            self.memory.add(row)
            if kind.startswith("alloc"):
                self.allocated.add(size)
                self.small += size < 1024 * 1024
            else:
                self.freed.add(size)
