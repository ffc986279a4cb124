"""Where loops.py meets torch: loader iterators, autograd.backward, optimizers, checkpointing.

Everything here is replaced on classes and modules, and outside of what torch.compile traces: its
own names for checkpoint() and for modules stay what they are.
"""
from __future__ import annotations

from typing import Any, Callable, Optional

from .. import _core
from .._imports import when_imported
from . import loops
from ._patch import around, compiling_check, wrap
from ._report import problem
from .loops import here

_backward = {"open": False}
_compiling: Callable[[], bool] = lambda: False
_told: "set[str]" = set()


def patch(torch: Any) -> None:
    global _compiling
    _compiling = compiling_check()
    report = lambda name, error: problem(name, repr(error))
    when_imported("torch.utils.data.dataloader", _patch_loader, report)
    when_imported("torch.optim.optimizer", _patch_optimizer, report)
    when_imported("torch.utils.checkpoint", _patch_checkpoint, report)
    around(torch.autograd, "backward", _begin_backward, _end_backward, "torch.autograd",
           traced=True)


# --- loaders

def _patch_loader(module: Any) -> None:
    iterator = getattr(module, "_BaseDataLoaderIter", None)
    if iterator is None:
        problem("torch.DataLoader", "torch.utils.data.dataloader has no _BaseDataLoaderIter")
        return
    around(iterator, "__init__", _given_loader, _new_pass, "torch.DataLoader")
    around(iterator, "_reset", _given_reset, _new_pass, "torch.DataLoader")
    wrap(iterator, "__next__", _marked_next, "torch.DataLoader")


def _given_loader(iterator: Any, args: tuple, kwargs: dict) -> Any:
    return args[0] if args else kwargs.get("loader")


def _given_reset(iterator: Any, args: tuple, kwargs: dict) -> Any:
    first = args[1] if len(args) > 1 else kwargs.get("first_iter", False)
    return None if first else _given_loader(iterator, args, kwargs)


def _new_pass(loader: Any, iterator: Any, result: Any, error: Optional[BaseException]) -> None:
    old = vars(iterator).get("_genscope_loop")
    if old is not None:  # workers that persist: the loop before ended by a break
        old.finish()
    iterator._genscope_loop = loops.Loop(loader)


def _marked_next(original: Callable[..., Any]) -> Callable[..., Any]:
    def __next__(self):
        loop = vars(self).get("_genscope_loop")
        if loop is None:
            return original(self)
        wait = loop.ask()
        try:
            item = original(self)
        except BaseException as error:
            loop.got(wait, error)
            raise
        loop.got(wait)
        return item
    return __next__


# --- backward

def _begin_backward(self: Any, args: tuple, kwargs: dict) -> Optional[int]:
    # Reentrant checkpointing calls it again, on threads of autograd's own too: parts of the one.
    if _backward["open"]:
        return None
    _backward["open"] = True
    if here.batch is not None:
        here.batch.end_forward()
    return _core.begin("backward")


def _end_backward(span: int, self: Any, result: Any, error: Optional[BaseException]) -> None:
    _backward["open"] = False
    _core.end(span, error is not None)


# --- optimizers

def _patch_optimizer(module: Any) -> None:
    before = getattr(module, "register_optimizer_step_pre_hook", None)
    after = getattr(module, "register_optimizer_step_post_hook", None)
    if before is None or after is None:
        problem("torch.optim", "torch.optim.optimizer has no hooks for the steps of all optimizers")
        return
    before(_before_step)
    after(_after_step)
    around(module.Optimizer, "__init__", lambda self, args, kwargs: True,
           lambda token, self, result, error: loops.saw_optimizer(), "torch.optim")


def _before_step(optimizer: Any, args: tuple, kwargs: dict) -> Any:
    if _compiling():
        return None
    try:
        closure = kwargs.get("closure") or (args[1] if len(args) > 1 else None)
        if callable(closure):
            return _with_closure(closure, args, kwargs)
        _begin_step()
    except Exception as error:
        problem("torch.optim", f"before a step: {error!r}")
    return None


def _with_closure(closure: Callable[..., Any], args: tuple, kwargs: dict) -> "tuple[tuple, dict]":
    """The closure runs forward and backward: the optimizer's own part is what follows it."""
    def call(*inner: Any, **more: Any) -> Any:
        _end_step()
        result = closure(*inner, **more)
        _begin_step()
        return result
    if "closure" in kwargs:
        return args, {**kwargs, "closure": call}
    return (args[0], call, *args[2:]), kwargs


def _begin_step() -> None:
    if here.batch is not None:
        here.batch.end_forward()
    here.optimizers.append(_core.begin("optimizer"))


def _end_step() -> None:
    if here.optimizers:
        _core.end(here.optimizers.pop())


def _after_step(optimizer: Any, args: tuple, kwargs: dict) -> None:
    if _compiling():
        return
    try:
        _step_is_done()
    except Exception as error:
        problem("torch.optim", f"after a step: {error!r}")


def _step_is_done() -> None:
    _end_step()
    here.loops = True
    loops.saw_optimizer()
    batch = here.batch
    _tell_once("set_training", batch is not None and batch.first and batch.steps == 0)
    if batch is not None and not here.optimizers:  # one that calls another's step is one
        batch.steps += 1


def _tell_once(fact: str, again: bool = False) -> None:
    """Again at the begin of a pass: a session that opened since has missed what was told before."""
    if fact not in _told or again:
        _told.add(fact)
        loops.tell(**{fact: True})


# --- gradient checkpointing

def _patch_checkpoint(module: Any) -> None:
    """checkpoint() itself must stay the object that torch.compile knows: what it calls is watched."""
    import torch

    def called(self: Any, args: tuple, kwargs: dict) -> None:
        _tell_once("set_grad_checkpointing" if torch.is_grad_enabled()
                   else "set_checkpointing_in_eval")

    def recomputed(self: Any, args: tuple, kwargs: dict) -> None:
        _tell_once("set_grad_checkpointing")

    nothing = lambda token, self, result, error: None
    around(module, "_checkpoint_without_reentrant_generator", called, nothing,
           "torch.utils.checkpoint")
    function = getattr(module, "CheckpointFunction", None)
    if function is not None:
        around(function, "backward", recomputed, nothing, "torch.utils.checkpoint")
