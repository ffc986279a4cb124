"""The document's functions. Those that run something are over genscope.optimize."""
from __future__ import annotations

import inspect
import time
from typing import Any, Callable, Iterable, List, Optional, Tuple

from ... import _core, optimize
from ...optimize.retry import classify, retry

_MOST_ATTEMPTS = 5
_LONGEST_WAIT = 60.0  # seconds

def calculate_memory_usage(tensor: Any) -> int:
    """Bytes of its elements. A view counts as what it shows, not as what it keeps alive."""
    return int(tensor.element_size() * tensor.nelement())


def get_optimal_batch_size(available_memory: int, model_memory: int, *,
                           item_memory: Optional[int] = None) -> int:
    """How many items fit. With `item_memory`, what one more item takes: weights once, then items.
    Without it, the document's rule of thumb, which counts weights twice for each item; measure instead
    with genscope.optimize.optimal_batch."""
    if model_memory <= 0 or (item_memory is not None and item_memory <= 0):
        raise ValueError(f"memory must be above 0 bytes; got {model_memory}, {item_memory}")
    if item_memory is not None:
        return max(1, int((available_memory - model_memory) // item_memory))
    return max(1, int(available_memory // (model_memory * 2)))


async def measure_execution_time(coro: Callable[..., Any], *args: Any, **kwargs: Any) -> "Tuple[Any, float]":
    """(its result, seconds). A span of the run, too."""
    began = time.perf_counter()
    with _core.span(getattr(coro, "__qualname__", type(coro).__name__), "task"):
        result = coro(*args, **kwargs)
        if inspect.isawaitable(result):
            result = await result
    return result, time.perf_counter() - began


async def retry_operation(coro: Callable[..., Any], max_retries: int = 3, delay: float = 1.0, *args: Any,
                          **kwargs: Any) -> Any:
    """Calls it up to `max_retries` times, at most 5. Between two calls it waits for a random time up to
    delay, 2 x delay, 4 x delay ..., at most 60 s: those who failed together do not come back together.
    What would come again is raised at once: a TypeError, a ValueError, a missing file."""
    if max_retries < 1:
        raise ValueError(f"max_retries is {max_retries}: nothing would be called; write at least 1")

    async def once() -> Any:
        result = coro(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result
    return await retry(once, attempts=min(max_retries, _MOST_ATTEMPTS), base=delay, cap=_LONGEST_WAIT,
                       classify=_judged, name="retry_operation")()


def _judged(error: BaseException) -> "Tuple[str, Optional[float]]":
    """As genscope.optimize.retry does, but an error of no known kind may pass."""
    kind, after = classify(error)
    unknown = kind == "deterministic" and not isinstance(error, (OSError, NotImplementedError))
    return ("transient" if unknown else kind), after


async def parallel_map(func: Callable[..., Any], items: "Iterable[Any]", max_workers: int = 4) -> "List[Any]":
    """func of each item, `max_workers` at a time, in the items' order. The first error cancels the rest
    and is raised. Items are taken as they are needed: no task waits for its turn."""
    async def call(item: Any) -> Any:
        result = func(item)
        return await result if inspect.isawaitable(result) else result
    return await optimize.parallel_map(call, items, limit=max_workers)
