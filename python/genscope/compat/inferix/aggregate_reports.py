"""Reports of many ranks as one: `aggregate_reports(reports_dir, output_path)`, and

    python -m genscope.compat.inferix.aggregate_reports --reports_dir DIR --output FILE

Reads the reports of this package and of Inferix itself (docs/aggregate.md says what of theirs is
put right). There are no sums: shares do not add up, and ranks of one machine see the same GPUs.
"""
from __future__ import annotations

import argparse
import json
import os
import sys
import types
from typing import Any, Dict, List, Optional

from ... import _core

_MB = 1024 * 1024
# Our figure -> document 002's key and the factor to its unit.
_GPU = {"gpu_memory_peak_bytes": ("peak_memory_usage_mb", 1 / _MB),
        "gpu_busy_ratio": ("avg_gpu_utilization", 100.0),
        "gpu_temperature_peak_celsius": ("peak_temperature", 1.0),
        "gpu_power_watts": ("avg_power_watts", 1.0),
        "energy_joules": ("total_energy_wh", 1 / 3600)}
_CPU = {"machine_cpu_busy_ratio": ("avg_cpu_usage", 100.0),
        "machine_memory_peak_bytes": ("peak_memory_usage_mb", 1 / _MB)}


def _across(figures: "List[Dict[str, Any]]",
            wanted: "Dict[str, tuple[str, float]]") -> "Dict[str, float]":
    found = {}
    for figure in figures:
        if figure["name"] in wanted:
            key, factor = wanted[figure["name"]]
            for end, source in (("min", "min"), ("max", "max"), ("avg", "mean")):
                found[f"{key}_{end}"] = figure[source] * factor
    return found


def aggregate_reports(reports_dir: Any, output_path: Any = None) -> "Dict[str, Any]":
    """The aggregate; written to `output_path` if given. FileNotFoundError without a report."""
    text, skipped = _core.aggregate(os.fspath(reports_dir), True)
    whole = json.loads(text)
    if not whole["rows"] and not whole["unread"]:
        raise FileNotFoundError(f"{reports_dir}: there is no profiling report in it")
    ranks = {row["rank"] for row in whole["rows"] if row["rank"] is not None}
    aggregate = {
        "total_reports": whole["ranks"],
        "rank_count": len(ranks) or whole["ranks"],
        "aggregated_gpu_metrics": _across(whole["figures"], _GPU),
        "aggregated_cpu_metrics": _across(whole["figures"], _CPU),
        "reports_summary": [{"report_index": index, "session_id": row["name"],
                             "duration": row["wall_ns"] / 1e9, "rank": row["rank"],
                             "source": row["source"]}
                            for index, row in enumerate(whole["rows"])],
        # Not in document 002: docs/aggregate.md.
        **{key: whole[key] for key in ("world_size", "missing", "failed", "unread", "duplicate",
                                       "notes", "stages", "figures", "stragglers")},
        "skipped": skipped}
    if output_path is not None:
        partial = os.fspath(output_path) + ".part"
        with open(partial, "w", encoding="utf-8") as file:
            json.dump(aggregate, file, indent=2)
        os.replace(partial, output_path)
    return aggregate


def main(args: "Optional[List[str]]" = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m genscope.compat.inferix.aggregate_reports",
                                     description="Profiling reports of many ranks as one.")
    parser.add_argument("--reports_dir", required=True, help="folder that holds them at any depth")
    parser.add_argument("--output", default="aggregated_profiling_report.json")
    given = parser.parse_args(args)
    try:
        aggregate = aggregate_reports(given.reports_dir, given.output)
    except (OSError, ValueError) as error:
        print(f"genscope: {error}", file=sys.stderr)
        return 2
    for problem in (*aggregate["unread"], *aggregate["failed"], *aggregate["duplicate"],
                    *aggregate["notes"]):
        print(f"genscope: {problem}", file=sys.stderr)
    if aggregate["missing"]:
        print(f"genscope: missing ranks: {', '.join(map(str, aggregate['missing']))}",
              file=sys.stderr)
    print(f"{aggregate['total_reports']} reports of {aggregate['rank_count']} ranks: "
          f"{given.output}")
    return 0 if aggregate["total_reports"] else 7


class _Callable(types.ModuleType):
    """The module and its function have one name: the package's attribute is either."""

    def __call__(self, *args: Any, **kwargs: Any) -> "Dict[str, Any]":
        return aggregate_reports(*args, **kwargs)


if __name__ == "__main__":
    sys.exit(main())
sys.modules[__name__].__class__ = _Callable
