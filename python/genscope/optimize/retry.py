"""Calls to what may fail: retries, breakers, hedged calls. For functions and for coroutines.

    from genscope import optimize

    @optimize.retry(attempts=3, timeout=10)
    def fetch(url): ...

    upscaler = optimize.Breaker(name="upscaler")
    image = upscaler.call(upscale, image)        # raises BreakerOpen while it is down

The decisions are the C++ core's (docs/optimize-flow.md); waiting is done here, without the GIL.
"""
from __future__ import annotations

import asyncio
import functools
import inspect
import queue
import random
import threading
import time
from typing import Any, Callable, Optional, Sequence

from .. import _core
from .._core import RetryBudget

KINDS = ("transient", "timeout", "throttled", "lost_worker", "out_of_memory", "validation", "cancelled",
         "nan_output", "deterministic", "rejected")


class Failed(Exception):
    """Raise it to say what kind of failure it is; `kind` is one of KINDS."""

    def __init__(self, kind: str, message: str = "", retry_after: Optional[float] = None) -> None:
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no kind of failure; it is one of {', '.join(KINDS)}")
        super().__init__(message or kind)
        self.kind = kind
        self.retry_after = retry_after


class BreakerOpen(Failed):
    """The breaker refused the call; try again after `retry_after` seconds."""

    def __init__(self, name: str, retry_after: float) -> None:
        super().__init__("rejected", f"{name} is open; it lets calls through in {retry_after:.1f} s", retry_after)


def _status(error: BaseException) -> tuple[Optional[int], Optional[float]]:
    """HTTP status and Retry-After of an error of requests, httpx, aiohttp or urllib."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None) or getattr(error, "status", None) or getattr(error, "code", None)
    headers = getattr(response, "headers", None) or getattr(error, "headers", None)
    after = None
    try:
        after = float(headers["Retry-After"])  # type: ignore[index]
    except (KeyError, TypeError, ValueError):
        pass
    return (status if isinstance(status, int) and 100 <= status < 600 else None), after


def classify(error: BaseException) -> tuple[str, Optional[float]]:
    """The kind of a failure, and what the server asked to wait. What is not known is deterministic: it is
    not tried again."""
    if isinstance(error, Failed):
        return error.kind, error.retry_after
    if isinstance(error, (asyncio.CancelledError, KeyboardInterrupt)):
        return "cancelled", None
    if isinstance(error, MemoryError) or any(c.__name__ == "OutOfMemoryError" for c in type(error).__mro__):
        return "out_of_memory", None
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return "timeout", None
    status, after = _status(error)
    if status in (429, 503):
        return "throttled", after
    if status is not None and status >= 400:
        return ("transient" if status >= 500 or status == 408 else "validation"), after
    if isinstance(error, (FileNotFoundError, PermissionError, FileExistsError, IsADirectoryError, NotADirectoryError)):
        return "deterministic", None
    if isinstance(error, (EOFError, OSError)):
        return "transient", None
    if isinstance(error, (ValueError, TypeError, KeyError, AssertionError)):
        return "validation", None
    return "deterministic", None


Classify = Callable[[BaseException], "tuple[str, Optional[float]]"]


class _Retried:
    """One wrapped function's way to decide."""

    def __init__(self, policy: dict[str, Any], timeout: Optional[float], budget: Any, judge: Classify,
                 evict: Optional[Callable[[], object]]) -> None:
        self.policy, self.timeout, self.budget, self.judge, self.evict = policy, timeout, budget, judge, evict

    def begin(self) -> "_Attempts":
        return _Attempts(self, _core.RetryRun(**self.policy, timeout=self.timeout, budget=self.budget))

    def wait_after(self, run: _core.RetryRun, error: Exception) -> Optional[float]:
        """Seconds before the next attempt; None: there is none."""
        kind, after = self.judge(error)
        if kind == "out_of_memory" and self.evict is None:
            kind = "deterministic"
        again, wait, evict_first, why = run.failed(kind, after, random.random())
        if not again:
            if hasattr(error, "add_note") and (run.attempt > 1 or why in ("budget", "deadline")):
                error.add_note(f"genscope: given up after attempt {run.attempt} ({why})")
            return None
        if evict_first and self.evict is not None:
            self.evict()
        return wait


class _Attempts:
    """`with` around each attempt of a call: a failure passes through, or is kept back and `wait` seconds are due."""

    def __init__(self, state: _Retried, run: _core.RetryRun) -> None:
        self._state, self._run = state, run
        self.wait = 0.0

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: Any, error: Optional[BaseException], _trace: Any) -> bool:
        if error is None:
            self._run.succeeded()
            return False
        if not isinstance(error, Exception):
            return False
        wait = self._state.wait_after(self._run, error)
        if wait is None:
            return False
        self.wait = wait
        return True


def retry(fn: Optional[Callable[..., Any]] = None, *, attempts: int = 3, base: float = 0.1, cap: float = 20.0,
          timeout: Optional[float] = None, attempt_timeout: Optional[float] = None,
          budget: Optional[RetryBudget] = None, classify: Classify = classify,
          evict: Optional[Callable[[], object]] = None, name: str = "retry") -> Any:
    """A function, or coroutine function, that is called again where that can help.

    `attempts` counts the first one; at most 5. Waits are random up to base * 2^n, at most `cap` seconds, and
    never reach past `timeout` seconds from the call. `budget` is shared by all that call one dependency; without
    one the function gets its own. `evict` is called before the one retry after running out of memory; without it
    there is none. `attempt_timeout` ends an attempt of a coroutine; a plain function cannot be ended.
    What is raised in the end is the last attempt's own exception.
    """
    if fn is None:
        return functools.partial(retry, attempts=attempts, base=base, cap=cap, timeout=timeout,
                                 attempt_timeout=attempt_timeout, budget=budget, classify=classify, evict=evict,
                                 name=name)
    if not 1 <= attempts <= 5:
        raise ValueError(f"attempts is from 1 to 5, not {attempts}")
    state = _Retried({"name": name, "attempts": attempts, "base": base, "cap": cap}, timeout,
                     budget if budget is not None else RetryBudget(), classify, evict)
    if inspect.iscoroutinefunction(fn):
        @functools.wraps(fn)
        async def in_loop(*args: Any, **kwargs: Any) -> Any:
            attempt = state.begin()
            while True:
                with attempt:
                    return await asyncio.wait_for(fn(*args, **kwargs), attempt_timeout)
                await asyncio.sleep(attempt.wait)
        return in_loop
    if attempt_timeout is not None:
        raise ValueError("attempt_timeout is for coroutine functions; a plain function cannot be ended from outside")

    @functools.wraps(fn)
    def in_thread(*args: Any, **kwargs: Any) -> Any:
        attempt = state.begin()
        while True:
            with attempt:
                return fn(*args, **kwargs)
            time.sleep(attempt.wait)
    return in_thread


class Breaker(_core.Breaker):
    """Stops calls to a dependency that fails. Opens when half of the last 100 calls (at least 20) failed or
    were slow, lets 5 probes through after 5 s, and doubles that up to 60 s while they fail.

    Failures are those that the dependency is to blame for (see `classify`): a ValueError of one's own is none.
    """

    name = "breaker"

    def __new__(cls, *, name: str = "breaker", **options: Any) -> "Breaker":
        made = super().__new__(cls, name=name, **options)
        made.name = name
        return made

    def _begin(self) -> tuple[int, float]:
        passed = self.ask()
        if passed is None:
            raise BreakerOpen(self.name, self.retry_after)
        return passed, time.perf_counter()

    def _end(self, passed: int, began: float, error: Optional[BaseException]) -> None:
        ok = error is None or classify(error)[0] not in ("transient", "timeout", "throttled", "lost_worker")
        self.tell(passed, ok, time.perf_counter() - began)

    def call(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """fn(...), or BreakerOpen."""
        passed, began = self._begin()
        try:
            result = fn(*args, **kwargs)
        except BaseException as error:
            self._end(passed, began, error)
            raise
        self._end(passed, began, None)
        return result

    async def acall(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """await fn(...), or BreakerOpen."""
        passed, began = self._begin()
        try:
            result = await fn(*args, **kwargs)
        except BaseException as error:
            self._end(passed, began, error)
            raise
        self._end(passed, began, None)
        return result

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """As a decorator."""
        if inspect.iscoroutinefunction(fn):
            return functools.wraps(fn)(functools.partial(self.acall, fn))
        return functools.wraps(fn)(functools.partial(self.call, fn))


def hedge(fn: Optional[Callable[..., Any]] = None, *, devices: Sequence[Any], quantile: float = 0.95,
          extra_ratio: float = 0.05, name: str = "hedge") -> Any:
    """A function whose slow calls are started a second time, on another device; the first answer is taken.

    `fn(device, ...)` is called with each device in turn. The copy starts when the call took longer than
    `quantile` of those before; copies are at most `extra_ratio` of all calls. A coroutine that lost is cancelled;
    a thread that lost runs to its end, and its answer is dropped. For short calls that may run twice.
    """
    if fn is None:
        return functools.partial(hedge, devices=devices, quantile=quantile, extra_ratio=extra_ratio, name=name)
    places = list(devices)
    if not places:
        raise ValueError("hedge needs at least one device")
    core = _core.Hedge(name=name, quantile=quantile, extra_ratio=extra_ratio)
    turn = iter(range(0))
    lock = threading.Lock()

    def next_device() -> int:
        nonlocal turn
        with lock:
            at = next(turn, None)
            if at is None:
                turn = iter(range(len(places)))
                at = next(turn)
            return at

    if inspect.iscoroutinefunction(fn):
        @functools.wraps(fn)
        async def in_loop(*args: Any, **kwargs: Any) -> Any:
            first, after, began = next_device(), core.begin(), time.perf_counter()
            tasks = {asyncio.ensure_future(fn(places[first], *args, **kwargs))}
            try:
                done, _ = await asyncio.wait(tasks, timeout=after)
                other = core.copy(len(places), first) if not done else None
                if other is not None:
                    tasks.add(asyncio.ensure_future(fn(places[other], *args, **kwargs)))
                error: Optional[BaseException] = None
                waiting = set(tasks)
                while waiting:
                    done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        error = task.exception()
                        if error is None:
                            core.finished(time.perf_counter() - began)
                            return task.result()
                raise error  # type: ignore[misc]
            finally:
                for task in tasks:
                    task.cancel()
        in_loop.hedge = core  # type: ignore[attr-defined]
        return in_loop

    @functools.wraps(fn)
    def in_threads(*args: Any, **kwargs: Any) -> Any:
        first, after, began = next_device(), core.begin(), time.perf_counter()
        if after is None or len(places) < 2:
            result = fn(places[first], *args, **kwargs)
            core.finished(time.perf_counter() - began)
            return result
        answers: queue.SimpleQueue[tuple[Any, Optional[BaseException]]] = queue.SimpleQueue()

        def run(device: int) -> None:
            try:
                answers.put((fn(places[device], *args, **kwargs), None))
            except BaseException as error:
                answers.put((None, error))

        def start(device: int) -> None:
            threading.Thread(target=run, args=(device,), name=f"hedge {places[device]}", daemon=True).start()

        start(first)
        running = 1
        got: Optional[tuple[Any, Optional[BaseException]]] = None
        try:
            got = answers.get(timeout=after)
        except queue.Empty:
            other = core.copy(len(places), first)
            if other is not None:
                start(other)
                running += 1
        while True:
            result, error = got if got is not None else answers.get()
            running -= 1
            if error is None:
                core.finished(time.perf_counter() - began)
                return result
            if running == 0:
                raise error
            got = None
    in_threads.hedge = core  # type: ignore[attr-defined]
    return in_threads
