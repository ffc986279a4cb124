"""How wrappers stay out of the way of torch.compile. Imports nothing of torch by itself.

Three things can meet a wrapper: dynamo inlines it into a graph (is_compiling() is then the constant
True, and the wrapper calls the original alone); it is the first frame of what was compiled (the
frame is skipped, as torch does with the frames of nn.Module, and dynamo begins in the original); or
it calls code of ours (which dynamo must not look into: its callback is taken off meanwhile).
"""
from __future__ import annotations

import sys
from types import CodeType
from typing import Any, Callable

from .._imports import when_imported

_codes: "list[CodeType]" = []
_skip: "list[Callable[[CodeType], None]]" = []


def _never() -> bool:
    return False


def _no_frame(callback: Any) -> None:
    return None


def compiling_check() -> Callable[[], bool]:
    """torch.compiler.is_compiling, or a function that says no where there is none."""
    torch = sys.modules.get("torch")
    return getattr(getattr(torch, "compiler", None), "is_compiling", _never)


def set_eval_frame_of_torch() -> Callable[[Any], Any]:
    """Sets dynamo's callback of this thread and returns the one before; None takes it off."""
    dynamo = getattr(getattr(sys.modules.get("torch"), "_C", None), "_dynamo", None)
    return getattr(getattr(dynamo, "eval_frame", None), "set_eval_frame", _no_frame)


def skip_frame(code: CodeType) -> None:
    """Dynamo begins below this code, not at it. What is inlined is not concerned."""
    _codes.append(code)
    if _skip:
        _skip[0](code)
    elif len(_codes) == 1:
        when_imported("torch._dynamo.eval_frame", _dynamo_is_there)


def _dynamo_is_there(eval_frame: Any) -> None:
    skip = getattr(eval_frame, "skip_code", None)
    if skip is None:
        return
    _skip.append(skip)
    for code in _codes:
        skip(code)
