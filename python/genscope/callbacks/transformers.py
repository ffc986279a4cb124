"""A TrainerCallback for those who prefer to add it themselves:

    from genscope.callbacks.transformers import GenscopeCallback
    Trainer(..., callbacks=[GenscopeCallback()])

Epochs and batches are spans; loss, learning rate and gradient norm, as the Trainer logs them, are
counters. The class is made when it is first asked for, which imports transformers.
"""
from __future__ import annotations

from typing import Any, Optional

from .. import _core
from ..hooks import loops
from ._guard import guarded

_COUNTERS = ("loss", "learning_rate", "grad_norm", "eval_loss", "train_loss")


@guarded("callbacks.transformers")
class Marks:
    """What the callback does, apart from the base class that transformers gives it."""

    def __init__(self) -> None:
        self._owner = False
        self._epoch = 0
        self._batch: Optional[loops.Batch] = None
        self._batches = 0
        self._optimizer = 0

    def close(self, failed: bool = False) -> None:
        """Ends what is open; also after an exception, where no event comes."""
        self._end_batch(failed)
        if self._epoch:
            _core.end(self._epoch, failed)
            self._epoch = 0
        if self._owner:
            self._owner = False
            loops.here.driven -= 1

    def _end_batch(self, failed: bool = False) -> None:
        if self._batch is not None:
            self._batch.end(failed)
            self._batch = None

    def _begin_batch(self, state: Any) -> None:
        self._end_batch()
        self._batch = loops.begin_batch(self._batches, global_step=state.global_step)
        self._batches += 1

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.close()
        if loops.here.driven:  # another of us marks this training
            return
        self._owner = True
        self._batches = 0
        loops.here.driven += 1
        loops.saw_optimizer()
        loops.tell(**_facts(args))

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._owner:
            self._epoch = _core.begin("epoch", "epoch", index=int(state.epoch or 0))

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._owner:
            self._begin_batch(state)

    def on_substep_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._owner:  # of gradient accumulation: the next batch follows at once
            self._begin_batch(state)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._owner and not loops.installed():
            self._optimizer = _core.begin("optimizer")

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._optimizer:
            _core.end(self._optimizer)
            self._optimizer = 0

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._end_batch()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._end_batch()
        if self._epoch:
            _core.end(self._epoch)
            self._epoch = 0

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        if not self._owner and loops.here.driven:
            return
        for key in _COUNTERS:
            value = (logs or {}).get(key)
            if type(value) in (int, float):  # read already; a tensor is left alone
                _core.counter(key, value)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._owner:
            _core.event("checkpoint", global_step=state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.close()


def _facts(args: Any) -> "dict[str, Any]":
    facts: "dict[str, Any]" = {
        "set_training": True,
        "batch": getattr(args, "per_device_train_batch_size", None),
        "gradient_accumulation_steps": getattr(args, "gradient_accumulation_steps", None),
        "set_grad_checkpointing": bool(getattr(args, "gradient_checkpointing", False))}
    for dtype in ("bf16", "fp16"):
        if getattr(args, dtype, False):
            facts["set_autocast"] = True
            facts["set_compute_dtype"] = dtype
    return facts


def __getattr__(name: str) -> Any:
    if name != "GenscopeCallback":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from transformers.trainer_callback import TrainerCallback
    made = type("GenscopeCallback", (Marks, TrainerCallback), {
        "__module__": __name__, "__doc__": "Marks the epochs and batches of a Trainer."})
    globals()[name] = made
    return made
