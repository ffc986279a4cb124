"""Reading runs: columns for pandas and Arrow, reports, advice, comparisons, models, predictions.

    run = gs.load("genscope-runs/20261116-120000-gen-4242")
    run.spans.to_pandas()           # id, parent, kind, name, begin_ns, duration_ns, ...
    print(run.report())             # text; also "html", "json", "md", "csv"
    run.advise()["findings"]
    gs.compare(before, after)["verdict"]

Everything is the library's own work; here its JSON becomes dicts. Errors are ValueError, OSError
and FileNotFoundError with a sentence that names the file and the remedy.
"""
from __future__ import annotations

import json
import os
from typing import Any, Optional, Sequence, Union

from . import _core
from .columns import Table

Path = Union[str, "os.PathLike[str]"]


def _path(run: Any) -> str:
    return run.path if isinstance(run, Run) else os.fspath(run)


class Run:
    """A recorded run. Its columns are read when first asked for, and kept."""

    def __init__(self, path: Path):
        self.path = os.fspath(path)
        self._tables: Optional[dict[str, Table]] = None
        self._summary: Optional[dict[str, Any]] = None

    def _table(self, name: str) -> Table:
        if self._tables is None:
            self._tables = {key: Table(columns) for key, columns in _core.tables(self.path).items()}
        return self._tables[name]

    @property
    def spans(self) -> Table:
        """One row a span. Times are ns since the run's begin; device_ns is -1 where the device did
        not tell, parent is -1 at the top."""
        return self._table("spans")

    @property
    def events(self) -> Table:
        return self._table("events")

    @property
    def counters(self) -> Table:
        """Counters of the program and readings of probes, one row a value."""
        return self._table("counters")

    @property
    def span_args(self) -> Table:
        """Arguments of spans: owner is the id of its span; number is NaN for a text."""
        return self._table("span_args")

    @property
    def event_args(self) -> Table:
        return self._table("event_args")

    @property
    def summary(self) -> "dict[str, Any]":
        """The JSON report, schema genscope.report/1."""
        if self._summary is None:
            self._summary = json.loads(_core.report(self.path, "json"))
        return self._summary

    def stages(self) -> "list[dict[str, Any]]":
        return list(self.summary["stages"])

    def report(self, format: str = "text") -> str:
        return report(self, format)

    def advise(self) -> "dict[str, Any]":
        return advise(self)

    def __repr__(self) -> str:
        return f"<genscope.Run {self.path!r}>"

    def _repr_html_(self) -> str:
        """For notebooks: the stage table and the findings."""
        from .notebook import run_html
        return run_html(self)


def load(run: Path) -> Run:
    """A run directory or a trace file. Raises now if there is nothing to read."""
    loaded = Run(run)
    loaded._table("spans")
    return loaded


FORMATS = ("text", "json", "html", "md", "csv")


def report(run: Union[Run, Path], format: str = "text", *, to: Optional[Path] = None) -> str:
    """The report as a str, or written to the file `to`, whose name is returned."""
    if format not in FORMATS:
        raise ValueError(f"format {format!r}: give one of {', '.join(FORMATS)}")
    text = _core.report(_path(run), format)
    return text if to is None else _write(text, to)


def advise(run: Union[Run, Path]) -> "dict[str, Any]":
    """What the rules found, schema genscope.advice/1: findings with evidence, and who abstained."""
    return json.loads(_core.report(_path(run), "advice_json"))


Runs = Union[Run, Path, Sequence[Union[Run, Path]]]


def _paths(runs: Runs) -> "list[str]":
    several = runs if isinstance(runs, (list, tuple)) else [runs]
    return [_path(run) for run in several]


def compare(before: Runs, after: Runs, *,
            target_seconds: Optional[float] = None, noise: float = 0.02, force: bool = False,
            format: str = "dict", to: Optional[Path] = None) -> Any:
    """What changed between two sides, schema genscope.compare/2; or as text, md or html. A side is
    a run or a list of runs; for a verdict, three of each."""
    kind = "json" if format == "dict" else format
    if kind not in ("json", "text", "md", "html"):
        raise ValueError(f"format {format!r}: give dict, json, text, md or html")
    text = _core.compare(_paths(before), _paths(after), kind, target_seconds or 0.0, noise, force)
    if to is not None:
        return _write(text, to)
    return json.loads(text) if format == "dict" else text


def inspect(model: Path) -> "dict[str, Any]":
    """What a model file or folder is, from its headers: schema genscope.model/1."""
    return json.loads(_core.inspect(os.fspath(model)))


def predict(model: Path, gpu: str, *, measured_seconds: float = 0.0,
            **workload: Any) -> "dict[str, Any]":
    """What a generation costs and what the device allows: schema genscope.predict/1.

    `model`: a file, a folder or a known name; `gpu`: a name, or "cpu" to measure this one.
    Workload: width, height, frames, steps, batch, text_tokens, guidance_passes, dtype, offload.
    """
    return json.loads(_core.predict(os.fspath(model), gpu, measured_seconds=measured_seconds,
                                    **workload))


def _write(text: str, to: Path) -> str:
    path = os.fspath(to)
    part = f"{path}.{os.getpid()}.part"  # whole or not at all
    try:
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.unlink(part)
    return path
