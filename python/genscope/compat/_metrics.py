"""PerformanceMetrics of document 000."""
from __future__ import annotations

import dataclasses
import json
from typing import Any, Optional, Tuple


@dataclasses.dataclass
class PerformanceMetrics:
    """One generation. Times in seconds, memory in 10^9 bytes; None was not measured or not told."""
    model_load_time: Optional[float] = None
    generation_time_per_step: Optional[float] = None
    total_generation_time: float = 0.0
    pipeline_setup_time: Optional[float] = None
    gpu_memory_used_gb: Optional[float] = None
    gpu_memory_total_gb: Optional[float] = None
    gpu_memory_utilization_percent: Optional[float] = None
    system_memory_used_gb: Optional[float] = None
    system_memory_utilization_percent: Optional[float] = None
    num_inference_steps: Optional[int] = None
    image_resolution: Optional[Tuple[int, int]] = None
    batch_size: int = 1
    target_met: bool = False
    target_generation_time: float = 5.0
    performance_score: float = 0.0
    architecture_type: Optional[str] = None
    model_name: Optional[str] = None
    torch_dtype: Optional[str] = None
    device: Optional[str] = None
    timestamp: Optional[str] = None
    gpu_name: Optional[str] = None
    driver_version: Optional[str] = None
    # Not in document 000: docs/monitors.md.
    id: Optional[int] = None
    status: Optional[str] = None
    failure: Optional[str] = None
    faster_than_target: bool = False
    model_architecture: Optional[str] = None
    steps_measured: int = 0
    first_step_time: Optional[float] = None
    step_time_p50: Optional[float] = None
    step_time_p95: Optional[float] = None
    step_time_max: Optional[float] = None
    time_before_steps: Optional[float] = None
    time_after_steps: Optional[float] = None
    warned_at_step: Optional[int] = None
    rss_peak_bytes: Optional[float] = None
    gpu_absent: Optional[str] = None
    request_id: Optional[int] = None

    def to_dict(self) -> "dict[str, Any]":
        return dataclasses.asdict(self)


_FIELDS = {field.name for field in dataclasses.fields(PerformanceMetrics)}


def from_json(text: str) -> PerformanceMetrics:
    found = {key: value for key, value in json.loads(text).items() if key in _FIELDS}
    if found.get("image_resolution") is not None:
        found["image_resolution"] = tuple(found["image_resolution"])
    return PerformanceMetrics(**found)


def to_json(metrics: Any) -> str:
    """As the core reads it; from metrics or from a dict of the same names."""
    values = metrics if isinstance(metrics, dict) else dataclasses.asdict(metrics)
    if "current_metrics" not in values:
        known = {key: value for key, value in values.items() if value is not None}
        values = {"current_metrics": known}
    return json.dumps(values)
