"""InferixProfiler of document 002.

Sessions nest and overlap; each thread and task has its own stack of stages. While a session is open
the recorder has all of it too, so that our HTML page shows timelines.
"""
from __future__ import annotations

import contextlib
import contextvars
import functools
import os
import shutil
import sys
import tempfile
import threading
import time
from typing import Any, Callable, Dict, Iterator, Optional

from ... import _core
from .._torch import number
from .config import ProfilingConfig, skipped_spans, skips
from .display import Display
from .monitors import CPUMonitor, GPUMonitor
from .session import Figures, ProfilingSession, plain

_NOTHING = contextlib.nullcontext()
_sessions: "contextvars.ContextVar[tuple[ProfilingSession, ...]]" = contextvars.ContextVar(
    "genscope_inferix_sessions", default=())
_task_stage: "contextvars.ContextVar[Optional[_Stage]]" = contextvars.ContextVar(
    "genscope_inferix_stage", default=None)


class _Here(threading.local):
    stage: "Optional[_Stage]" = None  # innermost of this thread, outside of an event loop


_here = _Here()


def _current_task() -> Any:
    """The task that runs here; None outside of an event loop."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None:
        return None
    return asyncio.current_task()


class _Stage:
    """Of a thread, or of a task: a stage around is a parent only if it is of the same."""
    __slots__ = ("session", "name", "metadata", "span", "task", "around", "inside", "begin")

    def __init__(self, session: ProfilingSession, name: str, metadata: Any) -> None:
        self.session, self.name, self.metadata = session, name, metadata

    def __enter__(self) -> None:
        metadata = self.metadata
        self.span = span = _core.stage(self.name, **metadata) if metadata \
            else _core.stage(self.name)
        self.task = task = _current_task()
        if task is None:
            around, _here.stage = _here.stage, self
        else:
            around = _task_stage.get()
            if around is not None and around.task is not task:
                around = None
            _task_stage.set(self)
        self.around = around if around is not None and around.session is self.session else None
        self.inside = 0.0
        self.session.begin_stage()
        span.__enter__()
        self.begin = time.monotonic()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        seconds = time.monotonic() - self.begin
        self.span.__exit__(kind, error, trace)
        around, same = self.around, False
        if self.task is None:
            _here.stage = around
        else:
            _task_stage.set(around)
        if around is not None:
            around.inside += seconds
            while around is not None and not same:
                same, around = around.name == self.name, around.around
        self.session.add_stage(self.name, seconds, seconds - self.inside, same, kind is not None,
                               self.metadata)


class InferixProfiler:
    def __init__(self, config: Optional[ProfilingConfig] = None) -> None:
        from .diffusion_analyzer import DiffusionAnalyzer
        from .reporter import ProfilingReporter
        self.config = config if config is not None else ProfilingConfig()
        self._open: "list[ProfilingSession]" = []
        self._last: Optional[ProfilingSession] = None
        self._lock = threading.Lock()
        # What is told before the first session: the next report has it apart.
        self._before = self._unnamed()
        self.report_paths: "list[str]" = []  # of the last session that ended
        watched = self.config.enabled
        gpu = watched and (self.config.monitor_gpu_memory or self.config.monitor_gpu_utilization
                           or self.config.monitor_gpu_temperature or self.config.monitor_gpu_power)
        cpu = watched and (self.config.monitor_cpu_usage or self.config.monitor_system_memory)
        self.gpu_monitor = GPUMonitor(
            self.config.gpu_monitor_interval, self.config.max_data_points,
            memory=self.config.monitor_gpu_memory, utilization=self.config.monitor_gpu_utilization,
            temperature=self.config.monitor_gpu_temperature,
            power=self.config.monitor_gpu_power) if gpu else None
        self.cpu_monitor = CPUMonitor(self.config.cpu_monitor_interval,
                                      self.config.max_data_points) if cpu else None
        self.reporter = ProfilingReporter(self.config)
        self.diffusion_analyzer = DiffusionAnalyzer(self)
        self._display = Display(self)

    def __enter__(self) -> "InferixProfiler":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.cleanup()

    # --- sessions

    @contextlib.contextmanager
    def session(self, session_id: Optional[str] = None,
                tags: "Optional[Dict[str, Any]]" = None) -> Iterator[Optional[str]]:
        """Ends with its `with`, and then writes the reports."""
        if not self.config.enabled:
            yield None
            return
        opened = self._start(session_id or f"session_{int(time.time())}", tags)
        try:
            yield opened.session_id
        finally:
            self._end(opened)

    def start_session(self, session_id: str, tags: "Optional[Dict[str, Any]]" = None) -> str:
        if self.config.enabled:
            self._start(session_id, tags)
        return session_id

    def end_session(self) -> Optional[str]:
        """Ends the innermost session of this thread or task, else the newest; its id."""
        found = self._current()
        if not self.config.enabled or found is None:
            return None
        self._end(found)
        return found.session_id

    @property
    def current_session(self) -> Optional[ProfilingSession]:
        return self._current()

    def _current(self) -> Optional[ProfilingSession]:
        for one in reversed(_sessions.get()):
            if one.end is None and one.of is self:
                return one
        return self._open[-1] if self._open else None  # a thread that a session's code started

    def _unnamed(self) -> ProfilingSession:
        book = ProfilingSession("", {}, self.config.max_data_points)
        book.recorded = True  # by `genscope run`, perhaps
        return book

    def _book(self) -> ProfilingSession:
        return self._current() or self._before

    def _start(self, session_id: str, tags: "Optional[Dict[str, Any]]") -> ProfilingSession:
        every = plain({**_rank_tags(), **self.config.session_tags, **(tags or {})})
        opened = ProfilingSession(session_id, every, self.config.max_data_points)
        opened.of = self
        with self._lock:
            first = not self._open
            self._open.append(opened)
        if first:
            for monitor in (self.gpu_monitor, self.cpu_monitor):
                if monitor is not None:
                    monitor.clear_data()
                    monitor.start_monitoring()
        self._record(opened)
        if first and self.config.real_time_display:
            self._display.start()
        _sessions.set((*(one for one in _sessions.get() if one.end is None), opened))
        return opened

    def _record(self, opened: ProfilingSession) -> None:
        """Opens a run of genscope's, or joins the one that is being recorded."""
        joins = _core.stats()["active"] or "GENSCOPE_RUN_DIR" in os.environ
        wanted = self.reporter.wants_run()
        if not joins and not wanted:
            return
        options: "Dict[str, Any]" = {"quiet": True, "skip": skipped_spans(self.config)}
        if not joins:
            opened.run_dir = tempfile.mkdtemp(prefix="genscope-inferix-")
            options["run_dir"] = opened.run_dir
            probes = [name for monitor in (self.gpu_monitor, self.cpu_monitor)
                      if monitor is not None for name in monitor.probes]
            options["probes"] = ["process", *probes]
        opened.recording = _core.Session(opened.session_id, **options)
        opened.recorded = True
        for key, value in opened.tags.items():
            opened.recording.arg(str(key), value)

    def _end(self, ended: ProfilingSession) -> None:
        with self._lock:
            if ended not in self._open:
                return
            self._open.remove(ended)
            last = not self._open
        for monitor in (self.gpu_monitor, self.cpu_monitor):
            if monitor is not None:
                monitor._take()  # the last moment
        ended.end = time.monotonic()
        _sessions.set(tuple(one for one in _sessions.get() if one is not ended))
        if last:
            self._display.stop()
            for monitor in (self.gpu_monitor, self.cpu_monitor):
                if monitor is not None:
                    monitor.stop_monitoring()
        if self.gpu_monitor is not None:
            ended.gpu_absent = self.gpu_monitor.absent
        if ended.recording is not None:
            ended.recording.close()
        self._last = ended
        if self.config.generate_final_report:
            before, self._before = self._before, self._unnamed()
            written = self.reporter.generate_report(ended, *self._samples(ended), before=before)
            self.report_paths = written.split(", ") if written else []
            if self.report_paths:
                print("Profiling report: " + ", ".join(self.report_paths))
        if ended.run_dir:
            shutil.rmtree(ended.run_dir, ignore_errors=True)

    def _samples(self, of: ProfilingSession) -> "tuple[list[Any], list[Any]]":
        """The samples of that session's own time."""
        def within(monitor: Any) -> "list[Any]":
            rows = monitor.get_all_data() if monitor is not None else []
            return [row for row in rows if of.begin <= row.monotonic
                    and (of.end is None or row.monotonic <= of.end)]
        return within(self.gpu_monitor), within(self.cpu_monitor)

    def cleanup(self) -> None:
        """Ends every session that is open."""
        while self._open:
            self._end(self._open[-1])

    # --- stages

    def stage(self, stage_name: str, metadata: "Optional[Dict[str, Any]]" = None) -> Any:
        """For `with`."""
        if not self.config.enabled or skips(self.config, stage_name):
            return _NOTHING
        return _Stage(self._book(), stage_name, metadata)

    def profile_function(self, func: Any = None, stage_name: Optional[str] = None,
                         metadata: "Optional[Dict[str, Any]]" = None) -> Any:
        """`@profiler.profile_function("name")`, `@profiler.profile_function`, or a function's
        wrapper as Inferix has it: `profile_function(func, stage_name)`."""
        if not callable(func):
            return functools.partial(self.profile_function, stage_name=func or stage_name,
                                     metadata=metadata)
        name = stage_name or getattr(func, "__name__", type(func).__name__)
        from .decorators import around
        return around(func, lambda *_: self.stage(name, metadata))

    # --- what the program tells

    def add_event(self, event_name: str, data: "Optional[Dict[str, Any]]" = None) -> None:
        if not self.config.enabled:
            return
        book = self._book()
        with book.lock:
            book.events.add({"name": event_name, "timestamp": book.unix(),
                             "data": plain(data or {})})
        if book.recorded:
            _core.event(event_name, **{str(key): value for key, value in (data or {}).items()})

    def record_diffusion_step(self, step: Any, timestep: Any, block_size: Any,
                              computation_time_ms: Any, guidance_scale: Any = None) -> None:
        if not self.config.enabled or not self.config.profile_diffusion_steps:
            return
        row = {"step": number(step), "timestep": number(timestep),
               "block_size": number(block_size),
               "computation_time_ms": number(computation_time_ms),
               "guidance_scale": number(guidance_scale)}
        book = self._book()
        book.add_step(row)
        if book.recorded:
            _core.event("diffusion_step", ms=row["computation_time_ms"], step=row["step"],
                        timestep=row["timestep"], block_size=row["block_size"])

    def record_block_computation(self, block_index: Any, block_size: Any, computation_time_ms: Any,
                                 memory_usage_mb: Any = None) -> None:
        if not self.config.enabled or not self.config.profile_block_computation:
            return
        row = {"block_index": number(block_index), "block_size": number(block_size),
               "computation_time_ms": number(computation_time_ms),
               "memory_usage_mb": number(memory_usage_mb)}
        self._book().add_block(row)
        _core.event("block", ms=row["computation_time_ms"], index=row["block_index"],
                    frames=row["block_size"])

    def record_model_parameters(self, model_name: str, parameters_count: int,
                                model_type: str) -> None:
        if not self.config.enabled or not self.config.profile_model_parameters:
            return
        book = self._book()
        with book.lock:
            if len(book.models) < 10_000:
                book.models[str(model_name)] = {"parameters_count": int(parameters_count),
                                                "model_type": str(model_type)}
        _core.event("model_parameters", name=str(model_name), parameters=int(parameters_count),
                    type=str(model_type))

    def record_streaming_event(self, batch_size: int, encoding_time_ms: float,
                               network_latency_ms: float = 0.0,
                               buffer_occupancy: float = 0.0) -> None:
        if not self.config.enabled:
            return
        book = self._book()
        with book.lock:
            book.streaming.add({"timestamp": book.unix(), "batch_size": batch_size,
                                "encoding_time_ms": encoding_time_ms,
                                "network_latency_ms": network_latency_ms,
                                "buffer_occupancy": buffer_occupancy})
            book.sent_frames += batch_size
            book.encoding_ms.add(encoding_time_ms)
            book.latency_ms.add(network_latency_ms)
        _core.event("streaming", batch_size=batch_size, encoding_time_ms=encoding_time_ms,
                    network_latency_ms=network_latency_ms, buffer_occupancy=buffer_occupancy)

    def record_dropped_frames(self, count: int = 1) -> None:
        if self.config.enabled:
            self._book().dropped_frames += count
            _core.event("dropped_frames", count=count)

    def start_layer_computation(self, layer_name: str) -> float:
        """A time for end_layer_computation(), of a clock that is never set."""
        return time.monotonic()

    def end_layer_computation(self, layer_name: str, start_time: float,
                              parameters_count: Optional[int] = None) -> float:
        """Milliseconds."""
        took = (time.monotonic() - start_time) * 1000
        if self.config.enabled:
            book = self._book()
            with book.lock:
                if len(book.layers) < 10_000 or layer_name in book.layers:
                    book.layers.setdefault(layer_name, Figures()).add(took)
                    book.layer_parameters[layer_name] = parameters_count
            _core.event("layer", name=layer_name, ms=took, parameters=parameters_count)
        return took

    def record_memory_event(self, event_type: str, size_bytes: int, allocator: str = "unknown",
                            context: str = "") -> None:
        if not self.config.enabled:
            return
        book = self._book()
        book.add_memory(event_type, size_bytes, {
            "timestamp": book.unix(), "event_type": event_type, "size_bytes": size_bytes,
            "allocator": allocator, "context": context})
        kind = "alloc" if event_type.startswith("alloc") else "free"
        _core.event("memory", type=kind, bytes=size_bytes)

    def record_cache_event(self, event_type: str, cache_size: int, requested_size: int = 0,
                           evicted_size: int = 0) -> None:
        """Of type hits, misses or evictions; an eviction is no request."""
        if not self.config.enabled:
            return
        book = self._book()
        with book.lock:
            if event_type in book.cache:
                book.cache[event_type] += 1
        kind = {"hits": "hit", "misses": "miss", "evictions": "eviction"}.get(event_type, event_type)
        _core.event("cache", type=kind, size=cache_size, evicted=evicted_size)

    # --- live

    def get_current_metrics(self) -> "Dict[str, Any]":
        """{timestamp, gpu, cpu}: the newest sample, else one that is taken now."""
        found: "Dict[str, Any]" = {"timestamp": time.time()}
        for key, monitor in (("gpu", self.gpu_monitor), ("cpu", self.cpu_monitor)):
            if monitor is None:
                continue
            latest = monitor.get_latest_metrics() if self._open else None
            found[key] = latest or monitor.collect_metrics()
            if not found[key] and isinstance(monitor, GPUMonitor):
                found[key] = monitor.no_gpu()
        return found


def _rank_tags() -> "Dict[str, Any]":
    """Of a job that says who it is, for aggregate_reports."""
    tags = {}
    for tag, name in (("rank", "RANK"), ("world_size", "WORLD_SIZE")):
        text = os.environ.get(name, "")
        if text.isdigit():
            tags[tag] = int(text)
    return tags
