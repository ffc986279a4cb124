"""Document 004's monitors of operations, batches and epochs (docs/training.md).

    from genscope.compat.training import PerformanceMonitor
    monitor = PerformanceMonitor()
    with monitor.track("data loading"):
        ...
    monitor.print_summary()

A GPU's memory is torch's where the program has torch and a GPU, else the driver's, else None.
"""
from __future__ import annotations

import dataclasses
import functools
import inspect
import json
from typing import Any, Callable, Optional

from .. import _core
from . import _torch
from .memory import (BatchMemoryProfiler, EpochMemoryMonitor, MemoryMonitor, MemoryTracker,
                     monitor_memory, track_memory)

# Document 004's guide: shares of the total that make an operation a bottleneck, or worth a look.
BOTTLENECK_SHARE = 0.5
CONSIDER_SHARE = 0.2
VARIANCE_RATIO = 2.0


@dataclasses.dataclass
class OperationMetrics:
    """One call; of operations in aggregate mode all calls together. MB are 1024 * 1024 bytes, None
    was not measured."""
    operation: str
    duration_seconds: float
    cpu_start_mb: Optional[float] = None
    cpu_end_mb: Optional[float] = None
    cpu_delta_mb: Optional[float] = None
    gpu_start_mb: Optional[float] = None
    gpu_end_mb: Optional[float] = None
    gpu_delta_mb: Optional[float] = None
    gpu_peak_mb: Optional[float] = None
    call_count: int = 1
    self_seconds: float = 0.0
    failed: int = 0
    aggregate: bool = False


_FIELDS = {field.name for field in dataclasses.fields(OperationMetrics)}


class PerformanceMonitor:
    """Time and memory of named operations. Nested ones count once in the total."""

    def __init__(self, enabled: bool = True, device: int = 0, *,
                 max_records: int = 100_000) -> None:
        self.enabled = bool(enabled)
        self.device = device
        read, reset = _torch.memory_reader(device) if self.enabled else (None, None)
        self._operations = _core.OperationMonitor(enabled=self.enabled, device=device, read=read,
                                            reset=reset, max_records=max_records)

    def track(self, operation: str, aggregate: bool = False) -> Any:
        """For `with`. `aggregate`: keep statistics only, for what runs often."""
        return self._operations.track(operation, aggregate)

    def print_summary(self, show_aggregate: bool = True) -> None:
        print(self.summary(show_aggregate), end="")

    def summary(self, show_aggregate: bool = True, full: bool = False) -> str:
        """Document 004's tables; `full`: ours, with self times, shares and percentiles."""
        return self._operations.summary(show_aggregate, full)

    def get_metrics(self) -> "list[OperationMetrics]":
        """Single calls in the order of their ends, then aggregated operations."""
        return [OperationMetrics(**{key: row[key] for key in _FIELDS if key in row})
                for row in json.loads(self._operations.to_json())["metrics"]]

    def get_statistics(self) -> "list[dict[str, Any]]":
        """An entry per operation, largest self time first: count, shares, percentiles."""
        return json.loads(self._operations.to_json())["statistics"]

    def get_total_time(self) -> float:
        return self._operations.total_time()

    def get_operation_time(self, operation: str) -> Optional[float]:
        """Seconds of all its calls; None if it never ran."""
        return self._operations.operation_time(operation)

    def gpu_reason(self) -> str:
        """Why there are no figures of a GPU; empty if there are."""
        return self._operations.gpu_reason()

    def export_csv(self, path: Any) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._operations.to_csv())

    def export_json(self, path: Any) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._operations.to_json())

    def clear(self) -> None:
        self._operations.clear()


class track_performance:
    """One operation on its own: prints its time and memory at the end of its `with`."""

    def __init__(self, operation: str, print_result: bool = True, device: int = 0) -> None:
        self._operation, self._print, self._device = operation, print_result, device
        self._running: Any = None

    def __enter__(self) -> "track_performance":
        read, reset = _torch.memory_reader(self._device)
        self._running = _core.OneOperation(self._operation, device=self._device, read=read,
                                           reset=reset)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        text = self._running.end(error is not None)
        if self._print and text:
            print(text, end="")


def monitor_performance(operation: Any = None, device: int = 0) -> Any:
    """Decorator: prints time and memory of each call, of one that raises too."""
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = operation if isinstance(operation, str) else function.__name__
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                with track_performance(name, device=device):
                    return await function(*args, **kwargs)
            return coroutine

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with track_performance(name, device=device):
                return function(*args, **kwargs)
        return call
    return decorate(operation) if callable(operation) else decorate


def _print(text: str) -> None:
    print(text, end="")


class EpochPerformanceMonitor(_core.EpochMonitor):
    """Batches and epochs of a training loop; the first batches of each epoch are printed."""

    def __init__(self, enabled: bool = True, verbose_batches: int = 5, device: int = 0, *,
                 warmup_batches: int = 1, samples_per_batch: int = 0) -> None:
        self.enabled = bool(enabled)
        read, reset = _torch.memory_reader(device) if self.enabled else (None, None)
        super().__init__(_print, _torch.number, enabled=self.enabled,
                         verbose_batches=verbose_batches, device=device, read=read, reset=reset,
                         warmup_batches=warmup_batches, samples_per_batch=samples_per_batch)

    @classmethod
    def from_yaml(cls, path: Any) -> "EpochPerformanceMonitor":
        """As a file with `trainer_params:` says; unknown names are refused."""
        config = _core.load_monitor_config(str(path))
        return cls(config["enable_memory_monitoring"], config["memory_monitor_batches"],
                   config["device"], warmup_batches=config["warmup_batches"],
                   samples_per_batch=config["batch_size"] or 0)

    # on_epoch_start(), on_batch_start(batch_idx), on_batch_end(batch_idx, loss=None, samples=0),
    # on_epoch_end() and reset() are the base's.

    def get_statistics(self) -> "dict[str, Any]":
        """Over all epochs; {} before the first batch."""
        return json.loads(self._statistics())


__all__ = ["BatchMemoryProfiler", "EpochMemoryMonitor", "EpochPerformanceMonitor", "MemoryMonitor",
           "MemoryTracker", "OperationMetrics", "PerformanceMonitor", "monitor_memory",
           "monitor_performance", "track_memory", "track_performance"]
