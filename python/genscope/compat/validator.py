"""Document 001's monitoring: GPUMonitor, and before against after. Its suites and verdicts are not
here."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Optional

from .. import _core
from .inferix.monitors import GPUMonitor as _GPUMonitor


class GPUMonitor(_GPUMonitor):
    """Samples GPUs in the background; stop_monitoring() gives the statistics, None without a GPU
    (`absent` says why)."""

    def __init__(self, sampling_interval: float = 0.1, max_data_points: int = 10000,
                 device_ids: "Optional[List[int]]" = None) -> None:
        super().__init__(sampling_interval, max_data_points, device_ids)

    def start_monitoring(self) -> None:
        self.clear_data()
        super().start_monitoring()


def compare_before_after(before: Any, after: Any,
                         target_generation_time: Optional[float] = None) -> "Dict[str, Any]":
    """Two recorded runs (paths): medians with their interval, and what became faster or slower
    beyond the noise (docs/compare.md)."""
    return json.loads(_core.compare(os.fspath(before), os.fspath(after), "json",
                                    target_generation_time or 0.0, 0.02, False))


__all__ = ["GPUMonitor", "compare_before_after"]
