"""Lightning, under both of its package names: epochs, batches, evaluation and checkpoints.

Its loops tell of what they do through Profiler.profile(action), whichever profiler the user chose;
that method is watched on the base class, so that the Trainer, its callbacks and its checkpoints
stay what they were. Waits, backward passes and optimizer steps come from loops.py.
"""
from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Optional

from .. import _core
from .._imports import when_imported
from . import loops
from ._patch import around, wrap
from ._report import done, problem

PACKAGES = ("lightning.pytorch", "pytorch_lightning")
_installed = {"watching": False}


def install() -> None:
    loops.install()
    report = lambda name, error: problem("lightning", repr(error))
    for package in PACKAGES:
        when_imported(package + ".profilers.profiler", _patch_profiler, report)
        when_imported(package + ".loops.evaluation_loop", _patch_evaluation, report)
        when_imported(package + ".loops.prediction_loop", _patch_prediction, report)
        when_imported(package + ".trainer.trainer", _patch_trainer, report)


def watching() -> bool:
    """Whether Lightning's loops are marked from here: a callback then leaves it to us."""
    return _installed["watching"]


def _patch_profiler(module: Any) -> None:
    if wrap(module.Profiler, "profile", _marked, "lightning"):
        _installed["watching"] = True
        done("lightning")


def _marked(original: Callable[..., Any]) -> Callable[..., Any]:
    def profile(self, action_name):
        inner = original(self, action_name)
        if action_name not in _ACTIONS:
            return inner
        return _around(_ACTIONS[action_name], inner)
    return profile


@contextmanager
def _around(begin: Callable[[], Callable[[bool], None]], inner: Any):
    end = begin()
    try:
        with inner as value:
            yield value
    except StopIteration:  # Lightning's way to leave a loop early
        end(False)
        raise
    except BaseException:
        end(True)
        raise
    end(False)


_counts = {"epoch": 0, "batch": 0}


def _epoch() -> Callable[[bool], None]:
    span = _core.begin("epoch", "epoch", index=_counts["epoch"])
    _counts["epoch"] += 1
    _counts["batch"] = 0

    def end(failed: bool) -> None:
        _core.end(span, failed)
    return end


def _batch() -> Callable[[bool], None]:
    batch = loops.begin_batch(_counts["batch"])
    _counts["batch"] += 1
    return batch.end


def _save() -> Callable[[bool], None]:
    span = _core.begin("save")
    return lambda failed: _core.end(span, failed)


_ACTIONS = {"run_training_epoch": _epoch, "run_training_batch": _batch, "save_checkpoint": _save}


# --- evaluation, prediction

def _patch_evaluation(module: Any) -> None:
    around(module._EvaluationLoop, "run", _begin_evaluation, _end_evaluation, "lightning")


def _patch_prediction(module: Any) -> None:
    around(module._PredictionLoop, "run", _begin_prediction, _end_evaluation, "lightning")


def _begin_evaluation(loop: Any, args: tuple, kwargs: dict) -> int:
    trainer = getattr(loop, "trainer", None)
    name = "test" if getattr(trainer, "testing", False) else "validate"
    if getattr(trainer, "sanity_checking", False):
        name = "sanity_check"
    loops.here.evaluating += 1
    return _core.begin(name)


def _begin_prediction(loop: Any, args: tuple, kwargs: dict) -> int:
    loops.here.evaluating += 1
    return _core.begin("predict")


def _end_evaluation(span: int, loop: Any, result: Any, error: Optional[BaseException]) -> None:
    loops.here.evaluating -= 1
    _core.end(span, error is not None)


# --- the whole

def _patch_trainer(module: Any) -> None:
    around(module.Trainer, "fit", _begin_fit, _end_fit, "lightning")


def _begin_fit(trainer: Any, args: tuple, kwargs: dict) -> bool:
    loops.here.driven += 1
    _counts["epoch"] = 0
    precision = str(getattr(trainer, "precision", "") or "")
    facts: "dict[str, Any]" = {
        "precision": precision or None,
        "gradient_accumulation_steps": getattr(trainer, "accumulate_grad_batches", None)}
    if precision.endswith("-mixed"):
        facts["set_autocast"] = True
        facts["set_compute_dtype"] = {"16": "fp16", "bf16": "bf16"}.get(precision.split("-")[0])
    loops.tell(**facts)
    return True


def _end_fit(token: Any, trainer: Any, result: Any, error: Optional[BaseException]) -> None:
    loops.here.driven -= 1
