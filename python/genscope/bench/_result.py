"""Results as objects over their JSON (genscope.bench/1)."""
from __future__ import annotations

import html
import json
import math
import os
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Union

from .. import _core


class Interval(NamedTuple):
    low: float
    high: float
    confidence: float


class _Fields(Mapping):
    """A JSON object whose keys are attributes too."""

    def __init__(self, fields: "Dict[str, Any]") -> None:
        self._fields = fields

    def __getitem__(self, key: str) -> Any:
        return self._fields[key]

    def __iter__(self) -> "Iterator[str]":
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._fields:
            raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {', '.join(self._fields)}")
        return self._fields[name]

    def __dir__(self) -> "List[str]":
        return sorted({*super().__dir__(), *self._fields})


class Comparison(_Fields):
    """One metric of one cell, after against before."""

    @property
    def verdict(self) -> str:
        return self._fields["verdict"]

    @property
    def ratio(self) -> Optional[float]:
        """after / before; None where it is not known."""
        return self._fields.get("ratio")

    @property
    def interval(self) -> Optional[Interval]:
        """Of the ratio; None with too few runs."""
        ends = self._fields.get("ci")
        return Interval(ends[0], ends[1], self._fields.get("level", 0.95)) if ends else None

    def __repr__(self) -> str:
        return f"<{self._fields.get('metric', 'judged')}: {self.verdict}>"


class Judgement(Comparison):
    """Two lists of values, judged."""

    def __repr__(self) -> str:
        return f"<{self.verdict}: {self._fields.get('reason', '')}>"


class Result(_Fields):
    """A benchmark. Its JSON's keys are items and attributes: `result.cells`, `result["environment"]`.

        result = gs.bench.ab("python old.py", "python new.py")
        result.verdict, result.ratio, result.interval   # ("improved", 0.88, Interval(0.86, 0.90, ...))
        result.median("A"), result.values("A")          # seconds
        result.to_json("ab.json")
    """

    def __init__(self, text: str) -> None:
        super().__init__(json.loads(text))
        self._text = text

    @classmethod
    def from_json(cls, text: str) -> "Result":
        return cls(text)

    @property
    def comparisons(self) -> "List[Comparison]":
        return [Comparison(row) for row in self._fields.get("comparisons") or []]

    @property
    def comparison(self) -> Optional[Comparison]:
        """The first: of latency_s."""
        found = self.comparisons
        return found[0] if found else None

    @property
    def verdict(self) -> Optional[str]:
        """regressed, improved, unchanged, inconclusive, insufficient, ...; None with one side."""
        return self.comparison.verdict if self.comparison is not None else None

    @property
    def reason(self) -> Optional[str]:
        return self.comparison.get("reason") if self.comparison is not None else None

    @property
    def ratio(self) -> Optional[float]:
        """after / before: 0.5 takes half the time."""
        return self.comparison.ratio if self.comparison is not None else None

    @property
    def interval(self) -> Optional[Interval]:
        return self.comparison.interval if self.comparison is not None else None

    @property
    def speedup(self) -> Optional[float]:
        """before / after."""
        return 1 / self.ratio if self.ratio else None

    @property
    def exit_code(self) -> int:
        """As the command would end: 0 all passed, 1 a verdict failed, 4 it failed, ..."""
        return self._fields["exit"]["code"]

    def median(self, slot: str = "A", metric: str = "latency_s", cell: int = 0) -> Optional[float]:
        of = self._fields["cells"][cell]
        stats = of.get("stats") if slot == "A" else (of.get("stats_by_slot") or {}).get(slot)
        found = (stats or {}).get(metric)
        return found["median"] if found else None

    def values(self, slot: str = "A", metric: str = "latency_s", cell: int = 0) -> "List[float]":
        """Every sample that did not fail."""
        return [sample[metric] if metric in sample else sample["metrics"][metric]
                for unit in self._fields["cells"][cell]["units"] if unit["slot"] == slot
                for sample in unit["samples"]
                if not sample.get("failure") and (metric in sample or metric in sample.get("metrics", {}))]

    def to_json(self, path: "Union[str, os.PathLike, None]" = None) -> str:
        """The JSON; written to `path` too, if that is given."""
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(self._text)
        return self._text

    def render(self, format: str = "text") -> str:
        """text, md, html, csv or junit."""
        return _core.bench_render(self._text, format)

    def __str__(self) -> str:
        return self.render("text")

    def __repr__(self) -> str:
        if self.comparison is None:
            return f"<genscope.bench.Result: {self.median()!r} s>"
        return f"<genscope.bench.Result: {self.verdict}: {self.reason}>"

    def _repr_html_(self) -> str:
        """In a notebook: the text, as it stands."""
        return f"<pre>{html.escape(self.render('text'))}</pre>"


def load(path: "Union[str, os.PathLike]") -> Result:
    """A result that was written to a file.

        gs.bench.load("ab.json").verdict
    """
    with open(path, encoding="utf-8") as file:
        text = file.read()
    _core.bench_render(text, "csv")  # strict: names the field that is wrong
    return Result(text)


_JUDGING = ("abs_floor", "confidence", "direction", "few_by_student", "interleaved", "min_effect", "noise", "paired")


def check_values(options: "Mapping[str, Any]") -> None:
    """What the rule of verdicts would take without a word, and not as it was meant."""
    for name in ("min_effect", "noise", "abs_floor"):
        value = options.get(name)
        if value is not None and not 0 <= value < math.inf:
            raise ValueError(f"{name} must be 0 or more, such as 0.02 for 2 %, and is {value!r}")
    confidence = options.get("confidence")
    if confidence is not None and not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, such as 0.95, and is {confidence!r}")
    direction = options.get("direction")
    if direction not in (None, "lower", "higher"):
        raise ValueError(f"direction must be 'lower' or 'higher' (which is better), and is {direction!r}")


def _judging(call: str, options: "Dict[str, Any]") -> "Dict[str, Any]":
    for name in options:
        if name not in _JUDGING:
            raise TypeError(f"{call}() has no option {name!r}; it has {', '.join(_JUDGING)}")
    check_values(options)
    return options


def judge(before: "Sequence[float]", after: "Sequence[float]", **options: Any) -> Judgement:
    """Two lists of values, one for each run, by the rule of docs/statistics.md.

        gs.bench.judge([1.00, 1.01, 0.99, 1.02], [0.90, 0.91, 0.89, 0.90]).verdict   # "improved"

    Options: min_effect (0.01), noise, abs_floor, confidence (0.95), direction ("lower", "higher"),
    paired (before[i] and after[i] ran next to each other), few_by_student.
    """
    return Judgement(_core.bench_judge({**_judging("judge", options), "before": list(before), "after": list(after)}))


def compare(base: "Union[str, os.PathLike, Result]", new: "Union[str, os.PathLike, Result]",
            **options: Any) -> Result:
    """A result against an earlier one: paths, ids, names of baselines, or results.

        gs.bench.compare("main.json", "branch.json").verdict

    Options as judge() has them. Other machines or other work are `incomparable`.
    """
    import tempfile
    _judging("compare", options)
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for i, side in enumerate((base, new)):
            if isinstance(side, Result):
                path = os.path.join(folder, f"{i}.json")
                side.to_json(path)
                side = path
            names.append(os.fspath(side))
        return Result(_core.bench_compare(names[0], names[1], options))
