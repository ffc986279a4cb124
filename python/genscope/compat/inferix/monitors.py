"""GPUMonitor and CPUMonitor of documents 002 and 001, over genscope's probes (docs/probes.md).

A figure that cannot be read is None, and the key `absent` says why; a machine without a GPU has no
samples of one.
"""
from __future__ import annotations

import collections
import dataclasses
import os
import threading
import time
from typing import Any, Deque, Dict, List, Optional

from ... import _core
from .. import _torch

_MB = 1024 * 1024


@dataclasses.dataclass
class MetricSnapshot:
    timestamp: float  # Unix time
    metrics: Dict[str, Any]
    monotonic: float = 0.0  # seconds of a clock that is never set


class BaseMonitor:
    """A thread that calls collect_metrics() every `interval` seconds and keeps the newest
    `max_data_points`. An exception of collect_metrics() costs that sample."""

    def __init__(self, interval: float = 1.0, max_data_points: int = 10000) -> None:
        if not interval > 0:
            raise ValueError(f"interval must be above 0, and is {interval!r}")
        self.interval = interval
        self.max_data_points = max_data_points
        self._data: Deque[MetricSnapshot] = collections.deque(maxlen=max_data_points)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: Optional[threading.Thread] = None

    def collect_metrics(self) -> "Dict[str, Any]":
        """The figures now; {} if there are none to keep."""
        raise NotImplementedError

    def start_monitoring(self) -> None:
        if self._thread is not None:
            return
        self._open()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(self._stop,), daemon=True,
                                        name=type(self).__name__)
        self._thread.start()

    def stop_monitoring(self) -> Any:
        if self._thread is None:
            return None
        self._stop.set()
        self._thread.join()
        self._thread = None
        self._take()  # the last moment
        self._close()
        return None

    def get_latest_metrics(self) -> "Optional[Dict[str, Any]]":
        with self._lock:
            return self._data[-1].metrics if self._data else None

    def get_all_data(self) -> "List[MetricSnapshot]":
        with self._lock:
            return list(self._data)

    def clear_data(self) -> None:
        with self._lock:
            self._data.clear()

    def _open(self) -> None:
        pass

    def _close(self) -> None:
        pass

    def _take(self) -> None:
        try:
            metrics = self.collect_metrics()
        except Exception:
            return
        if metrics:
            with self._lock:
                self._data.append(MetricSnapshot(time.time(), metrics, time.monotonic()))

    def _run(self, stop: threading.Event) -> None:
        due = time.monotonic()
        while True:
            self._take()
            due = max(due + self.interval, time.monotonic())  # no drift, no catching up
            if stop.wait(max(0.0, due - time.monotonic())):
                return


class _ProbeMonitor(BaseMonitor):
    """Reads a sampler of the core, which runs while this monitors; else one reading of its own."""
    probes: "tuple[str, ...]" = ()
    options: "Dict[str, bool]" = {}
    _sampler: Any = None

    def _open(self) -> None:
        self._sampler = _core.Sampler(self.probes, interval=max(0.001, min(3600.0, self.interval)),
                                      **self.options)
        self._sampler.start()

    def _close(self) -> None:
        sampler, self._sampler = self._sampler, None
        if sampler is not None:
            sampler.stop()

    def _read(self) -> "tuple[list[dict[str, Any]], list[tuple[str, str, str]]]":
        sampler = self._sampler
        if sampler is not None:
            return sampler.snapshot(), sampler.reports()
        sampler = _core.Sampler(self.probes, interval=0.1, **self.options)
        sampler.start()
        try:
            return sampler.snapshot(), sampler.reports()
        finally:
            sampler.stop()


def _scaled(value: Optional[float], by: float) -> Optional[float]:
    return None if value is None else value * by


def _total(values: "list[Optional[float]]") -> Optional[float]:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _most(values: "list[Optional[float]]") -> Optional[float]:
    return max((value for value in values if value is not None), default=None)


class GPUMonitor(_ProbeMonitor):
    """GPUs of NVIDIA, AMD and Intel. `device_ids`: which of them, in the driver's order.

    stop_monitoring() gives document 001's statistics, None without a sample.
    """
    probes = ("nvml", "amdgpu", "intel")

    def __init__(self, interval: float = 0.5, max_data_points: int = 10000,
                 device_ids: "Optional[List[int]]" = None, *,
                 sampling_interval: Optional[float] = None, memory: bool = True,
                 utilization: bool = True, temperature: bool = True, power: bool = True) -> None:
        super().__init__(interval if sampling_interval is None else sampling_interval,
                         max_data_points)
        self.device_ids = device_ids
        self.options = {"gpu_memory": memory, "gpu_utilization": utilization,
                        "gpu_temperature": temperature, "gpu_power": power}
        self.absent = ""  # why there is no GPU, once that was found out

    def collect_metrics(self) -> "Dict[str, Any]":
        entities, reports = self._read()
        gpus = [entity for entity in entities if entity["kind"] == "gpu"]
        devices = {f"gpu_{index}": self._device(index, gpu) for index, gpu in enumerate(gpus)
                   if self.device_ids is None or index in self.device_ids}
        if not devices:
            self.absent = "; ".join(reason for _, state, reason in reports if state != "works") \
                if not gpus else f"none of the devices {self.device_ids} is there"
            return {}
        rows = list(devices.values())
        used = _total([row["memory_used_mb"] for row in rows])
        total = _total([row["memory_total_mb"] for row in rows])
        busy = _most([row["utilization_percent"] for row in rows])
        heat = _most([row["temperature_celsius"] for row in rows])
        power = _total([row["power_watts"] for row in rows])
        return {"gpu_devices": devices, "total_gpu_memory_used_mb": used,
                "total_gpu_memory_total_mb": total, "max_gpu_utilization": busy,
                "max_gpu_temperature": heat, "total_gpu_power_watts": power,
                # As the document's examples read them.
                "memory_used_mb": used, "memory_total_mb": total, "utilization_percent": busy,
                "temperature_celsius": heat, "power_watts": power}

    def no_gpu(self) -> "Dict[str, Any]":
        """The same keys where there is no GPU: None, and why."""
        return {"gpu_devices": {}, "absent": self.absent or "no reading yet",
                **dict.fromkeys(("total_gpu_memory_used_mb", "total_gpu_memory_total_mb",
                                 "max_gpu_utilization", "max_gpu_temperature",
                                 "total_gpu_power_watts", "memory_used_mb", "memory_total_mb",
                                 "utilization_percent", "temperature_celsius", "power_watts"))}

    @staticmethod
    def _device(index: int, gpu: "dict[str, Any]") -> "Dict[str, Any]":
        value = gpu["values"].get
        used, total = value("memory_used_bytes"), value("memory_total_bytes")
        row = {"device_id": index, "device_name": gpu["name"],
               "memory_used_mb": _scaled(used, 1 / _MB), "memory_total_mb": _scaled(total, 1 / _MB),
               "memory_free_mb": _scaled(value("memory_free_bytes"), 1 / _MB),
               "memory_utilization_percent": None if used is None or not total
               else 100 * used / total,
               "utilization_percent": _scaled(value("busy_ratio"), 100),
               "memory_util_percent": _scaled(value("memory_busy_ratio"), 100),
               "temperature_celsius": value("temperature_celsius"),
               "power_watts": value("power_watts"), "graphics_clock_mhz": value("clock_core_mhz"),
               "memory_clock_mhz": value("clock_memory_mhz")}
        read, _ = _torch.memory_reader(index)
        if read is not None:
            allocated, reserved, _ = read()
            row["torch_memory_allocated_mb"] = _scaled(allocated, 1 / _MB)
            row["torch_memory_reserved_mb"] = _scaled(reserved, 1 / _MB)
        return row

    def stop_monitoring(self) -> "Optional[Dict[str, Any]]":
        super().stop_monitoring()
        return self.statistics()

    def statistics(self) -> "Optional[Dict[str, Any]]":
        """Document 001's: memory in 10^9 bytes, efficiency = mean memory in use of all there is."""
        data = self.get_all_data()
        if not data:
            return None
        used = [_scaled(row.metrics["total_gpu_memory_used_mb"], _MB / 1e9) for row in data]
        busy = [row.metrics["max_gpu_utilization"] for row in data]
        total = _scaled(data[0].metrics["total_gpu_memory_total_mb"], _MB / 1e9)
        memory, load = _spread(used), _spread(busy)
        return {"avg_memory_usage_gb": memory[0], "peak_memory_usage_gb": memory[1],
                "min_memory_usage_gb": memory[2], "avg_gpu_utilization_percent": load[0],
                "peak_gpu_utilization_percent": load[1], "min_gpu_utilization_percent": load[2],
                "memory_efficiency": None if memory[0] is None or not total
                else 100 * memory[0] / total,
                "sample_count": len(data),
                "monitoring_duration": data[-1].monotonic - data[0].monotonic}


def _spread(values: "list[Optional[float]]") -> "tuple[Optional[float], ...]":
    known = [value for value in values if value is not None]
    return (sum(known) / len(known), max(known), min(known)) if known else (None, None, None)


class CPUMonitor(_ProbeMonitor):
    """The machine's processors and memory. A share of time needs two readings a second apart."""
    probes = ("system",)

    def __init__(self, interval: float = 1.0, max_data_points: int = 10000) -> None:
        super().__init__(interval, max_data_points)

    def collect_metrics(self) -> "Dict[str, Any]":
        entities, _ = self._read()
        machine = next((entity for entity in entities if entity["kind"] == "machine"), None)
        if machine is None:
            return {}
        value = machine["values"].get
        used, total = value("memory_used_bytes"), value("memory_total_bytes")
        loads = os.getloadavg() if hasattr(os, "getloadavg") else (None, None, None)
        cores = value("cpu_count")
        return {"cpu_usage_percent": _scaled(value("cpu_busy_ratio"), 100),
                "cpu_core_count": None if cores is None else int(cores),
                "memory_total_mb": _scaled(total, 1 / _MB),
                "memory_used_mb": _scaled(used, 1 / _MB),
                "memory_available_mb": _scaled(value("memory_available_bytes"), 1 / _MB),
                "memory_usage_percent": None if used is None or not total else 100 * used / total,
                "load_average_1min": loads[0], "load_average_5min": loads[1],
                "load_average_15min": loads[2]}
