"""Accelerate: its loaders fetch one batch ahead, so a batch is between their items, not between
those of the loader inside. backward() and step() end in torch's own, which loops.py sees."""
from __future__ import annotations

from typing import Any, Callable, Optional

from .._imports import when_imported
from . import loops
from ._patch import around, wrap
from ._report import done, problem

_LOADERS = ("DataLoaderShard", "DataLoaderDispatcher", "SkipDataLoader")


def install() -> None:
    loops.install()
    report = lambda name, error: problem("accelerate", repr(error))
    when_imported("accelerate.data_loader", _patch_loaders, report)
    when_imported("accelerate.accelerator", _patch_accelerator, report)


def _patch_loaders(module: Any) -> None:
    found = [getattr(module, name) for name in _LOADERS if hasattr(module, name)]
    if not found:
        problem("accelerate", "accelerate.data_loader has none of " + ", ".join(_LOADERS))
        return
    for loader in found:
        wrap(loader, "__iter__", _watched_iter, "accelerate." + loader.__name__)
    done("accelerate")


def _watched_iter(original: Callable[..., Any]) -> Callable[..., Any]:
    def __iter__(self):
        return loops.watched(iter(original(self)), self)
    return __iter__


def _patch_accelerator(module: Any) -> None:
    around(module.Accelerator, "prepare", lambda self, args, kwargs: True, _prepared,
           "accelerate.Accelerator")


def _prepared(token: Any, accelerator: Any, result: Any, error: Optional[BaseException]) -> None:
    precision = str(getattr(accelerator, "mixed_precision", None) or "no")
    facts: "dict[str, Any]" = {
        "mixed_precision": precision,
        "gradient_accumulation_steps": getattr(accelerator, "gradient_accumulation_steps", None)}
    if precision != "no":
        facts["set_autocast"] = True
        facts["set_compute_dtype"] = precision
    loops.tell(**facts)
