"""Marking by hand what the core's functions do not do by themselves: loops, decorators, modules."""
from __future__ import annotations

import functools
import inspect as _inspect
from typing import Any, Callable, Iterable, Iterator, Optional, TypeVar

from . import _core
from ._core import Session

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


_at_end: "list[Callable[[str], None]]" = []


def when_session_ends(then: Callable[[str], None]) -> None:
    """Calls `then(run_dir)` after the next session() of this module has closed its trace."""
    _at_end.append(then)


class _Session(Session):
    """A Session that tells who waits for its end. What they raise is printed, not raised."""

    def close(self) -> None:
        path = self.run_dir
        super().close()
        waiting, _at_end[:] = list(_at_end), []
        for then in waiting if path else ():
            try:
                then(path)
            except Exception as error:
                import sys
                print(f"genscope: {error}", file=sys.stderr)

    def __exit__(self, type: Any, value: Any, trace: Any, /) -> None:
        if type is not None:
            self.arg("error", type.__name__)
        self.close()


def session(name: str, *, tags: Optional[dict] = None, **options: Any) -> Session:
    """Opens a run, or joins that of `genscope run`; ends with its `with` block, or with close().

    Options: out, run_dir, buffer_bytes, max_trace_bytes, keep_newest, pack, os_clock, quiet, span,
    skip, probes, probe_interval_seconds, keep_args; see docs/python.md.
    """
    opened = _Session(name, **options)
    for key, value in (tags or {}).items():
        opened.arg(str(key), value)
    return opened


def configure(**facts: Any) -> None:
    """Tells what the program is about to do, for the advice: configure(steps=20, dtype="bf16")."""
    if facts:
        _core.event("config", **facts)


def steps(iterable: Iterable[T], *, start: int = 0) -> Iterator[T]:
    """Each turn of the loop as a step: from when its item was taken to when the next is asked for.

    The time that the iterable itself takes is in no step. A `break` ends the step, an exception in
    the loop's body ends it as well.
    """
    index = start
    for item in iterable:
        with _core.step(index):
            yield item
        index += 1


def profile(function: Optional[F] = None, *, name: Optional[str] = None,
            kind: str = "function") -> Any:
    """Decorator: each call is a span. Coroutines, generators and async generators are spans from
    their first step to their last, with the seconds in which they ran as `active_seconds`.

        @gs.profile
        def encode(prompt): ...

        @gs.profile(name="vae_decode", kind="stage")
        async def decode(latents): ...
    """
    if isinstance(function, str):  # @gs.profile("name")
        return functools.partial(profile, name=function, kind=kind)
    if function is None:
        return functools.partial(profile, name=name, kind=kind)
    label = name or getattr(function, "__qualname__", None) or repr(function)
    if _inspect.isasyncgenfunction(function):
        from ._generators import wrap_async_generator
        return wrap_async_generator(function, label, kind)
    if _inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with _core.span(label, kind):
                return await function(*args, **kwargs)
        return coroutine
    if _inspect.isgeneratorfunction(function):
        from ._generators import wrap_generator
        return wrap_generator(function, label, kind)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _core.span(label, kind):
            return function(*args, **kwargs)
    return call


def wrap(target: T, name: Optional[str] = None, *, kind: str = "forward") -> T:
    """Each call of a module's forward (or of a function) as a span, for some tens of nanoseconds.

    A torch module is changed in place and returned; wrap what torch.compile gives, not what it is
    given: a compiler cannot look into a foreign function. Anything else that can be called is
    returned wrapped.
    """
    forward = getattr(target, "forward", None)
    if callable(forward) and not isinstance(target, type):
        label = name or type(target).__name__
        target.forward = _core.wrap_call(forward, label, kind)  # type: ignore[attr-defined]
        return target
    label = name or getattr(target, "__qualname__", None) or type(target).__name__
    return _core.wrap_call(target, label, kind)
