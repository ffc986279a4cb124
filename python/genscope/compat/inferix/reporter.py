"""ProfilingReporter: document 002's JSON with correct figures, and our HTML page."""
from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from typing import Any, Dict, List, Optional

from ... import _core
from . import analysis
from .config import ProfilingConfig
from .session import ProfilingSession

_EXTENSIONS = {"html": "html", "text": "txt", "csv": "csv"}


def _finite(value: Any) -> Any:
    """NaN and infinity are no JSON: null."""
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


class ProfilingReporter:
    def __init__(self, config: ProfilingConfig) -> None:
        self.config = config

    @property
    def output_dir(self) -> str:
        return self.config.output_dir or os.path.join(os.getcwd(), "profiling_reports")

    def wants_run(self) -> bool:
        """Whether a report needs a run of genscope's own."""
        return self.config.generate_final_report and (self.config.report_format != "json"
                                                      or self.config.save_raw_data)

    def generate_report(self, session: ProfilingSession, gpu_data: "List[Any]",
                        cpu_data: "List[Any]",
                        before: Optional[ProfilingSession] = None) -> Optional[str]:
        """The paths, joined by ", "; None, with a line on stderr, if nothing could be written."""
        try:
            os.makedirs(self.output_dir, exist_ok=True)
            data = analysis.prepare(session, gpu_data, cpu_data, before)
            return ", ".join(self._write(session, data, gpu_data, cpu_data)) or None
        except Exception as error:  # a report is never worth a program
            print(f"genscope: no profiling report: {error}", file=sys.stderr)
            return None

    def _write(self, session: ProfilingSession, data: "Dict[str, Any]", gpu_data: "List[Any]",
               cpu_data: "List[Any]") -> "List[str]":
        stem = self._stem(session.session_id)
        paths = []
        wanted = self.config.report_format
        if wanted in ("json", "both"):
            paths.append(self._put(f"profiling_report_{stem}.json", _dump(data)))
        page = "html" if wanted == "both" else wanted
        if page in _EXTENSIONS:
            text = self._page(session, page)
            if text is not None:
                paths.append(self._put(f"profiling_report_{stem}.{_EXTENSIONS[page]}", text))
        if self.config.save_raw_data:
            raw = {"session_id": session.session_id, "gpu_data": _rows(session, gpu_data),
                   "cpu_data": _rows(session, cpu_data), "saved_at": time.time()}
            paths.append(self._put(f"raw_profiling_data_{stem}.json", _dump(raw)))
            if session.run_dir and os.path.isdir(session.run_dir):
                kept = os.path.join(self.output_dir, f"raw_run_{stem}")
                paths.append(shutil.copytree(session.run_dir, kept))
        return paths

    def _page(self, session: ProfilingSession, form: str) -> Optional[str]:
        """Of the run that was recorded; inside another session that is the whole run so far."""
        run = getattr(session.recording, "run_dir", "")
        if not run:
            why = getattr(session.recording, "error", "") or "nothing was recorded"
            print(f"genscope: no {form} report: {why}", file=sys.stderr)
            return None
        _core.flush()
        return _core.report(run, form)

    def _stem(self, session_id: str) -> str:
        """<id>_<time>, safe as a file's name, and not there yet."""
        name = re.sub(r"[^\w.-]+", "_", session_id).lstrip(".")[:100] or "session"
        stem = f"{name}_{time.strftime('%Y%m%d_%H%M%S')}"
        found, number = stem, 1
        while any(os.path.exists(os.path.join(self.output_dir, f"profiling_report_{found}.{end}"))
                  for end in ("json", *_EXTENSIONS.values())):
            number += 1
            found = f"{stem}_{number}"
        return found

    def _put(self, name: str, text: str) -> str:
        path = os.path.join(self.output_dir, name)
        partial = path + ".part"
        with open(partial, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(partial, path)
        return path


def _rows(session: ProfilingSession, data: "List[Any]") -> "List[Dict[str, Any]]":
    return [{"timestamp": session.start_time + row.monotonic - session.begin,
             "metrics": row.metrics} for row in data]


def _dump(data: Any) -> str:
    return json.dumps(_finite(_core.plain(data, 64)), indent=2, allow_nan=False)
