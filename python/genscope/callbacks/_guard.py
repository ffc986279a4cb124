"""Methods of callbacks are called by the user's loop: what ours raises must not reach it."""
from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

from ..hooks._report import problem

T = TypeVar("T")
_told: "set[str]" = set()


def tell(target: str, error: BaseException) -> None:
    """Says it in the report, once for each target. Never raises."""
    if target in _told:
        return
    _told.add(target)
    try:
        problem(target, repr(error))
    except Exception:
        pass


def guarded(target: str) -> "Callable[[type[T]], type[T]]":
    """Of a class: each method of its own without an underscore returns None where it would raise."""
    def with_guards(kind: "type[T]") -> "type[T]":
        for name, method in list(vars(kind).items()):
            if callable(method) and not name.startswith("_"):
                setattr(kind, name, _guarded(method, f"{target}.{name}"))
        return kind
    return with_guards


def _guarded(method: "Callable[..., Any]", target: str) -> "Callable[..., Any]":
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except Exception as error:
            tell(target, error)
            return None
    return call
