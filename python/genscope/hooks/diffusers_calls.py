"""Pipeline calls that are under way, and their spans.

    request FluxPipeline
      stage text_encode
      stage denoise              from the first call of the denoiser to the end of the last step
        step 0                   from the end of the step before to the end of scheduler.step
          forward transformer
          function scheduler.step
      stage vae_decode
      stage post

A call belongs to a thread: a pipeline does not yield. A pipeline that calls another one is one
request; the other is a stage of it.
"""
from __future__ import annotations

import threading
from typing import Any, Optional

from .. import _core
from .._request import kind_of_generation
from . import diffusers_own as own
from .diffusers_loop import Loop, Place
from .torch_compile import Mark, mark


class _Local(threading.local):
    def __init__(self) -> None:
        self.calls: "list[Call]" = []
        self.stages: "list[str]" = []  # open stages of ours, the innermost last
        self.open: "list[Stage]" = []  # the same


_local = _Local()


def current() -> "Optional[Call]":
    calls = _local.calls
    return calls[-1] if calls else None


def _leave(span: Any, error: Optional[BaseException]) -> None:
    span.__exit__(type(error) if error is not None else None, error, None)


class Call:
    """One call of a pipeline, with the denoising loops that it runs one after the other."""

    def __init__(self, pipeline: Any, names: "dict[int, str]", said: "dict[str, Any]",
                 **args: Any) -> None:
        self.pipeline = pipeline
        self.names = names  # id of a denoiser -> name of the component
        self.said = said    # the call's arguments by name
        self.outer = current()
        self.caches: "dict[int, Any]" = {}  # id of a denoiser -> what its step cache keeps
        self.blocks: Any = None             # counts those that run in the forward that is open
        self.pass_name: Optional[str] = None
        self.in_forward = False
        self.in_controlnet = False
        self.loop: Optional[Loop] = None
        self.ended: "list[Loop]" = []
        self.scheduled = False  # since the last loop ended
        self.calls_others = False  # is made of other pipelines
        self.moved = 0          # bytes that offloading brought
        self.attention: Any = None  # watches the first forward, where the set-up is new
        own.ended()
        self.compiled: "list[Mark]" = [mark()]  # at the begin, and after the first step
        kind = kind_of_generation() if self.outer is None else "stage"
        self.span = _core.span(type(pipeline).__name__, kind, **args)
        self.span.__enter__()
        _local.calls.append(self)

    # --- denoising

    def at_forward(self, name: str, value: Any) -> None:
        """The denoiser `name` is about to be called with `value`, its first input."""
        loop = self.last_loop()
        if loop is not None and loop.step is None and loop.at_end:
            if name in loop.names:
                return  # after the last timestep: it fills a cache for the next part of a video, and is no step
            self.end_loop(None)
        self.at_work().saw_forward(name, value)

    def at_work(self) -> Loop:
        """The denoiser or the scheduler is about to be called."""
        loop = self.loop
        if loop is None:
            loop = self.loop = Loop()
        loop.open_step()
        return loop

    def at_schedule(self) -> None:
        """A scheduler is told its timesteps: what comes is another loop."""
        if self.loop is not None and self.loop.steps > 0 and not self.in_forward:
            self.end_loop(None)
        self.scheduled = True

    def last_loop(self) -> Optional[Loop]:
        """That which a step of a scheduler may still belong to."""
        if self.loop is not None:
            return self.loop
        return self.ended[-1] if self.ended and not self.scheduled else None

    def step_done(self, scheduler: Any, place: Optional[Place],
                  error: Optional[BaseException]) -> None:
        loop = self.loop
        if loop is None or not loop.end_step(error):
            return
        if len(self.compiled) == 1:
            self.compiled.append(mark())
        if error is not None:
            return
        goes_on = loop.goes_on(self.pipeline, scheduler, place)
        if goes_on:
            loop.open_step()
        elif goes_on is False:
            self.end_loop(None)

    def end_loop(self, error: Optional[BaseException]) -> None:
        loop, self.loop = self.loop, None
        if loop is not None:
            loop.end(error)
            self.ended.append(loop)
            self.scheduled = False

    def at_other_stage(self) -> None:
        """Another stage ends a loop whose length is not known. Within a step, and so in a loop that is
        known to go on, it is a preview."""
        if self.loop is not None and self.loop.step is None:
            self.end_loop(None)

    def close(self, error: Optional[BaseException]) -> None:
        calls = _local.calls
        if self in calls:
            del calls[calls.index(self):]
        self.end_loop(error)
        if self.outer is not None:  # whose parts these loops are
            self.outer.ended.extend(self.ended)
            self.outer.calls_others = True

    def leave(self, error: Optional[BaseException], **args: Any) -> None:
        """After close(): the end of the request, with what it turned out to be."""
        if self.moved:
            args = {**args, "offload_bytes": self.moved}
            if self.outer is not None:
                self.outer.moved += self.moved
        for key, value in args.items():
            if value is not None:
                self.span.arg(key, value)
        _leave(self.span, error)


# --- stages

class Stage:
    """A stage of ours that is open."""

    def __init__(self, name: str, **args: Any) -> None:
        self.span = _core.stage(name, **args)
        self.span.__enter__()
        self.moved = 0
        _local.stages.append(name)
        _local.open.append(self)

    def close(self, error: Optional[BaseException]) -> None:
        if _local.stages:
            _local.stages.pop()
            _local.open.pop()
        if self.moved:
            self.span.arg("offload_bytes", self.moved)
        _leave(self.span, error)


def saw_traffic(moved: int) -> None:
    """Bytes of weights that were brought to where they are used: of the stage that is open, and of the call."""
    call = current()
    loop = call.loop if call is not None else None
    if call is not None:
        call.moved += moved
    if loop is not None and loop.step is not None:
        loop.moved += moved
    elif _local.open:
        _local.open[-1].moved += moved


def open_stage(name: str, alone: bool = False, **args: Any) -> Optional[Stage]:
    """None inside of the same stage: a method that calls itself, or its base's. `alone`: inside of any
    other, too."""
    if name in _local.stages or (alone and _local.stages):
        return None
    call = current()
    if call is not None:
        if alone and call.in_forward:
            return None
        call.at_other_stage()
    else:
        own.ended()
    return Stage(name, **args)


def close_stage(stage: Stage, _self: Any, _result: Any, error: Optional[BaseException]) -> None:
    stage.close(error)
