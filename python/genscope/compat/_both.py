"""One PerformanceMonitor for documents 000 and 004, whose methods have no name in common."""
from __future__ import annotations

from typing import Any

from . import generation, training


class PerformanceMonitor(generation.PerformanceMonitor, training.PerformanceMonitor):
    """`PerformanceMonitor(5.0)` or `(target_generation_time=5.0)` as in document 000,
    `PerformanceMonitor(True, 0)` or `(enabled=True, device=0)` as in document 004: a flag in the
    first place is `enabled`."""

    def __init__(self, target_generation_time: Any = 5.0, device: int = 0, *, enabled: bool = True,
                 max_records: int = 100_000, **options: Any) -> None:
        if isinstance(target_generation_time, bool):
            target_generation_time, enabled = 5.0, target_generation_time
        generation.PerformanceMonitor.__init__(self, target_generation_time, **options)
        training.PerformanceMonitor.__init__(self, enabled, device, max_records=max_records)
