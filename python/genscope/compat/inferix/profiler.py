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
import tempfile
import threading
import time
from typing import Any, Dict, Iterator, Optional

from ... import _core
from .config import SWITCHED, ProfilingConfig, skipped_spans, skips
from .display import Display
from .monitors import CPUMonitor, GPUMonitor
from .session import ProfilingSession
from .telling import Telling

_NOTHING = _core.Nothing()
_sessions: "contextvars.ContextVar[tuple[ProfilingSession, ...]]" = contextvars.ContextVar(
    "genscope_inferix_sessions", default=())


class InferixProfiler(Telling):
    def __init__(self, config: Optional[ProfilingConfig] = None) -> None:
        from .diffusion_analyzer import DiffusionAnalyzer
        from .reporter import ProfilingReporter
        self.config = config if config is not None else ProfilingConfig()
        self._open: "list[ProfilingSession]" = []
        self._last: Optional[ProfilingSession] = None
        self._lock = threading.Lock()
        # What is told before the first session: the next report has it apart.
        self._before = self._only = self._unnamed()
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

    def _find_only(self) -> None:
        """While at most one session is open, every thread has the same. Under the lock."""
        self._only = None if len(self._open) > 1 else self._open[0] if self._open else self._before

    def _start(self, session_id: str, tags: "Optional[Dict[str, Any]]") -> ProfilingSession:
        every = _core.plain({**_rank_tags(), **self.config.session_tags, **(tags or {})})
        opened = ProfilingSession(session_id, every, self.config.max_data_points)
        opened.of = self
        with self._lock:
            if not self._open:
                self._watch()
            self._open.append(opened)
            self._find_only()
        self._record(opened)
        opened.start()  # what came before is our own time
        for monitor in (self.gpu_monitor, self.cpu_monitor):
            if monitor is not None:
                monitor._take()
        _sessions.set((*(one for one in _sessions.get() if one.end is None), opened))
        return opened

    def _watch(self) -> None:
        for monitor in (self.gpu_monitor, self.cpu_monitor):
            if monitor is not None:
                monitor.clear_data()
                monitor.start_monitoring()
        if self.config.real_time_display:
            self._display.start()

    def _record(self, opened: ProfilingSession) -> None:
        """Opens a run of genscope's, or joins the one that is being recorded."""
        joins = _core.stats()["active"] or "GENSCOPE_RUN_DIR" in os.environ
        wanted = self.reporter.wants_run()
        if not joins and not wanted:
            return
        options: "Dict[str, Any]" = {"quiet": True, "skip": skipped_spans(self.config),
                                     "keep_args": self.config.keep_args}
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
        for monitor in (self.gpu_monitor, self.cpu_monitor):
            if monitor is not None and ended.end is None:
                monitor._take()  # the last moment
        now = time.monotonic()
        with self._lock:
            if ended not in self._open:
                return
            ended.end = now
            self._open.remove(ended)
            self._find_only()
            if not self._open:
                self._display.stop()
                for monitor in (self.gpu_monitor, self.cpu_monitor):
                    if monitor is not None:
                        monitor.stop_monitoring()
        _sessions.set(tuple(one for one in _sessions.get() if one is not ended))
        if self.gpu_monitor is not None:
            ended.gpu_absent = self.gpu_monitor.absent
        if ended.recording is not None:
            ended.recording.close()
        self._last = ended
        if self.config.generate_final_report:
            with self._lock:
                before, self._before = self._before, self._unnamed()
                self._find_only()
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
        config = self.config
        if not config.enabled or stage_name in SWITCHED and skips(config, stage_name):
            return _NOTHING
        return (self._only or self._book()).stage(stage_name, metadata)

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
