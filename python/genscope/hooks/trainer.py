"""Hugging Face Trainer: our callback in each Trainer, evaluation and saving as stages.

The callback (genscope.callbacks.transformers) marks epochs and batches and writes what the Trainer
logs as counters; the waits, backward passes and optimizer steps come from loops.py.
"""
from __future__ import annotations

from typing import Any, Optional

from .. import _core
from .._imports import when_imported
from . import loops
from ._patch import around
from ._report import done, problem


def install() -> None:
    loops.install()
    report = lambda name, error: problem("trainer", repr(error))
    when_imported("transformers.trainer_callback", _patch_handler, report)
    when_imported("transformers.trainer", _patch_trainer, report)


def _patch_handler(module: Any) -> None:
    handler = getattr(module, "CallbackHandler", None)
    if handler is None:
        problem("trainer", "transformers.trainer_callback has no CallbackHandler")
        return
    if around(handler, "__init__", lambda self, args, kwargs: True, _add_callback, "trainer"):
        done("trainer")


def _add_callback(token: Any, handler: Any, result: Any, error: Optional[BaseException]) -> None:
    from ..callbacks.transformers import GenscopeCallback
    if error is None and not any(isinstance(c, GenscopeCallback) for c in handler.callbacks):
        handler.callbacks.append(GenscopeCallback())


def _patch_trainer(module: Any) -> None:
    trainer = module.Trainer
    around(trainer, "train", lambda self, args, kwargs: True, _trained, "trainer")
    around(trainer, "evaluate", _evaluation("evaluate"), _evaluated, "trainer")
    around(trainer, "predict", _evaluation("predict"), _evaluated, "trainer")
    around(trainer, "_save_checkpoint", _begin_save, _end_save, "trainer")
    around(trainer, "save_model", _begin_save, _end_save, "trainer")


def _trained(token: Any, trainer: Any, result: Any, error: Optional[BaseException]) -> None:
    """By an exception no callback hears of the end."""
    from ..callbacks.transformers import GenscopeCallback
    for callback in trainer.callback_handler.callbacks:
        if isinstance(callback, GenscopeCallback):
            callback.close(error is not None)


def _evaluation(name: str):
    def begin(trainer: Any, args: tuple, kwargs: dict) -> int:
        loops.here.evaluating += 1
        return _core.begin(name)
    return begin


def _evaluated(span: int, trainer: Any, result: Any, error: Optional[BaseException]) -> None:
    loops.here.evaluating -= 1
    _core.end(span, error is not None)


_saving = {"depth": 0}  # a checkpoint saves the model too


def _begin_save(trainer: Any, args: tuple, kwargs: dict) -> int:
    _saving["depth"] += 1
    return _core.begin("save") if _saving["depth"] == 1 else 0


def _end_save(span: int, trainer: Any, result: Any, error: Optional[BaseException]) -> None:
    _saving["depth"] -= 1
    _core.end(span, error is not None)
