"""Pipeline calls that are under way, and their spans.

    request FluxPipeline
      stage text_encode
      stage denoise              from the first call of the denoiser to the end of the last step
        step 0                   from the end of the step before to the end of scheduler.step
          forward transformer
          function scheduler.step
      stage vae_decode
      stage post

A call belongs to a thread: a pipeline does not yield. A pipeline that calls another one nests.
"""
from __future__ import annotations

import threading
from typing import Any, Optional

from .. import _core
from .._request import kind_of_generation
from .torch_ import graphs_compiled


class _Local(threading.local):
    def __init__(self) -> None:
        self.calls: "list[Call]" = []
        self.stages: "list[str]" = []  # open stages of ours, the innermost last


_local = _Local()


def current() -> "Optional[Call]":
    calls = _local.calls
    return calls[-1] if calls else None


def _leave(span: Any, error: Optional[BaseException]) -> None:
    span.__exit__(type(error) if error is not None else None, error, None)


class Interrupted(Exception):
    """Why a step has no end: the pipeline left its loop. Never raised."""


class NoSchedulerStep(Exception):
    """Why a step has no end: no scheduler of ours to see has told one. Never raised."""


class Call:
    """One call of a pipeline. Steps are counted from 0, over all loops of the call."""

    def __init__(self, pipeline: Any, names: "dict[int, str]", **args: Any) -> None:
        self.pipeline = pipeline
        self.names = names  # id of a denoiser -> name of the component
        self.pass_name: Optional[str] = None
        self.in_forward = False
        self.in_controlnet = False
        self.denoise: Any = None
        self.step: Any = None
        self.steps = 0
        self.loop_steps = 0
        self.clock: Any = None  # the scheduler whose steps are the steps
        self.expected: Optional[int] = None
        self.graphs = [graphs_compiled()]  # at the begin, and after the first step
        self.span = _core.span(type(pipeline).__name__, kind_of_generation(), **args)
        self.span.__enter__()
        _local.calls.append(self)

    # --- denoising

    def at_work(self) -> None:
        """The denoiser or the scheduler is about to be called."""
        if self.denoise is None:
            self.loop_steps = 0
            self.denoise = _core.stage("denoise")
            self.denoise.__enter__()
        if self.step is None:
            self._open_step()

    def _open_step(self) -> None:
        self.step = _core.step(self.steps)
        self.step.__enter__()

    def is_clock(self, scheduler: Any) -> bool:
        """One scheduler tells the steps of a loop; others may step along with it."""
        if self.clock is None or (self.clock is not scheduler and self.denoise is None):
            self.clock = scheduler
        return self.clock is scheduler

    def step_done(self, error: Optional[BaseException]) -> None:
        if self.step is None:
            return
        _leave(self.step, error)
        self.step = None
        self.steps += 1
        self.loop_steps += 1
        if self.steps == 1:
            self.graphs.append(graphs_compiled())
        if error is not None:
            return
        self.expected = _planned_steps(self.pipeline, self.clock, self.loop_steps)
        if self.expected is None:
            return  # the next one begins when the denoiser is called
        if self.loop_steps >= self.expected:
            self.end_denoise(None)
        else:
            self._open_step()

    def end_denoise(self, error: Optional[BaseException]) -> None:
        if self.step is not None:
            _leave(self.step, error or (Interrupted() if self.clock is not None else NoSchedulerStep()))
            self.step = None
        if self.denoise is not None:
            _leave(self.denoise, error)
            self.denoise = None
        self.expected = None

    def at_other_stage(self) -> None:
        """Decoding and what follows it end a loop whose length is not known. Within a step, and so in a
        loop that is known to go on, it is a preview."""
        if self.step is None and self.denoise is not None and self.expected is None:
            self.end_denoise(None)

    def close(self, error: Optional[BaseException]) -> None:
        calls = _local.calls
        if self in calls:
            del calls[calls.index(self):]
        self.end_denoise(error)
        _leave(self.span, error)


def _planned_steps(pipeline: Any, scheduler: Any, done: int) -> Optional[int]:
    """Steps of this loop: as the pipeline says, else `done` where the scheduler is at its end."""
    planned = getattr(pipeline, "_num_timesteps", None)
    if type(planned) is int and planned >= done:
        return planned
    at, times = getattr(scheduler, "step_index", None), getattr(scheduler, "timesteps", None)
    if type(at) is int and times is not None and at >= len(times):
        return done
    return None


# --- stages

class Stage:
    """A stage of ours that is open."""

    def __init__(self, name: str, **args: Any) -> None:
        self.span = _core.stage(name, **args)
        self.span.__enter__()
        _local.stages.append(name)

    def close(self, error: Optional[BaseException]) -> None:
        if _local.stages:
            _local.stages.pop()
        _leave(self.span, error)


def open_stage(name: str, ends_denoise: bool = False, **args: Any) -> Optional[Stage]:
    """None inside of the same stage: a method that calls itself, or its base's."""
    if name in _local.stages:
        return None
    call = current()
    if call is not None and ends_denoise:
        call.at_other_stage()
    return Stage(name, **args)


def close_stage(stage: Stage, _self: Any, _result: Any, error: Optional[BaseException]) -> None:
    stage.close(error)
