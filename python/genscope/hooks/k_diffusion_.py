"""k-diffusion's samplers: sample_euler(model, x, sigmas, ...) and all others of k_diffusion.sampling.

    stage denoise              the sampler; `sampler` is its name, `steps` the sigmas less one
      step 0, 1, ...           a turn of the sampler's own loop
        forward UNet           each call of the model: two in a step of second order

Samplers go over `trange`, a name of their module. Those that do not (DPM-Solver's, fast and adaptive) show their
steps by the callback that they make for each.
"""
from __future__ import annotations

import inspect
import threading
from types import ModuleType
from typing import Any, Callable, Iterator, Optional

from .. import _core
from .._imports import when_imported
from ._patch import wrap
from ._report import done, problem


def install() -> None:
    when_imported("k_diffusion.sampling", _patch,
                  lambda name, error: problem("k_diffusion", repr(error)))


class Sampling:
    """A sampler that runs: its stage and the step that is open."""

    def __init__(self, name: str, steps: Optional[int]) -> None:
        self.outer = _here.sampling
        self.stage = _core.begin("denoise", "stage", sampler=name, steps=steps)
        self.step = 0
        self.index = 0
        self.ranged = False  # its loop shows where steps begin
        _here.sampling = self

    def next_step(self) -> None:
        _core.end(self.step)
        self.step = _core.begin("step", "step", index=self.index)
        self.index += 1

    def end_step(self, failed: bool = False) -> None:
        _core.end(self.step, failed)
        self.step = 0

    def end(self, failed: bool) -> None:
        _here.sampling = self.outer
        if self.step:
            self.end_step(failed)
        _core.end(self.stage, failed)


class _Here(threading.local):
    sampling: Optional[Sampling] = None


_here = _Here()


class _Model:
    """The model as it is, with a span around each call."""

    def __init__(self, model: Any) -> None:
        self.__dict__["_model"] = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_model"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_model"], name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        model, sampling = self.__dict__["_model"], _here.sampling
        if sampling is not None and not sampling.ranged and not sampling.step:
            sampling.next_step()
        shape = getattr(args[0], "shape", None) if args else None
        with _core.forward(_name_of(model), shape="x".join(map(str, shape)) if shape is not None else None):
            return model(*args, **kwargs)


def _name_of(model: Any) -> str:
    """Of the network inside of the wrappers: k-diffusion's denoisers keep theirs in inner_model."""
    for _ in range(4):
        inner = getattr(model, "inner_model", None)
        if inner is None:
            break
        model = inner
    return str(getattr(model, "__name__", None) or type(model).__name__)


def _patch(module: ModuleType) -> None:
    wrap(module, "trange", _watched_range, "k_diffusion")
    for name, function in list(vars(module).items()):
        if name.startswith("sample_") and inspect.isfunction(function):
            names = list(inspect.signature(function).parameters)
            if names[:2] == ["model", "x"]:
                wrap(module, name, _sampler(names), "k_diffusion")
    done("k_diffusion")


def _sampler(names: "list[str]") -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        label = original.__name__.removeprefix("sample_")

        def sample(model, *args, **kwargs):
            if not _core.enabled() or isinstance(model, _Model):  # one that calls another
                return original(model, *args, **kwargs)
            said = {**dict(zip(names[1:], args)), **kwargs}
            sampling = Sampling(label, _steps_of(said))
            failed = True
            try:
                if "callback" in names:
                    args, kwargs = _with_callback(names, args, kwargs, sampling)
                result = original(_Model(model), *args, **kwargs)
                failed = False
                return result
            finally:
                sampling.end(failed)
        return sample
    return make


def _steps_of(said: "dict[str, Any]") -> Optional[int]:
    try:
        return len(said["sigmas"]) - 1
    except (KeyError, TypeError):
        return None  # the sampler chooses


def _with_callback(names: "list[str]", args: tuple, kwargs: dict, sampling: Sampling) -> "tuple[tuple, dict]":
    at = names.index("callback") - 1
    theirs = args[at] if len(args) > at else kwargs.get("callback")

    def callback(*inner: Any, **more: Any) -> Any:
        if not sampling.ranged:
            sampling.end_step()
        return theirs(*inner, **more) if theirs is not None else None
    if len(args) > at:
        return (*args[:at], callback, *args[at + 1:]), kwargs
    return args, {**kwargs, "callback": callback}


def _watched_range(original: Any) -> Any:
    def trange(*args, **kwargs):
        turns = original(*args, **kwargs)
        sampling = _here.sampling
        return turns if sampling is None or sampling.ranged else _turns(turns, sampling)
    return trange


def _turns(turns: Any, sampling: Sampling) -> Iterator[Any]:
    sampling.ranged = True
    for turn in turns:
        sampling.next_step()
        yield turn
        sampling.end_step()
