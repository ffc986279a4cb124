"""BenchmarkResult and BenchmarkSuite of document 001, and figures that were not measured."""
from __future__ import annotations

import dataclasses
import math
from typing import Any, Dict, List, Optional, Tuple


class Absent(float):
    """A figure that was not measured: NaN, printed as n/a, null in JSON. `reason` says why.

    Nothing is below or above it, so that no rule about small or large figures applies.
    """
    reason: str

    def __new__(cls, reason: str = "") -> "Absent":
        made = super().__new__(cls, math.nan)
        made.reason = reason
        return made

    def __format__(self, spec: str) -> str:
        return "n/a"

    def __repr__(self) -> str:
        return f"n/a ({self.reason})" if self.reason else "n/a"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> Any:
        return (Absent, (self.reason,))


@dataclasses.dataclass
class BenchmarkResult:
    """One test. Seconds, percent, 10^9 bytes. What was not measured is `Absent`."""
    test_name: str = ""
    model_name: str = ""
    architecture_type: str = "MMDiT"
    test_timestamp: str = ""
    total_time: float = dataclasses.field(default_factory=Absent)
    per_step_time: float = dataclasses.field(default_factory=Absent)
    target_time: float = 5.0
    target_met: bool = False
    performance_score: float = 0.0
    improvement_factor: float = dataclasses.field(default_factory=Absent)
    gpu_utilization_percent: float = dataclasses.field(default_factory=Absent)
    gpu_memory_used_gb: float = dataclasses.field(default_factory=Absent)
    gpu_memory_peak_gb: float = dataclasses.field(default_factory=Absent)
    gpu_memory_efficiency: float = dataclasses.field(default_factory=Absent)
    num_steps: Optional[int] = None
    resolution: Optional[Tuple[int, int]] = None
    batch_size: Optional[int] = None
    multimodal_enabled: bool = False
    text_processing_time: float = dataclasses.field(default_factory=Absent)
    image_analysis_time: float = dataclasses.field(default_factory=Absent)
    success_rate: float = dataclasses.field(default_factory=Absent)
    error_count: int = 0
    warnings: List[str] = dataclasses.field(default_factory=list)
    gpu_name: str = ""
    driver_version: str = ""
    cuda_version: str = ""
    # Not in document 001.
    total_time_interval: Optional[Dict[str, float]] = None
    success_rate_interval: Optional[Dict[str, float]] = None
    gpu_absent: str = ""
    notes: List[str] = dataclasses.field(default_factory=list)
    times: List[float] = dataclasses.field(default_factory=list)
    generations_per_second: float = dataclasses.field(default_factory=Absent)
    verdict: str = ""

    def to_dict(self) -> "Dict[str, Any]":
        """For JSON: what was not measured is None."""
        return plain(dataclasses.asdict(self))


def plain(value: Any) -> Any:
    """The value with None for what is Absent."""
    if isinstance(value, Absent):
        return None
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


_FIELDS = {field.name: field for field in dataclasses.fields(BenchmarkResult)}
_NUMBERS = {name for name, field in _FIELDS.items() if field.default_factory is Absent}


def put_fields(result: BenchmarkResult, found: "Dict[str, Any]") -> BenchmarkResult:
    """What the core found, put into `result`."""
    for name, value in found.items():
        if name not in _FIELDS:
            continue
        if value is None and name in _NUMBERS:
            value = Absent(found.get("gpu_absent") or "" if name.startswith("gpu_") else "")
        if name == "resolution" and value is not None:
            value = tuple(value)
        setattr(result, name, value)
    return result


@dataclasses.dataclass
class BenchmarkSuite:
    """What run_regression_test_suite() runs: every combination, each given to the function."""
    name: str = "Benchmark suite"
    target_improvement_factor: float = 50.0
    target_generation_time: float = 5.0
    test_resolutions: List[Tuple[int, int]] = dataclasses.field(
        default_factory=lambda: [(512, 512), (768, 768), (1024, 1024), (1280, 1280)])
    test_step_counts: List[int] = dataclasses.field(default_factory=lambda: [10, 20, 30])
    test_batch_sizes: List[int] = dataclasses.field(default_factory=lambda: [1, 2])
    models_to_test: List[str] = dataclasses.field(
        default_factory=lambda: ["Qwen/Qwen-Image", "Qwen/Qwen2-VL-7B-Instruct"])
    include_multimodal_tests: bool = True
    qwen2vl_model: str = "Qwen/Qwen2-VL-7B-Instruct"
    # Not in document 001.
    runs_per_test: int = 3
    baseline_path: str = ""  # an export: each test is also judged against its namesake there
