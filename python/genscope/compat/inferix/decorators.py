"""The eight decorators of document 002, for methods of a pipeline that has `_profiler` and
`_profiling_enabled`. Without them, or while that is off, a method is only called. An exception of
the method passes through; one of a function that tells figures costs these figures."""
from __future__ import annotations

import functools
import inspect
import time
from typing import Any, Callable, Dict, Optional

from ... import _core

Method = Callable[..., Any]


def around(function: Method, context: Callable[..., Any]) -> Method:
    """`function` within `context(*args)`; coroutines too."""
    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with context(*args):
                return await function(*args, **kwargs)
        return coroutine

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with context(*args):
            return function(*args, **kwargs)
    return call


_OFF = _core.Nothing()


def _profiler_of(pipeline: Any) -> Any:
    if getattr(pipeline, "_profiling_enabled", False):
        return getattr(pipeline, "_profiler", None)
    return None


def _told(tell: Optional[Callable[..., Any]], *args: Any, **kwargs: Any) -> Any:
    """What a function of the user's says; None if it raises."""
    if tell is None:
        return None
    try:
        return tell(*args, **kwargs)
    except Exception:
        return None


def _name_of(function: Method) -> str:
    return getattr(function, "__name__", type(function).__name__)


def profile_method(stage_name: Optional[str] = None,
                   metadata: "Optional[Dict[str, Any]]" = None) -> Any:
    """Each call is a stage."""
    def decorate(function: Method) -> Method:
        name = stage_name or _name_of(function)

        def stage(pipeline: Any = None, *_: Any) -> Any:
            profiler = _profiler_of(pipeline)
            return _OFF if profiler is None else profiler.stage(name, metadata)
        return around(function, stage)
    return decorate


def profile_session(session_id: str, tags: "Optional[Dict[str, Any]]" = None) -> Any:
    """Each call is a session."""
    def decorate(function: Method) -> Method:
        def session(pipeline: Any = None, *_: Any) -> Any:
            profiler = _profiler_of(pipeline)
            return _OFF if profiler is None else profiler.session(session_id, tags=tags)
        return around(function, session)
    return decorate


def _timed(function: Method, tell: Callable[..., None]) -> Method:
    """Calls `tell(profiler, milliseconds, args, kwargs)` after each call, after one that raised
    too."""
    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        profiler = _profiler_of(self)
        if profiler is None:
            return function(self, *args, **kwargs)
        begin = time.monotonic()
        try:
            return function(self, *args, **kwargs)
        finally:
            _told(tell, profiler, (time.monotonic() - begin) * 1000, args, kwargs)
    return call


def profile_layer(layer_name: Optional[str] = None, parameters_count: Optional[int] = None) -> Any:
    """Each call is a computation of that layer."""
    def decorate(function: Method) -> Method:
        name = layer_name or _name_of(function)

        @functools.wraps(function)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            profiler = _profiler_of(self)
            if profiler is None:
                return function(self, *args, **kwargs)
            begin = profiler.start_layer_computation(name)
            try:
                return function(self, *args, **kwargs)
            finally:
                profiler.end_layer_computation(name, begin, parameters_count)
        return call
    return decorate


def profile_streaming(batch_size_func: Optional[Callable[..., Any]] = None) -> Any:
    """Each call sends frames: `batch_size_func(args, kwargs)` of them, else one."""
    def tell(profiler: Any, took: float, args: Any, kwargs: Any) -> None:
        size = _told(batch_size_func, args, kwargs)
        profiler.record_streaming_event(batch_size=1 if size is None else size,
                                        encoding_time_ms=took)
    return lambda function: _timed(function, tell)


def profile_diffusion_step(step_func: Optional[Callable[..., Any]] = None) -> Any:
    """Each call is a denoising step; `step_func(args, kwargs)` tells step, timestep, block_size,
    guidance_scale."""
    def tell(profiler: Any, took: float, args: Any, kwargs: Any) -> None:
        known = _told(step_func, args, kwargs) or {}
        profiler.record_diffusion_step(
            step=known.get("step"), timestep=known.get("timestep"),
            block_size=known.get("block_size"), computation_time_ms=took,
            guidance_scale=known.get("guidance_scale"))
    return lambda function: _timed(function, tell)


def profile_block_computation(block_info_func: Optional[Callable[..., Any]] = None) -> Any:
    """Each call is a block; `block_info_func(args, kwargs)` tells block_index, block_size,
    memory_usage_mb, and computation_time_ms where the call itself does not take it."""
    def tell(profiler: Any, took: float, args: Any, kwargs: Any) -> None:
        known = _told(block_info_func, args, kwargs) or {}
        profiler.record_block_computation(
            block_index=known.get("block_index"), block_size=known.get("block_size"),
            computation_time_ms=known.get("computation_time_ms", took),
            memory_usage_mb=known.get("memory_usage_mb"))
    return lambda function: _timed(function, tell)


def _after(function: Method, tell: Callable[..., None]) -> Method:
    """Calls `tell(profiler, result, args, kwargs)` after each call that did not raise."""
    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = function(self, *args, **kwargs)
        profiler = _profiler_of(self)
        if profiler is not None:
            _told(tell, profiler, result, args, kwargs)
        return result
    return call


def profile_model_parameters(model_name_func: Optional[Callable[..., Any]] = None) -> Any:
    """After each call `model_name_func(args, kwargs)` tells model_name, parameters_count and
    model_type; a model without a count is not recorded."""
    def tell(profiler: Any, result: Any, args: Any, kwargs: Any) -> None:
        known = _told(model_name_func, args, kwargs) or {}
        if known.get("parameters_count") is not None:
            profiler.record_model_parameters(
                model_name=known.get("model_name", "unknown_model"),
                parameters_count=known["parameters_count"],
                model_type=known.get("model_type", "unknown"))
    return lambda function: _after(function, tell)


def add_profiling_event(event_name: str, data_func: Optional[Callable[..., Any]] = None) -> Any:
    """An event after each call, with what `data_func(result, *args, **kwargs)` gives."""
    def tell(profiler: Any, result: Any, args: Any, kwargs: Any) -> None:
        profiler.add_event(event_name, _told(data_func, result, *args, **kwargs))
    return lambda function: _after(function, tell)
