"""What a notebook shows of a run, and the magic %%genscope.

A run draws itself: a headline, a bar of its stages by their own time, its steps as a sparkline, and
the findings. It is HTML without scripts, readable on light and dark; texts of the run are escaped.
"""
from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .analysis import Run

# Apart for people who do not tell red from green; on light and dark.
_COLORS = ("#4e79a7", "#f28e2b", "#76b7b2", "#b07aa1", "#edc948", "#59a14f", "#e15759", "#9c755f")
_REST = "#9aa0a6"
_MOST_STAGES = 8
_MOST_STEPS = 400


def seconds(ns: Any) -> str:
    if ns is None:
        return "not measured"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


OUTSIDE = "outside of stages"


def parts(summary: "dict[str, Any]") -> "list[tuple[str, float]]":
    """(name, ns) of what the time went into, largest first: stages without the stages inside them,
    the smaller ones together, and last what no stage covers. Empty if nothing was marked."""
    tree = summary.get("stage_tree") or {}
    own: "dict[str, float]" = {}
    for node in tree.get("nodes", []):
        own[str(node["name"])] = own.get(str(node["name"]), 0) + node["self_ns"]
    rows = sorted((row for row in own.items() if row[1] > 0), key=lambda row: -row[1])
    if not rows:
        return []
    shown, rest = rows[:_MOST_STAGES], rows[_MOST_STAGES:]
    if rest:
        shown.append((f"{len(rest)} more", sum(ns for _, ns in rest)))
    outside = tree.get("outside_ns") or 0
    return [*shown, (OUTSIDE, outside)] if outside > 0 else shown


def _bar(summary: "dict[str, Any]") -> str:
    found = parts(summary)
    whole = sum(ns for _, ns in found)
    if not whole:
        return ""
    pieces, legend = [], []
    for at, (name, ns) in enumerate(found):
        color = _REST if name == OUTSIDE else _COLORS[at % len(_COLORS)]
        told = f"{escape(name)}: {seconds(ns)}, {100 * ns / whole:.1f} %"
        pieces.append(f'<div title="{told}" style="width:{100 * ns / whole:.3f}%;background:{color}">'
                      "</div>")
        legend.append(f'<span style="white-space:nowrap;margin-right:1.2em"><span style="color:{color}">'
                      f"&#9632;</span> {told}</span>")
    return ('<div style="display:flex;height:22px;width:100%;border-radius:3px;overflow:hidden">'
            + "".join(pieces) + '</div><div style="margin:4px 0 8px">' + " ".join(legend) + "</div>")


def step_times(run: "Run") -> "list[int]":
    """The durations of the finished steps, in ns, in the order in which they began."""
    spans = run.spans
    kinds, begins, durations = spans["kind"], spans["begin_ns"], spans["duration_ns"]
    found = sorted((begins[i], durations[i]) for i in range(len(spans))
                   if kinds[i] == "step" and durations[i] >= 0)
    return [duration for _, duration in found]


def _sparkline(times: "list[int]", summary: "dict[str, Any]") -> str:
    if len(times) < 2:
        return ""
    # Of many steps the slowest of each stretch is drawn, so that outliers stay.
    stretch = -(-len(times) // _MOST_STEPS)
    drawn = [max(times[i:i + stretch]) for i in range(0, len(times), stretch)]
    top = max(drawn) or 1
    width = max(2.0, min(14.0, 600 / len(drawn)))
    bars = "".join(
        f'<rect x="{i * width:.2f}" y="{40 - 40 * t / top:.2f}" width="{width * 0.85:.2f}" '
        f'height="{40 * t / top:.2f}"><title>step {i * stretch}: {seconds(t)}</title></rect>'
        for i, t in enumerate(drawn))
    steps = summary.get("steps") or {}
    middle = steps.get("steady_p50_ns", steps.get("p50_ns"))
    told = [f"{len(times)} steps"]
    if middle is not None:
        told.append(f"median {seconds(middle)}")
    told += [f"first {seconds(times[0])}", f"slowest {seconds(max(times))}"]
    return (f'<svg width="{width * len(drawn):.0f}" height="40" fill="{_COLORS[0]}" role="img" '
            f'aria-label="{", ".join(told)}">{bars}</svg><div style="margin:2px 0 8px">'
            + ", ".join(told) + "</div>")


def _finding(finding: "dict[str, Any]") -> str:
    gain = finding.get("gain")
    return (f"<li><b>{escape(str(finding.get('title') or finding.get('rule')))}</b> "
            f"<code>{escape(str(finding.get('rule', '')))}</code><br>"
            f"{escape(str(finding.get('advice', '')))}"
            + (f"<br><i>Gain elsewhere: {escape(str(gain))}</i>" if gain else "") + "</li>")


def run_html(run: "Run") -> str:
    summary = run.summary
    findings = run.advise().get("findings", [])
    listed = "".join(_finding(finding) for finding in findings[:10])
    more = f"<li>{len(findings) - 10} more: gs.advise(run)</li>" if len(findings) > 10 else ""
    return ('<div style="max-width:60em;line-height:1.4">'
            f"<div style=\"margin-bottom:6px\"><b>{escape(str(summary.get('headline') or ''))}</b></div>"
            + _bar(summary) + _sparkline(step_times(run), summary)
            + (f'<ul style="margin:0">{listed}{more}</ul>' if listed else "")
            + f'<div style="opacity:.6;margin-top:6px"><code>{escape(run.path)}</code></div></div>')


# --- the magic

_USAGE = ("%%genscope [--no-hooks] [NAME]   records this cell as a run and draws it; "
          "afterwards gs.last() is that run")


def _arguments(line: str) -> "tuple[str, bool]":
    """(name of the run, whether libraries are hooked)"""
    words = line.split()
    hooked = "--no-hooks" not in words
    words = [word for word in words if word != "--no-hooks"]
    if any(word.startswith("-") for word in words):
        raise ValueError(f"{line!r}: {_USAGE}")
    return " ".join(words) or "cell", hooked


def run_cell(shell: Any, line: str, cell: str) -> "Run":
    """Runs a cell of an IPython shell in a session; the run that it recorded."""
    from . import hooks, session
    from .analysis import load
    name, hooked = _arguments(line)
    if hooked:
        hooks.install()
    with session(name, probes=["process", "system"]) as opened:
        path = opened.run_dir
        failure = opened.error
        result = shell.run_cell(cell)
        if not getattr(result, "success", True):
            error = result.error_in_exec or result.error_before_exec
            opened.arg("error", type(error).__name__)
    if not path:
        raise RuntimeError(f"the cell ran, and was not recorded: {failure}")
    return load(path)


def add_magic(shell: Any) -> None:
    """Adds %%genscope to an IPython shell."""
    def genscope(line: str, cell: str) -> None:
        from IPython.display import display
        display(run_cell(shell, line, cell))
    genscope.__doc__ = _USAGE
    shell.register_magic_function(genscope, "cell")
