"""Columns of a run: numbers as memoryviews, texts as numbers into a list. No dependency."""
from __future__ import annotations

from typing import Any, Iterator, Optional, Sequence

from . import _core


class Texts(Sequence[Optional[str]]):
    """A column of texts of which most occur often. None: absent."""

    def __init__(self, codes: "memoryview[int]", values: "list[str]"):
        self.codes = codes
        self.values = values

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        code = self.codes[at]
        return None if code < 0 else self.values[code]


class Table:
    """Columns of equal length, by name: table["duration_ns"], len(table), table.row(3)."""

    def __init__(self, columns: "dict[str, tuple[Any, ...]]"):
        self._raw = columns
        self._columns: "dict[str, Any]" = {}
        for name, (format, data, *texts) in columns.items():
            numbers = memoryview(data).cast("B").cast(format)
            self._columns[name] = Texts(numbers, texts[0]) if texts else numbers

    @property
    def columns(self) -> "list[str]":
        return list(self._columns)

    def __getitem__(self, column: str) -> Any:
        return self._columns[column]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def row(self, at: int) -> "dict[str, Any]":
        return {name: column[at] for name, column in self._columns.items()}

    def __iter__(self) -> "Iterator[dict[str, Any]]":
        return (self.row(i) for i in range(len(self)))

    def to_dict(self) -> "dict[str, list[Any]]":
        return {name: list(column) for name, column in self._columns.items()}

    def to_pandas(self) -> Any:
        """A DataFrame; texts are categories. Needs pandas, which genscope does not install."""
        import numpy
        import pandas
        frame = {}
        for name, (format, data, *texts) in self._raw.items():
            numbers = numpy.frombuffer(data, dtype={"q": "i8", "d": "f8", "i": "i4"}[format])
            frame[name] = pandas.Categorical.from_codes(numbers, texts[0]) if texts else numbers
        return pandas.DataFrame(frame)

    def __arrow_c_array__(self, requested_schema: Any = None) -> "tuple[object, object]":
        """Arrow's PyCapsule protocol: pyarrow.table(table), polars, DuckDB. Columns are not copied."""
        raw = self._raw.values()
        return _core.arrow(list(self._raw), [c[0] for c in raw], [c[1] for c in raw],
                           [c[2] if len(c) > 2 else None for c in raw], len(self))

    def __repr__(self) -> str:
        return f"<genscope.Table {len(self)} rows: {', '.join(self._columns)}>"
