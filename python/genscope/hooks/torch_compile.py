"""What torch.compile compiles: each compilation is a stage `compile` where it happens, and is counted.

Dynamo tells of its compilations by callbacks, which a reset of it forgets; so the methods that run
the callbacks are watched instead. A compilation's name is "frame/n": n is above 0 where dynamo has
compiled that code before.
"""
from __future__ import annotations

import re
from typing import Any, NamedTuple, Optional

from .. import _core
from .._imports import when_imported
from ._patch import around
from ._report import problem


class Mark(NamedTuple):
    """Compilations of this process so far, and those of code that had been compiled before."""
    all: int
    again: int


_counts = {"all": 0, "again": 0, "watched": 0}
_open: "list[int]" = []


def mark() -> Mark:
    return Mark(_counts["all"], _counts["again"])


def watched() -> bool:
    """Whether torch's compiler is there to be seen: nothing of it is imported for this."""
    return _counts["watched"] > 0


def install() -> None:
    when_imported("torch._dynamo.callback", _dynamo_is_there,
                  lambda name, error: problem("torch.compile", repr(error)))


def _dynamo_is_there(module: Any) -> None:
    handler = getattr(module, "CompilationCallbackHandler", None)
    if handler is None:
        problem("torch.compile", "torch._dynamo.callback has no CompilationCallbackHandler")
        return
    if around(handler, "run_start_callbacks", _starts, _nothing, "torch.compile") \
            and around(handler, "run_end_callbacks", _ends, _nothing, "torch.compile"):
        _counts["watched"] = 1


def _nothing(token: Any, _self: Any, _result: Any, _error: Optional[BaseException]) -> None:
    return None


def _starts(_self: Any, args: tuple, kwargs: dict) -> None:
    id = getattr(args[0], "compile_id", None) if args else None
    found = re.search(r"(\d+)/(\d+)", id) if isinstance(id, str) else None
    _counts["all"] += 1
    if found is not None and int(found.group(2)) > 0:
        _counts["again"] += 1
    _open.append(_core.begin("compile", "stage", id=id))


def _ends(_self: Any, args: tuple, kwargs: dict) -> None:
    if _open:
        _core.end(_open.pop())
