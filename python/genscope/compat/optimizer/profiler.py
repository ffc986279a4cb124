"""PerformanceProfiler: figures of metrics, and a recorded run while profiling is on."""
from __future__ import annotations

import threading
from typing import Any, Dict, List, Optional

from ... import _core
from ..._mark import session
from .tracker import numbers_in


class PerformanceProfiler:
    """Metrics are kept whether it is enabled or not. Enabled, start_profiling() opens a run, or joins
    the one that is recorded; `run_dir` is for `genscope report`."""

    def __init__(self, enable: bool = False, *, name: str = "optimizer",
                 probes: "Optional[List[str]]" = None) -> None:
        self.enable = enable
        self.run_dir: Optional[str] = None
        self._name, self._probes = name, probes
        self._session: Any = None
        self._mutex = threading.Lock()
        self._figures: "Dict[str, List[float]]" = {}  # sum, min, max, count

    def start_profiling(self) -> None:
        if self.enable and self._session is None:
            self._session = session(self._name, quiet=True, probes=self._probes)
            self.run_dir = self._session.run_dir or None

    def stop_profiling(self) -> Optional[str]:
        """Ends the run that start_profiling() opened; its folder."""
        opened, self._session = self._session, None
        if opened is not None:
            opened.close()
        return self.run_dir

    def record_metric(self, name: str, value: Any) -> None:
        for key, number in numbers_in(name, value):
            _core.counter(key, number)
            with self._mutex:
                row = self._figures.setdefault(key, [0.0, number, number, 0])
                row[0] += number
                row[1], row[2] = min(row[1], number), max(row[2], number)
                row[3] += 1

    def get_metrics_summary(self) -> "Dict[str, Dict[str, float]]":
        with self._mutex:
            return {name: {"mean": total / count, "min": least, "max": most, "count": int(count)}
                    for name, (total, least, most, count) in self._figures.items()}
