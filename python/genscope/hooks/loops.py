"""Training loops of PyTorch: waits for data, batches, epochs, backward passes, optimizer steps.

A loop is what happens between two items of a DataLoader:

    epoch                      one pass over a loader that trains
      stage data_loading       the loop waits for its next batch
      batch                    from when it came to when the next is asked for
        stage forward          until the first backward pass: copies to the device and loss included
        stage backward
        stage optimizer

Frameworks that tell of their batches themselves (Trainer, Lightning) call begin_batch() and set
`here.driven`: loaders then mark their waits alone, and nothing is counted twice. What a loader does
inside another's wait, or inside another's batch, makes no batch of its own.

That a pass trains is known at its end only, so an epoch is opened where an optimizer exists and
gradients are on, and says how many optimizer steps it held; a loader whose pass held none opens no
epoch again until one of its passes did. Nothing is read from a tensor.
"""
from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Callable, Iterator, Optional

from .. import _core
from .._imports import when_imported
from ._report import done, problem

WAIT = "data_loading"
VALIDATION_WAIT = "validation_data"  # no wait of the training, and no name of one


class Here(threading.local):
    """Of the calling thread."""

    def __init__(self) -> None:
        self.driven = 0       # frameworks that mark the batches themselves
        self.evaluating = 0   # inside of a framework's evaluation
        self.waiting = False  # inside of a loader's wait
        self.batch: Optional[Batch] = None
        self.optimizers: "list[int]" = []  # spans of steps that have begun
        # A thread that only fetches for another has no batches: it must have stepped.
        self.loops = threading.current_thread() is threading.main_thread()


here: Here
_grad_enabled: Callable[[], bool] = lambda: False
_state = {"optimizer": False, "installed": False, "watched": False}
# Loader -> passes that trained; negative: passes that did not, and none did.
_passes: "weakref.WeakKeyDictionary[Any, int]" = weakref.WeakKeyDictionary()


def tell(**facts: Any) -> None:
    """Facts for the advice (docs/rules.md): keys with a dot as `set_training` for `set.training`."""
    _core.event("config", **{key.replace("set_", "set.", 1): value for key, value in facts.items()})


def saw_optimizer() -> None:
    """The process trains, or is about to."""
    _state["optimizer"] = True


def trains() -> Optional[bool]:
    """Whether the process has made an optimizer; None where none of its making would be seen."""
    return True if _state["optimizer"] else False if _state["watched"] else None


def training() -> bool:
    """Whether what comes now looks like training."""
    return _state["optimizer"] and not here.evaluating and _grad_enabled()


class Batch:
    """An open batch; the spans are 0 where nothing is recorded."""
    __slots__ = ("span", "forward", "first", "steps", "outer")

    def __init__(self, index: int, args: "dict[str, Any]"):
        self.outer = here.batch
        self.first = index == 0
        self.steps = 0
        self.span = _core.begin("batch", "batch", index=index, **args)
        self.forward = _core.begin("forward") if training() else 0
        here.batch = self

    def end_forward(self) -> None:
        if self.forward:
            _core.end(self.forward)
            self.forward = 0

    def end(self, failed: bool = False) -> None:
        for span in here.optimizers:  # a step that raised has no end of its own
            _core.end(span, True)
        here.optimizers.clear()
        self.end_forward()
        _core.end(self.span, failed)
        if here.batch is self:
            here.batch = self.outer


def begin_batch(index: int, **args: Any) -> Batch:
    """A batch, for frameworks; end() it."""
    return Batch(index, args)


class Loop:
    """One pass over a loader."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.index = 0
        self.steps = 0
        self.epoch = 0
        self.begun = False
        self.batch: Optional[Batch] = None
        self.task = 0
        self.process = os.getpid()

    def ask(self) -> "Optional[int]":
        """The next item is asked for. None: inside of another loader's wait. Never raises."""
        try:
            return self._ask()
        except Exception as error:
            problem("torch.loops", f"as a batch was asked for: {error!r}")
            return None

    def got(self, wait: "Optional[int]", error: Optional[BaseException] = None) -> None:
        """It came, or `error` did; StopIteration ends the pass. Never raises."""
        try:
            self._got(wait, error)
        except Exception as ours:
            problem("torch.loops", f"as a batch came: {ours!r}")

    def _ask(self) -> "Optional[int]":
        if here.waiting:
            return None
        self._end_item()
        if not self.begun:
            self.begun = True
            self._begin_epoch()
        here.waiting = True
        return _core.begin(WAIT if not _state["optimizer"] or training() else VALIDATION_WAIT)

    def _got(self, wait: "Optional[int]", error: Optional[BaseException]) -> None:
        if wait is None:
            return
        here.waiting = False
        failed = error is not None and not isinstance(error, StopIteration)
        _core.end(wait, failed)
        if error is not None:
            self.finish(failed)
        elif not here.driven and here.batch is None and here.loops:
            self._begin_item()
        self.index += 1

    def finish(self, failed: bool = False) -> None:
        """The pass is over: at its end, by a break, or by an exception in the loader."""
        self._end_item()
        if self.epoch:
            _core.args(self.epoch, optimizer_steps=self.steps, batches=self.index)
            _core.end(self.epoch, failed)
            self.epoch = 0
        self._count_pass()

    def _begin_epoch(self) -> None:
        if here.driven or here.batch is not None or not here.loops or not training():
            return
        passes = _known(self.loader)
        if passes >= 0:
            self.epoch = _core.begin("epoch", "epoch", index=passes)

    def _begin_item(self) -> None:
        if _state["optimizer"] and not training():
            self.task = _core.begin("validation_batch", "task", index=self.index)
        else:
            self.batch = begin_batch(self.index)

    def _end_item(self) -> None:
        if self.batch is not None:
            self.steps += self.batch.steps
            self.batch.end()
            self.batch = None
        if self.task:
            _core.end(self.task)
            self.task = 0

    def _count_pass(self) -> None:
        loader, self.loader = self.loader, None
        if loader is None or not self.begun:
            return
        passes = _known(loader)
        if self.steps or passes <= 0:
            _passes[loader] = max(passes, 0) + 1 if self.steps else passes - 1

    def __del__(self) -> None:
        try:
            if os.getpid() == self.process and (self.batch is not None or self.task or self.epoch):
                self.finish()
        except Exception:
            pass


def _known(loader: Any) -> int:
    try:
        return _passes.get(loader, 0)
    except TypeError:  # it cannot be hashed
        return 0


def watched(items: Iterator[Any], loader: Any) -> Iterator[Any]:
    """The items of a loader that itself asks another; the marks are of this one."""
    loop = Loop(loader)
    try:
        while True:
            wait = loop.ask()
            try:
                item = next(items)
            except BaseException as error:
                loop.got(wait, error)
                if isinstance(error, StopIteration):
                    return
                raise
            loop.got(wait)
            yield item
    finally:
        loop.finish()


here = Here()


def install() -> None:
    """Once, whoever asks first. Waits for torch to be imported whole."""
    if _state["installed"]:
        return
    _state["installed"] = True
    when_imported("torch", _patch, lambda name, error: problem("torch.loops", repr(error)))


def installed() -> bool:
    return _state["installed"]


def _patch(torch: Any) -> None:
    global _grad_enabled
    from . import _torch_loops
    _grad_enabled = torch.is_grad_enabled
    _torch_loops.patch(torch)
    _state["watched"] = True
    done("torch.loops")
