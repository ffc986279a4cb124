"""Marking by hand what the core's functions do not do by themselves: loops, decorators, modules."""
from __future__ import annotations

import functools
import inspect as _inspect
from typing import Any, Callable, Iterable, Iterator, Optional, TypeVar, Union, overload

from . import _core
from ._core import Session

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


_at_end: "list[Callable[[str], None]]" = []
_last_run_dir = ""


def last_run_dir() -> str:
    """The run of the session that this program ended last; "" if there was none."""
    return _last_run_dir


def when_session_ends(then: Callable[[str], None]) -> None:
    """Calls `then(run_dir)` after the next session() of this module has closed its trace."""
    _at_end.append(then)


class _Session(Session):
    """A Session that tells who waits for its end. What they raise is printed, not raised."""

    def close(self) -> None:
        global _last_run_dir
        path = self.run_dir
        super().close()
        _last_run_dir = path or _last_run_dir
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
    """Opens a run, or joins the run of `genscope run`. It ends with its `with` block, or with close().

    Runs go to $GENSCOPE_OUT or ./genscope-runs. `tags` are kept with the run.
    Options: out, run_dir, buffer_bytes, max_trace_bytes, keep_newest, pack, os_clock, quiet, span,
    skip, probes, probe_interval_seconds, keep_args; see docs/python.md.

    >>> with gs.session("my-model", tags={"model": "toy"}):
    ...     with gs.stage("text_encoding"):
    ...         text = encode(prompt)
    """
    opened = _Session(name, **options)
    _tell_of_another_run(name, options, opened.run_dir)
    for key, value in (tags or {}).items():
        opened.arg(str(key), value)
    return opened


def _tell_of_another_run(name: str, options: "dict[str, Any]", run_dir: str) -> None:
    """A session inside of another, or of `genscope run`, is a span of that run."""
    import os
    import sys
    asked = options.get("run_dir")
    if asked and run_dir and not options.get("quiet") \
            and os.path.realpath(asked) != os.path.realpath(run_dir):
        print(f"genscope: session {name!r} is a part of the run that is open, {run_dir}; its run_dir "
              f"{asked} is not used", file=sys.stderr)


def configure(**facts: Any) -> None:
    """Tells the advice what the program is about to do; docs/rules.md lists the names.

    >>> gs.configure(steps=20, dtype="bf16", width=1024, height=1024)
    """
    if facts:
        _core.event("config", **facts)


def steps(iterable: Iterable[T], *, start: int = 0) -> Iterator[T]:
    """Marks each turn of a loop as a step. The time that the iterable itself takes is in no step.

    `break` and exceptions in the loop's body end the step.

    >>> for i in gs.steps(range(20)):
    ...     latent = denoise(latent, i)
    """
    try:
        items = iter(iterable)
    except TypeError:
        hint = f"; for {iterable} steps write gs.steps(range({iterable}))" \
            if isinstance(iterable, int) else ""
        raise TypeError(f"steps() takes what a loop goes over, not {type(iterable).__name__}"
                        f"{hint}") from None
    return _steps(items, start)


def _steps(items: Iterator[T], index: int) -> Iterator[T]:
    for item in items:
        with _core.step(index):
            yield item
        index += 1


@overload
def profile(function: F, *, name: Optional[str] = None, kind: str = "function") -> F: ...
@overload
def profile(function: Optional[str] = None, *, name: Optional[str] = None,
            kind: str = "function") -> Callable[[F], F]: ...


def profile(function: Union[Callable[..., Any], str, None] = None, *, name: Optional[str] = None,
            kind: str = "function") -> Any:
    """Marks each call of a function as a span. Goes above functions and coroutines.

    Generators and async generators are spans from their first item to their last, with the seconds
    in which they ran as `active_seconds`.

    >>> @gs.profile
    ... def tokenize(prompt):
    ...     return prompt.split()

    >>> @gs.profile(name="vae_decode", kind="stage")
    ... async def decode_later(latent):
    ...     return decode(latent)
    """
    _core.span("", kind)  # a ValueError for what is no kind, here rather than at the first call
    if isinstance(function, str):  # @gs.profile("name")
        return functools.partial(profile, name=function, kind=kind)
    if function is None:
        return functools.partial(profile, name=name, kind=kind)
    if not callable(function):
        raise TypeError(f"@profile goes above a function, and this is {type(function).__name__}")
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
    """Marks each call of a module or a function as a span, for some tens of nanoseconds.

    A torch module is changed in place and returned; a function is returned wrapped. Wrap what
    torch.compile returns, not what you give it: a compiler cannot look into our function.

    >>> fast_denoise = gs.wrap(denoise, "denoiser")
    >>> latent = fast_denoise(latent, 0)
    """
    forward = getattr(target, "forward", None)
    if callable(forward) and not isinstance(target, type):
        label = name or type(target).__name__
        target.forward = _core.wrap_call(forward, label, kind)  # type: ignore[attr-defined]
        return target
    if not callable(target):
        raise TypeError(f"wrap() takes a module or a function, not {type(target).__name__}")
    label = name or getattr(target, "__qualname__", None) or type(target).__name__
    return _core.wrap_call(target, label, kind)
