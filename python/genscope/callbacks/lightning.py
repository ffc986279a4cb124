"""A Lightning callback for those who prefer to add it themselves:

    from genscope.callbacks.lightning import GenscopeCallback
    Trainer(..., callbacks=[GenscopeCallback()])

Epochs, batches and validation are spans. Where the hooks of `genscope run` are at work it leaves
all of it to them. The class is made when it is first asked for, of the package that the program has
imported (lightning, or else pytorch_lightning).
"""
from __future__ import annotations

import sys
from typing import Any, Optional

from .. import _core
from ..hooks import lightning_, loops
from ._guard import guarded


@guarded("callbacks.lightning")
class Marks:
    """What the callback does, apart from the base class that Lightning gives it."""

    def __init__(self) -> None:
        super().__init__()
        self._driven = False
        self._epoch = 0
        self._stage = 0
        self._batch: Optional[loops.Batch] = None

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        if lightning_.watching():
            return
        self._driven = True
        loops.here.driven += 1
        loops.saw_optimizer()
        loops.tell(set_training=True)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        if self._driven:
            self._epoch = _core.begin("epoch", "epoch", index=int(trainer.current_epoch))

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int,
                             *args: Any) -> None:
        if self._driven:
            self._end_batch()
            self._batch = loops.begin_batch(batch_idx)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any,
                           batch_idx: int, *args: Any) -> None:
        self._end_batch()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self._end_batch()
        self._end_epoch()

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        if self._driven:
            self._stage = _core.begin(
                "sanity_check" if getattr(trainer, "sanity_checking", False) else "validate")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self._end_stage()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._close(failed=True)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        self._close()

    def _end_batch(self, failed: bool = False) -> None:
        if self._batch is not None:
            self._batch.end(failed)
            self._batch = None

    def _end_epoch(self, failed: bool = False) -> None:
        if self._epoch:
            _core.end(self._epoch, failed)
            self._epoch = 0

    def _end_stage(self, failed: bool = False) -> None:
        if self._stage:
            _core.end(self._stage, failed)
            self._stage = 0

    def _close(self, failed: bool = False) -> None:
        self._end_stage(failed)
        self._end_batch(failed)
        self._end_epoch(failed)
        if self._driven:
            self._driven = False
            loops.here.driven -= 1


def __getattr__(name: str) -> Any:
    if name != "GenscopeCallback":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if "lightning" not in sys.modules and "pytorch_lightning" in sys.modules:
        from pytorch_lightning import Callback
    else:
        try:
            from lightning.pytorch import Callback
        except ImportError:
            from pytorch_lightning import Callback
    made = type("GenscopeCallback", (Marks, Callback), {
        "__module__": __name__, "__doc__": "Marks the epochs and batches of a Lightning Trainer."})
    globals()[name] = made
    return made
