"""What is kept of one profiling session, in bounded memory. Any thread."""
from __future__ import annotations

import collections
import itertools
import threading
import time
from typing import Any, Deque, Dict, List, Optional


def plain(value: Any, depth: int = 8) -> Any:
    """A copy for JSON that holds nothing of the program's: of what is no plain value only its
    type's name, never its text, which could wait for a GPU."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if depth and isinstance(value, dict):
        return {str(key): plain(item, depth - 1) for key, item in value.items()}
    if depth and isinstance(value, (list, tuple)):
        return [plain(item, depth - 1) for item in value]
    return f"<{type(value).__name__}>"


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


class StageFigures(Figures):
    """Seconds of a stage. `covered`: a call inside a call of the same name adds nothing."""
    __slots__ = ("own", "covered", "failed", "metadata")

    def __init__(self) -> None:
        super().__init__()
        self.own = self.covered = 0.0
        self.failed = 0
        self.metadata: "Optional[dict[str, Any]]" = None  # of the last call that had some


class Kept:
    """The newest rows of a list, and how many there were."""

    def __init__(self, limit: int) -> None:
        self.rows: Deque[Dict[str, Any]] = collections.deque(maxlen=limit)
        self.count = 0

    def add(self, row: "dict[str, Any]") -> None:
        self.count += 1
        self.rows.append(row)

    @property
    def dropped(self) -> int:
        return self.count - len(self.rows)


class ProfilingSession:
    """Durations are of a clock that is never set; the Unix times are told from its start."""

    def __init__(self, session_id: str, tags: "dict[str, Any]", limit: int) -> None:
        self.session_id = session_id
        self.tags = tags
        self.end: Optional[float] = None
        self.start()
        self.lock = threading.Lock()
        self.stages: "Dict[str, StageFigures]" = {}
        self.begin_stage = itertools.count().__next__  # atomic, unlike +=
        self.ended_stages = 0
        self.events = Kept(limit)
        self.steps, self.blocks, self.streaming, self.memory = (Kept(limit) for _ in range(4))
        self.step_ms, self.timestep, self.block_size = Figures(), Figures(), Figures()
        self.block_ms, self.frames, self.block_mb = Figures(), Figures(), Figures()
        self.passes: "List[int]" = []  # steps of each run through the timesteps, the newest
        self.pass_count = 0
        self.pass_frames = 0.0  # block_size, once a pass
        self.last_step: Optional[float] = None
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

    def unix(self) -> float:
        return self.start_time + time.monotonic() - self.begin

    def add_stage(self, name: str, seconds: float, own: float, inside_same: bool, failed: bool,
                  metadata: "Optional[dict[str, Any]]") -> None:
        with self.lock:
            stage = self.stages.get(name)
            if stage is None:
                stage = self.stages[name] = StageFigures()
                stage.least = stage.most = seconds
            elif seconds < stage.least:  # type: ignore[operator]
                stage.least = seconds
            elif seconds > stage.most:  # type: ignore[operator]
                stage.most = seconds
            stage.count += 1
            stage.total += seconds
            if own > 0:
                stage.own += own
            if not inside_same:
                stage.covered += seconds
            if failed:
                stage.failed += 1
            if metadata:
                stage.metadata = plain(metadata)
            self.ended_stages += 1

    def add_step(self, row: "dict[str, Any]") -> None:
        with self.lock:
            self.steps.add(row)
            self.step_ms.add(row["computation_time_ms"])
            self.timestep.add(row["timestep"])
            self.block_size.add(row["block_size"])
            # A step number that does not rise begins another block.
            if self.last_step is None or row["step"] is None or row["step"] <= self.last_step:
                self.pass_count += 1
                self.pass_frames += row["block_size"] or 0
                if len(self.passes) < 10_000:
                    self.passes.append(0)
            if self.passes:
                self.passes[-1] += 1
            self.last_step = row["step"]

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
