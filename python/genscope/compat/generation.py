"""Document 000's monitor of generations, over genscope's GenerationMonitor (docs/monitors.md).

    from genscope.compat.generation import PerformanceMonitor
    monitor = PerformanceMonitor(target_generation_time=5.0)
    with monitor.monitor_generation(model_name="Qwen-Image", num_steps=20) as generation:
        for step in range(20):
            generation.start_step_timing()
            ...
            generation.end_step_timing()

Any number of generations run at once, in threads and tasks, each with times of its own. What was
not measured is None.
"""
from __future__ import annotations

import contextvars
import json
import logging
import time
from typing import Any, Callable, Optional, Tuple

from .. import _core
from . import _torch
from ._metrics import PerformanceMetrics, from_json, to_json
from ._pipeline import PipelineOptimizer

logger = logging.getLogger(__name__)

# The generations that are open here, innermost last: of every thread and task its own.
_open: "contextvars.ContextVar[tuple[MonitoredGeneration, ...]]" = contextvars.ContextVar(
    "genscope_generations", default=())
_MEMORY_SECONDS = 0.1  # between two readings of torch's allocator


def _reason(error: BaseException) -> str:
    text = error.args[0] if error.args and isinstance(error.args[0], str) else ""
    return f"{type(error).__name__}: {text}"[:400] if text else type(error).__name__


class MonitoredGeneration:
    """A generation that runs; ends with its `with`, as a failure if an exception leaves it. Has the
    monitor's other methods too, as document 000 shows."""

    def __init__(self, monitor: "PerformanceMonitor", settings: "dict[str, Any]",
                 by_hand: bool = False) -> None:
        self._monitor = monitor
        self._settings = settings
        self._by_hand = by_hand  # by start_timing()
        self._running: Any = None
        self._cuda: Any = None
        self._next_reading = 0.0
        self._ended: Any = None
        self._metrics: Optional[PerformanceMetrics] = None

    @property
    def metrics(self) -> Optional[PerformanceMetrics]:
        """Once it has ended."""
        if self._metrics is None and self._ended is not None:
            self._metrics = from_json(self._ended.metrics())
        return self._metrics

    def __enter__(self) -> "MonitoredGeneration":
        self._cuda = _torch.cuda()
        self._running = self._monitor._generations.start(**self._settings)
        self._monitor._running.append(self)
        _open.set((*_open.get(), self))
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._finish(None if error is None else _reason(error))

    def _finish(self, failure: Optional[str]) -> None:
        running = self._running
        if running is None:
            return
        if self._cuda is not None:
            self._note_memory()
        target_met = running.finish(failure)
        self._running = None
        here = _open.get()
        _open.set(here[:-1] if here and here[-1] is self
                  else tuple(one for one in here if one is not self))
        if self in self._monitor._running:
            self._monitor._running.remove(self)
        if target_met is not None:
            self._ended = running
            self._monitor._tell(self, target_met)

    def _note_memory(self) -> None:
        try:
            self._running.note_gpu_memory(self._cuda.memory_allocated())
        except Exception:
            self._cuda = None

    def start_step_timing(self) -> None:
        if self._running is not None:
            self._running.begin_step()

    def end_step_timing(self) -> Optional[float]:
        """Seconds of the step; None if none was open."""
        if self._running is None:
            return None
        seconds = self._running.end_step()
        if self._cuda is not None:
            now = time.monotonic()
            if now >= self._next_reading:
                self._next_reading = now + _MEMORY_SECONDS
                self._note_memory()
        return seconds

    def progress(self) -> "dict[str, Any]":
        """Steps done, seconds so far, and the projected total once it can be told."""
        if self._running is None:
            return {}
        done, elapsed, projected, out_of_reach = self._running.progress()
        return {"steps_done": done, "elapsed_seconds": elapsed, "projected_seconds": projected,
                "out_of_reach": out_of_reach}

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_monitor"), name)


class PerformanceMonitor:
    """Judges generations against a target in seconds; docs/python-compat.md has all its methods.

    `on_early_warning` is called with a dict when the projected total passes the target, and when it
    comes back below it.
    """

    def __init__(self, target_generation_time: float = 5.0, *, model_path: str = "",
                 history: int = 100,
                 on_early_warning: Optional[Callable[["dict[str, Any]"], None]] = None) -> None:
        self.target_generation_time = float(target_generation_time)
        self._running: "list[MonitoredGeneration]" = []
        self._generations = _core.GenerationMonitor(
            low=min(2.0, self.target_generation_time), high=self.target_generation_time,
            model_path=model_path, history=history,
            on_warning=_warner(on_early_warning) if on_early_warning else None)

    # --- a generation

    def monitor_generation(self, model_name: str = "", architecture_type: Optional[str] = None,
                           num_steps: Optional[int] = None,
                           resolution: Optional[Tuple[int, int]] = None, *, batch_size: int = 1,
                           torch_dtype: str = "", device: str = "",
                           facts: "Optional[dict[str, Any]]" = None) -> MonitoredGeneration:
        """For `with`. Without an architecture it is told from the model; `facts` are what only the
        program knows, for the advice: {"set.attn_processor": "AttnProcessor2_0"}."""
        width, height = resolution or (0, 0)
        return MonitoredGeneration(self, {
            "model_name": model_name, "architecture_type": architecture_type or "",
            "num_steps": num_steps or 0, "width": width, "height": height,
            "batch_size": batch_size, "torch_dtype": str(torch_dtype), "device": str(device),
            "facts": facts})

    def start_timing(self) -> None:
        """Begins a generation of this thread or task; one that it had begun so is forgotten."""
        before = self._innermost(by_hand=True)
        if before is not None:
            before._finish("started anew")
        MonitoredGeneration(self, {}, by_hand=True).__enter__()

    def end_timing(self) -> Optional[float]:
        """Its seconds; None if none was begun."""
        generation = self._innermost(by_hand=True)
        if generation is None:
            return None
        generation._finish(None)
        return generation.metrics.total_generation_time if generation.metrics else None

    def start_step_timing(self) -> None:
        generation = self._innermost()
        if generation is not None:
            generation.start_step_timing()

    def end_step_timing(self) -> Optional[float]:
        generation = self._innermost()
        return generation.end_step_timing() if generation is not None else None

    def _innermost(self, by_hand: bool = False) -> Optional[MonitoredGeneration]:
        for one in reversed(_open.get()):
            if one._monitor is self and one._running is not None and (one._by_hand or not by_hand):
                return one
        # A plain thread knows nothing of who started it: the only generation there is.
        running = [one for one in self._running if one._by_hand or not by_hand]
        return running[0] if len(running) == 1 else None

    # --- loading

    def measure_model_load_time(self, load: Callable[..., Any], *args: Any,
                                **kwargs: Any) -> "tuple[Any, float]":
        """Calls it; its result and seconds, which every later generation's metrics have."""
        scope = self._generations.load("model", False)
        try:
            result = load(*args, **kwargs)
        except BaseException:
            scope.end(True)
            raise
        return result, scope.end()

    # --- results

    def validate_performance_target(self, generation_time: float) -> bool:
        return self._generations.validate(float(generation_time))

    def get_current_metrics(self) -> Optional[PerformanceMetrics]:
        """Of the last generation that ended; None before the first."""
        found = self._generations.metrics()
        return from_json(found) if found is not None else None

    def get_history(self) -> "list[PerformanceMetrics]":
        return [from_json(text) for text in self._generations.history()]

    def get_performance_summary(self) -> "dict[str, Any]":
        return json.loads(self._generations.summary())

    def get_before_after_comparison(self, previous_metrics: Any) -> "dict[str, Any]":
        """The last generation against an earlier one: metrics, or a dict of an export."""
        if previous_metrics is None:
            return {"error": "there are no metrics to compare with"}
        try:
            return json.loads(self._generations.compare(to_json(previous_metrics)))
        except FileNotFoundError as error:
            return {"error": str(error)}

    def diagnose(self, metrics: Optional[PerformanceMetrics] = None,
                 facts: "Optional[dict[str, Any]]" = None) -> "list[dict[str, Any]]":
        """What the rules find in a generation, each with its evidence."""
        found = metrics or self.get_current_metrics()
        if found is None:
            return []
        return json.loads(self._generations.diagnose(to_json(found), facts))["findings"]

    def log_performance_metrics(self, metrics: "dict[str, Any]") -> None:
        """Numbers of the program's own: counters of the run, and a line of the log."""
        for name, value in metrics.items():
            figure = _torch.number(value)
            if figure is not None:
                _core.counter(str(name), figure)
        logger.info("metrics: %s", ", ".join(map(str, metrics)))

    def export_metrics_to_json(self, path: Any) -> None:
        self._generations.export_json(str(path))

    def import_metrics_from_json(self, path: Any) -> None:
        """Puts the generations of such a file before those of the history."""
        self._generations.import_json(str(path))

    def reset_metrics(self) -> None:
        self._generations.reset_metrics()

    def clear_history(self) -> None:
        self._generations.clear_history()

    def _tell(self, generation: MonitoredGeneration, target_met: bool) -> None:
        level = logging.INFO if target_met else logging.WARNING
        if not logger.isEnabledFor(level):
            return
        metrics = generation.metrics
        text = self._generations.text(to_json(metrics)).rstrip()
        if not target_met:
            for finding in self.diagnose(metrics, generation._settings.get("facts")):
                text += f"\n   - {finding['advice']} [{finding['rule']}]"
        logger.log(level, "%s", text)


def _warner(tell: Callable[["dict[str, Any]"], None]) -> Callable[..., None]:
    names = ("generation", "step", "steps", "out_of_reach", "elapsed_seconds", "projected_seconds",
             "target_seconds")
    return lambda *values: tell(dict(zip(names, values)))


def create_mmdit_performance_monitor(target_time: float = 5.0) -> PerformanceMonitor:
    return PerformanceMonitor(target_generation_time=target_time)


def monitor_generation_performance(model_name: str = "", target_time: float = 5.0,
                                   architecture_type: Optional[str] = None,
                                   num_steps: Optional[int] = None,
                                   resolution: Optional[Tuple[int, int]] = None,
                                   ) -> MonitoredGeneration:
    """A monitor for one generation, for `with`."""
    return PerformanceMonitor(target_time).monitor_generation(model_name, architecture_type,
                                                              num_steps, resolution)


__all__ = ["MonitoredGeneration", "PerformanceMetrics", "PerformanceMonitor", "PipelineOptimizer",
           "create_mmdit_performance_monitor", "monitor_generation_performance"]
