"""What a notebook shows of a run. Text of others is escaped."""
from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .analysis import Run

_STYLE = "text-align:right;padding:0 .8em"


def _seconds(ns: Any) -> str:
    if ns is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def _stage_row(stage: "dict[str, Any]") -> str:
    share = stage.get("share_ratio")
    cells = [_seconds(stage.get("total_ns")), _seconds(stage.get("self_ns")),
             "-" if share is None else f"{100 * share:.1f} %", _seconds(stage.get("p50_ns")),
             str(stage.get("count", "-"))]
    return (f"<tr><td>{escape(str(stage.get('name')))}</td><td>{escape(str(stage.get('kind')))}</td>"
            + "".join(f'<td style="{_STYLE}">{cell}</td>' for cell in cells) + "</tr>")


def _finding(finding: "dict[str, Any]") -> str:
    return (f"<li><b>{escape(str(finding.get('title', finding.get('rule'))))}</b>: "
            f"{escape(str(finding.get('advice', '')))}</li>")


def run_html(run: "Run") -> str:
    summary = run.summary
    head = ["name", "kind", "total", "self", "share", "median", "count"]
    stages = "".join(_stage_row(stage) for stage in summary.get("stages", [])[:30])
    findings = "".join(_finding(f) for f in run.advise().get("findings", [])[:10])
    return (f"<h4>{escape(run.path)}</h4><table><tr>"
            + "".join(f"<th>{word}</th>" for word in head)
            + f"</tr>{stages}</table>" + (f"<ul>{findings}</ul>" if findings else ""))
