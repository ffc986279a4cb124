"""Memory alone, by the names of document 004's implementation. MB are 1024 * 1024 bytes."""
from __future__ import annotations

import functools
import json
from typing import Any, Callable, Optional

from .. import _core
from . import _torch

_MB = 1024 * 1024
_MAX_RECORDS = 100_000
_monitors: "dict[tuple[int, bool], Any]" = {}


def _monitor(device: int) -> Any:
    """A monitor of that device, made once; again when torch has come."""
    read, reset = _torch.memory_reader(device)
    key = (device, read is not None)
    if key not in _monitors:
        _monitors[key] = _core.OperationMonitor(device=device, read=read, reset=reset,
                                                max_records=0)
    return _monitors[key]


def _mb(count: Optional[int]) -> Optional[float]:
    return None if count is None else count / _MB


def _text(value: Optional[float], form: str) -> str:
    """A cell: the number, or n/a in its width."""
    if value is None:
        return f"{'n/a':>{form.lstrip('>').split('.')[0]}}"
    return format(value, form)


class MemoryMonitor:
    """This process and one GPU, now. None: not measured."""

    @staticmethod
    def get_cpu_memory_mb() -> Optional[float]:
        return _mb(_monitor(0).memory()[0])

    @staticmethod
    def get_gpu_memory_mb(device: int = 0) -> Optional[float]:
        return _mb(_monitor(device).memory()[1])

    @staticmethod
    def get_gpu_memory_reserved_mb(device: int = 0) -> Optional[float]:
        return _mb(_monitor(device).memory()[2])

    @staticmethod
    def get_memory_summary(device: int = 0) -> "dict[str, Optional[float]]":
        cpu, used, reserved, _ = (_mb(count) for count in _monitor(device).memory())
        summary = {"cpu_memory_mb": cpu, "gpu_memory_allocated_mb": used,
                   "gpu_memory_reserved_mb": reserved}
        cuda = _torch.cuda(device)
        if cuda is not None and reserved is not None:
            total = cuda.get_device_properties(device).total_memory / _MB
            summary["gpu_memory_free_mb"] = total - reserved
        return summary

    @staticmethod
    def _line(prefix: str, device: int) -> str:
        now = MemoryMonitor.get_memory_summary(device)
        line = f"{prefix}CPU: {now['cpu_memory_mb']:.1f} MB | "
        if now["gpu_memory_allocated_mb"] is None:
            return line + "GPU: Not available"
        line += f"GPU Allocated: {now['gpu_memory_allocated_mb']:.1f} MB"
        if now["gpu_memory_reserved_mb"] is not None:
            line += f" | GPU Reserved: {now['gpu_memory_reserved_mb']:.1f} MB"
        return line

    @staticmethod
    def print_memory_usage(prefix: str = "", device: int = 0) -> None:
        print(MemoryMonitor._line(prefix, device))

    @staticmethod
    def log_memory_usage(logger: Any, prefix: str = "", device: int = 0) -> None:
        logger.info(MemoryMonitor._line(prefix, device))


class MemoryTracker:
    """Labelled readings, at most 100,000 of them."""

    def __init__(self, device: int = 0) -> None:
        self.device = device
        self.records: "list[dict[str, Any]]" = []

    def record(self, label: str) -> None:
        if len(self.records) < _MAX_RECORDS:
            self.records.append({**MemoryMonitor.get_memory_summary(self.device), "label": label})

    def print_summary(self) -> None:
        if not self.records:
            print("No memory records available")
            return
        print("\n" + "=" * 80 + "\nMemory Usage Summary\n" + "=" * 80)
        print(f"{'Label':<30} {'CPU (MB)':<12} {'GPU Alloc (MB)':<15} {'GPU Reserved (MB)':<15}")
        print("-" * 80)
        for row in self.records:
            print(f"{row['label']:<30} {_text(row['cpu_memory_mb'], '>10.1f')}   "
                  f"{_text(row['gpu_memory_allocated_mb'], '>13.1f')}   "
                  f"{_text(row['gpu_memory_reserved_mb'], '>17.1f')}")
        print("=" * 80 + "\n")

    def get_peak_memory(self) -> "dict[str, Optional[float]]":
        def peak(key: str) -> Optional[float]:
            return max((row[key] for row in self.records if row[key] is not None), default=None)
        return {"cpu_peak_mb": peak("cpu_memory_mb"),
                "gpu_peak_mb": peak("gpu_memory_allocated_mb")}

    def clear(self) -> None:
        self.records = []


class track_memory:
    """What a block of code changed; printed at the end of its `with`, after an exception too.
    A peak is the block's own, whatever runs inside it."""

    def __init__(self, label: str = "operation", device: int = 0,
                 print_output: bool = True) -> None:
        self.label, self.device, self.print_output = label, device, print_output
        self.metrics: "Optional[dict[str, Any]]" = None  # after the block

    def __enter__(self) -> "track_memory":
        read, reset = _torch.memory_reader(self.device)
        self._monitor = _core.OperationMonitor(device=self.device, read=read, reset=reset)
        self._running = self._monitor.track(self.label)
        self._running.__enter__()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._running.__exit__(kind, error, trace)
        self.metrics = json.loads(self._monitor.to_json())["metrics"][0]
        if self.print_output:
            print(self._lines(error is not None))

    def _lines(self, failed: bool) -> str:
        found = self.metrics or {}
        cpu, gpu, peak = found["cpu_delta_mb"], found["gpu_delta_mb"], found["gpu_peak_mb"]
        parts = [f"{name} {value:+.1f} MB" for name, value in (("CPU", cpu), ("GPU", gpu))
                 if value is not None]
        text = f"[Memory] {self.label}: " + ", ".join(parts) + (" (failed)" if failed else "")
        return text if peak is None else text + f"\n         Peak GPU: {peak:.1f} MB"


def monitor_memory(label: Any = None, device: int = 0, verbose: bool = True) -> Any:
    """Decorator: track_memory around each call."""
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = label if isinstance(label, str) else function.__name__

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with track_memory(name, device, verbose):
                return function(*args, **kwargs)
        return call
    return decorate(label) if callable(label) else decorate


class EpochMemoryMonitor:
    """Prints memory at the first batches of each epoch, and the epoch's peak."""

    def __init__(self, enabled: bool = True, verbose_batches: int = 5, device: int = 0) -> None:
        self.enabled, self.verbose_batches, self.device = enabled, verbose_batches, device
        self._epoch: Optional[track_memory] = None

    def on_epoch_start(self) -> None:
        if self.enabled:
            self._epoch = track_memory("epoch", self.device, print_output=False).__enter__()

    def on_batch_start(self, batch_idx: int) -> None:
        pass

    def on_batch_end(self, batch_idx: int, loss: Any = None) -> None:
        if not self.enabled or batch_idx >= self.verbose_batches:
            return
        now = MemoryMonitor.get_memory_summary(self.device)
        parts = [f"{name} {now[key]:.1f} MB" for name, key in
                 (("GPU", "gpu_memory_allocated_mb"), ("CPU", "cpu_memory_mb"))
                 if now[key] is not None]
        figure = _torch.number(loss)
        if figure is not None:
            parts.append(f"loss={figure:.6f}")
        print(f"  Batch {batch_idx}: " + ", ".join(parts))

    def on_epoch_end(self) -> None:
        if not self.enabled or self._epoch is None:
            return
        epoch, self._epoch = self._epoch, None
        epoch.__exit__(None, None, None)
        now = MemoryMonitor.get_memory_summary(self.device)
        used, reserved = now["gpu_memory_allocated_mb"], now["gpu_memory_reserved_mb"]
        peak = (epoch.metrics or {}).get("gpu_peak_mb")
        parts = [text.format(value) for text, value in
                 (("GPU {:.1f} MB allocated", used), ("{:.1f} MB reserved", reserved),
                  ("peak {:.1f} MB", peak)) if value is not None]
        if parts:
            print("  Epoch end: " + ", ".join(parts))


class BatchMemoryProfiler:
    """GPU memory from checkpoint to checkpoint of a batch."""

    def __init__(self, enabled: bool = True, device: int = 0) -> None:
        self.enabled, self.device = enabled, device
        self.reset()

    def checkpoint(self, label: str) -> None:
        if not self.enabled or len(self.checkpoints) >= _MAX_RECORDS:
            return
        now = MemoryMonitor.get_gpu_memory_mb(self.device)
        delta = None if now is None or self._last is None else now - self._last
        self.checkpoints.append({"label": label, "gpu_mb": now, "gpu_delta": delta,
                                 "from": self._last_label})
        self._last_label, self._last = label, now

    def print_summary(self) -> None:
        if not self.enabled or not self.checkpoints:
            return
        print("    Memory profile:")
        for row in self.checkpoints:
            if row["gpu_mb"] is None:
                print(f"      {row['from']} → {row['label']}: GPU n/a")
                continue
            delta = row["gpu_delta"]
            change = "n/a" if delta is None else f"{delta:+.1f}" if delta != 0 else " 0.0"
            print(f"      {row['from']} → {row['label']}: GPU {row['gpu_mb']:.1f} MB "
                  f"({change} MB)")

    def reset(self) -> None:
        self.checkpoints: "list[dict[str, Any]]" = []
        self._last_label = "start"
        self._last = MemoryMonitor.get_gpu_memory_mb(self.device) if self.enabled else None

    def enable(self) -> None:
        self.enabled = True

    def disable(self) -> None:
        self.enabled = False
