"""Loops of a program's own: `for t in scheduler.timesteps`, with a model of diffusers in it.

Outside of a pipeline call, a scheduler that is told its timesteps announces a loop. The next call of
a model, or the scheduler's step, opens it. A step is from the first call of a model to the end of the
scheduler's step. That it is such a loop is inferred, and the report says so.

Schedulers and models are seen when they are made: each registers its configuration.
"""
from __future__ import annotations

import atexit
import functools
import threading
import weakref
from typing import Any, Optional

from .. import _core
from ._patch import around
from ._report import done
from .diffusers_loop import Loop

_NO_DENOISERS = ("Autoencoder", "ControlNet", "Adapter", "VQModel", "Vocoder", "Connector")


class OwnLoop:
    """Announced by set_timesteps(); as a Call to those that watch models and schedulers."""

    def __init__(self, scheduler: Any) -> None:
        self.scheduler = weakref.ref(scheduler)
        self.loop: Optional[Loop] = None
        self.in_forward = False
        self.caches: "dict[int, Any]" = {}
        self.blocks: Any = None
        self.attention: Any = None

    def at_work(self) -> Loop:
        if self.loop is None:
            _end_at_the_end()
            self.loop = Loop(inferred=True)
            done(f"a loop over {type(self.scheduler()).__name__}.timesteps (inferred)")
        self.loop.open_step()
        return self.loop

    def end(self) -> None:
        loop, self.loop = self.loop, None
        if loop is not None:
            loop.end(None)


class _Local(threading.local):
    own: Optional[OwnLoop] = None


_local = _Local()


def announced(scheduler: Any) -> None:
    """set_timesteps() outside of any pipeline."""
    ended()
    _local.own = OwnLoop(scheduler)


def ended() -> None:
    """Something begins that is no part of the loop: a decoding, a pipeline, another loop."""
    own = _local.own
    if own is not None and (own.loop is None or own.loop.step is None):
        own.end()
        _local.own = None


@functools.cache
def _end_at_the_end() -> None:
    _core.at_close(ended)
    atexit.register(ended)


def step_of(scheduler: Any, timestep: Any, sample: Any) -> "Optional[OwnLoop]":
    """The loop that this step of a scheduler ends a step of."""
    own = _local.own
    if own is None or own.scheduler() is not scheduler:
        return None
    if own.loop is not None and not own.loop.counts(scheduler, timestep):
        return None
    fresh = own.loop is None
    loop = own.at_work()
    if fresh:
        loop.counts(scheduler, timestep)
    loop.saw_sample(sample)
    return own


def step_done(own: OwnLoop, scheduler: Any, place: Any, error: Optional[BaseException]) -> None:
    loop = own.loop
    if loop is None or not loop.end_step(error) or error is not None:
        return
    if loop.goes_on(None, scheduler, place) is False:
        own.end()
        _local.own = None


# --- models

def watch_models(module: Any) -> None:
    """Of diffusers.configuration_utils: what is made from now on is seen."""
    around(module.ConfigMixin, "register_to_config", _registers, _nothing, "diffusers.ConfigMixin")


def _nothing(token: Any, _self: Any, _result: Any, _error: Optional[BaseException]) -> None:
    return None


_seen: "set[type]" = set()


def _registers(self: Any, args: tuple, kwargs: dict) -> None:
    kind = type(self)
    if kind in _seen:
        return
    _seen.add(kind)
    bases = {base.__name__ for base in kind.__mro__}
    if "SchedulerMixin" in bases:
        from .diffusers_components import wrap_scheduler
        wrap_scheduler(kind)
    elif "ModelMixin" in bases and not any(word in kind.__name__ for word in _NO_DENOISERS):
        from .diffusers_components import wrap_denoiser
        wrap_denoiser(kind)


def forward_of(model: Any, value: Any) -> "Optional[OwnLoop]":
    """The loop that this call of a model belongs to."""
    own = _local.own
    if own is None or own.in_forward:
        return None
    name = type(model).__name__
    if any(word in name for word in _NO_DENOISERS):
        return None
    own.at_work().saw_forward(name, value)
    return own


__all__ = ["OwnLoop", "announced", "ended", "forward_of", "step_done", "step_of", "watch_models"]
