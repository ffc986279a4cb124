"""Reading runs: columns for pandas and Arrow, reports, advice, comparisons, models, predictions.

    run = gs.last()                 # or gs.load("genscope-runs/20261116-120000-gen-4242")
    run.spans.to_pandas()           # id, parent, kind, name, begin_ns, duration_ns, ...
    print(run.report())             # text; also "html", "json", "md", "csv", "chrome"
    run.advise()["findings"]
    gs.compare(before, after)["headline"]

The library does the work; here its JSON becomes dicts. Errors are ValueError, OSError and
FileNotFoundError with a sentence that names the file and says what to do.
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
    """A recorded run. load() and last() give one. Columns are read when first asked for, and kept.

    In a notebook, a Run at the end of a cell draws its stages, its steps and its findings.

    >>> run = gs.load(run_dir)
    >>> sorted(stage["name"] for stage in run.stages() if stage["kind"] == "stage")
    ['denoising', 'text_encoding', 'vae_decode']
    """

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
        """One row an event: at_ns, name, the thread, and the span that was open."""
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
        """Arguments of events: owner is the row of its event; number is NaN for a text."""
        return self._table("event_args")

    @property
    def summary(self) -> "dict[str, Any]":
        """The JSON report, schema genscope.report/1."""
        if self._summary is None:
            self._summary = json.loads(_core.report(self.path, "json"))
        return self._summary

    def stages(self) -> "list[dict[str, Any]]":
        """The stage table: name, kind, count, total_ns, self_ns, share_ratio, p50_ns, ..."""
        return list(self.summary["stages"])

    def report(self, format: str = "text") -> str:
        """The report as text, html, json, md, csv or chrome: see genscope.report()."""
        return report(self, format)

    def advise(self) -> "dict[str, Any]":
        """What the rules found: see genscope.advise()."""
        return advise(self)

    def __repr__(self) -> str:
        return f"<genscope.Run {self.path!r}>"

    def _repr_html_(self) -> str:
        """For notebooks: a bar of the stages, the steps, and the findings."""
        from .notebook import run_html
        return run_html(self)


def load(run: Path) -> Run:
    """Reads a run: a run directory or a trace file. Raises now if there is nothing to read.

    >>> run = gs.load(run_dir)
    >>> len(run.spans) > 20
    True
    """
    if isinstance(run, Run):
        return run
    if not isinstance(run, (str, os.PathLike)):
        raise TypeError(f"load() takes the path of a run, not {type(run).__name__}; gs.last() is "
                        "the newest run")
    loaded = Run(run)
    loaded._table("spans")
    return loaded


def last(back: int = 0) -> Run:
    """The newest run in $GENSCOPE_OUT or ./genscope-runs; last(1) is the one before it.

    A run that this program recorded elsewhere counts as well.

    >>> run = gs.last()
    >>> print(run.report("md").splitlines()[0])        # doctest: +ELLIPSIS
    #...
    """
    from ._mark import last_run_dir
    folder = os.environ.get("GENSCOPE_OUT") or "genscope-runs"
    paths = {os.path.realpath(last_run_dir())} if last_run_dir() else set()
    if os.path.isdir(folder):
        paths.update(os.path.realpath(entry.path) for entry in os.scandir(folder) if entry.is_dir())
    found = sorted((begin, path) for path in paths if (begin := _begin(path)) is not None)
    if not isinstance(back, int) or back < 0:
        raise ValueError(f"last({back!r}): give 0 for the newest run, 1 for the one before it, ...")
    if not found:
        raise FileNotFoundError(f"there is no run in {folder}; record one with `genscope run -- "
                                "python program.py`, or with gs.session()")
    if back >= len(found):
        raise FileNotFoundError(f"last({back}): {folder} has {len(found)} run"
                                f"{'s' if len(found) > 1 else ''}")
    return load(found[-1 - back][1])


def _begin(path: str) -> Optional[int]:
    """When a run began, in ns since 1970; None for what is no run."""
    try:
        with open(os.path.join(path, "run.json"), encoding="utf-8") as file:
            begin = json.load(file).get("started_unix_ns")
        return begin if isinstance(begin, int) else None
    except (OSError, ValueError, AttributeError):
        return None


FORMATS = ("text", "json", "html", "md", "csv", "chrome", "perfetto")
_ENDS = {"txt": "text", "log": "text", "htm": "html", "markdown": "md", "pftrace": "perfetto",
         "perfetto-trace": "perfetto", "json": "json", "html": "html", "md": "md", "csv": "csv"}


def _format_of(to: Optional[Path], formats: Sequence[str], default: str) -> str:
    """What the end of a file's name asks for. An end that no format has is an error."""
    end = "" if to is None else os.path.splitext(os.fspath(to))[1][1:].lower()
    if not end or end.isdigit():
        return default
    if _ENDS.get(end) not in formats:
        raise ValueError(f"{os.fspath(to)}: .{end} is no format; give format=, one of "
                         f"{', '.join(formats)}")
    return _ENDS[end]


def report(run: Union[Run, Path], format: Optional[str] = None, *,
           to: Optional[Path] = None) -> str:
    """The report of a run as a str, or written to the file `to`, whose name is returned.

    Formats: text, json, html, md, csv; for viewers of traces chrome and perfetto. Without one, the
    end of `to` says which, else it is text.

    >>> gs.report(run_dir, to="report.html")
    'report.html'
    >>> gs.report(run_dir, "perfetto", to="run.pftrace")
    'run.pftrace'
    """
    if format is None:
        format = _format_of(to, FORMATS, "text")
    if format not in FORMATS:
        raise ValueError(f"format {format!r}: give one of {', '.join(FORMATS)}")
    if format == "perfetto" and to is None:
        raise ValueError("a perfetto report is binary; name a file: to='run.pftrace'")
    text = _core.report(_path(run), format)
    return str(text) if to is None else _write(text, to)


def advise(run: Union[Run, Path]) -> "dict[str, Any]":
    """What the rules found: each finding with its rule, its evidence, what to do, and the gain.

    A dict with the schema genscope.advice/1, which docs/rules.md describes.

    >>> for finding in gs.advise(run_dir)["findings"]:
    ...     text = finding["title"], finding["advice"]
    """
    return json.loads(_core.report(_path(run), "advice_json"))


Runs = Union[Run, Path, Sequence[Union[Run, Path]]]


def _paths(runs: Runs) -> "list[str]":
    several = runs if isinstance(runs, (list, tuple)) else [runs]
    return [_path(run) for run in several]


def compare(before: Runs, after: Runs, *,
            target_seconds: Optional[float] = None, noise: float = 0.02, force: bool = False,
            format: Optional[str] = None, to: Optional[Path] = None) -> Any:
    """What changed between two sides. A side is a run or a list of runs; a verdict needs three.

    A dict with the schema genscope.compare/2; with `format` json, text, md or html a str. With `to`
    it is written to that file, whose end says the format. `noise` is the smallest change that counts, `force` also compares runs that did different work.

    >>> gs.compare(run_dir, run_dir)["schema"]
    'genscope.compare/2'
    """
    if format is None:
        format = "dict" if to is None else _format_of(to, ("json", "text", "md", "html"), "json")
    kind = "json" if format == "dict" else format
    if kind not in ("json", "text", "md", "html"):
        raise ValueError(f"format {format!r}: give dict, json, text, md or html")
    text = _core.compare(_paths(before), _paths(after), kind, target_seconds or 0.0, noise, force)
    if to is not None:
        return _write(text, to)
    return json.loads(text) if format == "dict" else text


def inspect(model: Path) -> "dict[str, Any]":
    """What a model file or folder is, from its headers. Nothing is loaded and nothing is executed.

    A dict with the schema genscope.model/1, which docs/models.md describes.

    >>> gs.inspect("model.safetensors")["identity"]["title"]        # doctest: +SKIP
    'FLUX.1-dev'
    """
    return json.loads(_core.inspect(os.fspath(model)))


def predict(model: Path, gpu: str, *, measured_seconds: float = 0.0,
            **workload: Any) -> "dict[str, Any]":
    """What a generation costs and what the device allows.

    `model` is a file, a folder or a known name; `gpu` is a name, or "cpu" to measure this one.
    Workload: width, height, frames, steps, batch, text_tokens, guidance_passes, dtype, offload.
    A dict with the schema genscope.predict/1, which docs/predict.md describes.

    >>> gs.predict("flux-dev", "RTX 4090", steps=28)["schema"]
    'genscope.predict/1'
    """
    return json.loads(_core.predict(os.fspath(model), gpu, measured_seconds=measured_seconds,
                                    **workload))


def _write(text: Union[str, bytes], to: Path) -> str:
    path = os.fspath(to)
    part = f"{path}.{os.getpid()}.part"  # whole or not at all
    try:
        with open(part, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.unlink(part)
    return path
