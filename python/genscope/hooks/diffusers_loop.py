"""One denoising loop: a stage with steps, counted from 0, and what was seen in them.

A step ends with the scheduler's step. Nothing is read from a tensor: where a timestep stands in the
schedule is told by its address, since pipelines go over views of the scheduler's own list.
"""
from __future__ import annotations

from typing import Any, NamedTuple, Optional

from .. import _core


class Interrupted(Exception):
    """Why a step has no end: the pipeline left its loop. Never raised."""


class NoSchedulerStep(Exception):
    """Why a step has no end: no scheduler of ours to see has told one. Never raised."""


class Place(NamedTuple):
    """Of a timestep in its scheduler's list."""
    index: int
    count: int


def place_of(scheduler: Any, timestep: Any) -> Optional[Place]:
    """None where the timestep is no view of the list."""
    times = getattr(scheduler, "timesteps", None)
    try:
        count = len(times)
        width = times.element_size() * times.stride(0)
        offset = timestep.data_ptr() - times.data_ptr()
    except (AttributeError, TypeError, RuntimeError, IndexError, NotImplementedError):
        return None
    if width <= 0 or offset % width or not 0 <= offset < count * width:
        return None
    return Place(offset // width, count)


def _shape(value: Any) -> "tuple[int, ...]":
    shape = getattr(value, "shape", None)
    return tuple(shape) if shape is not None else ()


def batch_of(value: Any) -> int:
    """Samples in a denoiser's input: the first dimension, or the length of a list of samples."""
    if isinstance(value, (list, tuple)):
        return len(value)
    shape = _shape(value)
    return shape[0] if shape else 0


def passes_of(samples: int, into: "tuple[int, ...]", sample: Any) -> Optional[int]:
    """How often a step ran the denoiser for each of its samples: `samples` inputs of shape `into` for the
    scheduler's `sample`. None for forms that do not fit."""
    out = _shape(sample)
    batch = out[0] if out else 0
    if len(into) == 5 and len(out) == 4:  # frames that the scheduler takes as a batch
        for frames, channels in ((into[2], into[1]), (into[1], into[2])):
            if frames and batch % frames == 0 and channels == out[1] and batch >= frames > 1:
                batch //= frames
                break
    if batch <= 0 or samples < batch or samples % batch:
        return None
    return samples // batch


class Loop:
    """It opens its stage at once; end() it."""

    __slots__ = ("stage", "step", "steps", "names", "samples", "shape", "forwards", "clock", "last",
                 "passes", "at_end", "counted", "hits", "tries", "hits_now", "skipped",
                 "batch", "moved")

    def __init__(self, inferred: bool = False) -> None:
        self.step: Any = None
        self.steps = 0
        self.names: "set[str]" = set()  # denoisers that ran in it
        self.samples = self.forwards = 0  # of this step
        self.shape: "tuple[int, ...]" = ()  # of its last input
        self.clock: Any = None            # the scheduler that ended the last step
        self.last: Any = None             # the timestep of which it did
        self.passes: "dict[int, int]" = {}  # passes -> steps
        self.at_end = False               # of the schedule
        self.batch = 0                    # samples that the scheduler was given
        self.counted: Any = None          # what the last passes were counted by
        self.hits = self.tries = 0        # forwards that a step cache answered, and those it could have
        self.hits_now = 0                 # of this step
        self.moved = 0                    # bytes that offloading brought
        self.skipped = 0                  # steps of which it answered all
        self.stage = _core.stage("denoise", inferred=True) if inferred else _core.stage("denoise")
        self.stage.__enter__()

    def open_step(self) -> None:
        if self.step is None:
            self.step = _core.step(self.steps)
            self.step.__enter__()

    def saw_forward(self, name: str, value: Any) -> None:
        self.names.add(name)
        self.forwards += 1
        self.samples += batch_of(value)
        self.shape = _shape(value)

    def saw_cache(self, hit: bool) -> None:
        self.tries += 1
        self.hits += hit
        self.hits_now += hit

    def counts(self, scheduler: Any, timestep: Any) -> bool:
        """Whether this step of a scheduler ends a step: not a second one for the same forward passes, of
        another scheduler that goes along or for the same timestep."""
        key = _key(timestep)
        again = self.steps > 0 and self.forwards == 0 \
            and (scheduler is not self.clock or key == self.last)
        if again:
            return False
        self.clock, self.last = scheduler, key
        return True

    def saw_sample(self, sample: Any) -> None:
        """What the scheduler is given with the denoiser's answer."""
        if self.forwards:
            passes = passes_of(self.samples, self.shape, sample)
            self.counted = (self.samples, self.shape, passes)
            if passes is not None:
                self.batch = self.samples // passes
                self.passes[passes] = self.passes.get(passes, 0) + 1

    def saw_sample_again(self, sample: Any) -> None:
        """Of a second call for the same step. Where the first was given the samples of all passes at once,
        this one has the samples alone."""
        if self.counted is None:
            return
        samples, shape, before = self.counted
        passes = passes_of(samples, shape, sample)
        if passes is None or passes == before or before is None:
            return
        self.batch = samples // passes
        self.passes[before] -= 1
        self.passes[passes] = self.passes.get(passes, 0) + 1
        self.counted = (samples, shape, passes)

    def end_step(self, error: Optional[BaseException]) -> bool:
        step, self.step = self.step, None
        if step is None:
            return False
        self.steps += 1
        if self.hits_now:
            self.skipped += self.hits_now == self.forwards
            step.arg("cached_forwards", self.hits_now)
        self.samples = self.forwards = self.hits_now = 0
        step.__exit__(type(error) if error is not None else None, error, None)
        return True

    def goes_on(self, pipeline: Any, scheduler: Any, place: Optional[Place]) -> Optional[bool]:
        """Whether a further step follows the one that ended; None if that is not known."""
        planned = getattr(pipeline, "_num_timesteps", None)
        if type(planned) is not int or planned < self.steps:
            planned = None  # of another loop, or of the call before
        if place is not None:
            self.at_end = place.index == place.count - 1
            if self.at_end:
                return False if planned in (None, self.steps) else None
            return None if planned == self.steps else True
        if planned is not None:
            return planned > self.steps
        at, times = getattr(scheduler, "step_index", None), getattr(scheduler, "timesteps", None)
        if type(at) is int and times is not None and at >= len(times):
            return False
        return None

    def end(self, error: Optional[BaseException]) -> None:
        step, self.step = self.step, None
        if step is not None:
            why = error or (Interrupted() if self.clock is not None else NoSchedulerStep())
            step.__exit__(type(why), why, None)
        if self.moved:
            self.stage.arg("offload_bytes", self.moved)
        self.stage.__exit__(type(error) if error is not None else None, error, None)

    def usual_passes(self, images: Optional[int]) -> Optional[int]:
        """Of most steps, for each of `images`: where the scheduler was given more samples than there came
        of it, they are passes as well (DiT's holds both halves of its guidance)."""
        if not self.passes:
            return None
        passes = max(self.passes, key=self.passes.__getitem__)
        more = self.batch > images > 0 and self.batch % images == 0 if images else False
        return passes * (self.batch // images) if images and more else passes


def _key(timestep: Any) -> Any:
    if type(timestep) in (int, float):
        return timestep
    try:
        return timestep.data_ptr()
    except (AttributeError, RuntimeError):
        return id(timestep)
