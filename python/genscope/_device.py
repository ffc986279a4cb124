"""Device time of spans and the allocator's figures of stages, when the program uses torch on a GPU.

Nothing happens before torch itself initialises CUDA (or HIP, which torch calls the same): torch is
asked to call back then. From there on the core puts events of the driver into the current stream
around stages, steps, forwards, requests and batches, and reads them later; see docs/device-time.md.
$GENSCOPE_DEVICE_TIME=0 leaves all of it out.
"""
from __future__ import annotations

import atexit
import os
import sys
from types import ModuleType
from typing import Any, Callable, Optional

from . import _core

_NOT_NOW = -1
# Name of ours -> names of torch.cuda.memory_stats(), as nested.
_FIGURES = {
    "requested_bytes": ("requested_bytes", "all", "current"),
    "allocated_bytes": ("allocated_bytes", "all", "current"),
    "active_bytes": ("active_bytes", "all", "current"),
    "reserved_bytes": ("reserved_bytes", "all", "current"),
    "inactive_split_bytes": ("inactive_split_bytes", "all", "current"),
    "retries": ("num_alloc_retries",),
    "ooms": ("num_ooms",),
}
_started = False


def watch() -> None:
    """Waits for torch.cuda to be imported and initialised. Never imports or initialises it."""
    if os.environ.get("GENSCOPE_DEVICE_TIME", "1") in ("0", "off", "false", "no"):
        return
    from ._imports import when_imported
    when_imported("torch.cuda", _when_initialised,
                  lambda name, error: _problem(f"torch.cuda could not be watched: {error!r}"))


def _when_initialised(cuda: ModuleType) -> None:
    later = getattr(cuda, "_lazy_call", None)
    if later is None:
        _problem("this torch has no torch.cuda._lazy_call, so its start cannot be seen")
        return
    later(_start_safely)  # runs it now if CUDA is in use already


def _start_safely() -> None:
    # Torch turns what this raises into an error of the program.
    try:
        _start(sys.modules["torch"])
    except Exception as error:
        _problem(str(error))


def _start(torch: Any) -> None:
    global _started
    if _started:
        return
    core = torch._C
    device, raw_stream = core._cuda_getDevice, core._cuda_getCurrentRawStream
    hip = getattr(getattr(torch, "version", None), "hip", None)
    _core.device_timing("hip" if hip else "cuda", _stream_function(torch, device, raw_stream),
                        _stage_end_function(torch, device))
    _started = True
    atexit.register(_core.device_timing, "")
    os.register_at_fork(after_in_child=_stop_in_child)
    from .hooks import done
    done("device_time", "hip" if hip else "cuda")


def _stream_function(torch: Any, device: Callable[[], int],
                     raw_stream: Callable[[int], int]) -> Callable[[], int]:
    compiling = getattr(getattr(torch, "compiler", None), "is_compiling", None)
    if compiling is None:
        return lambda: raw_stream(device())
    return lambda: _NOT_NOW if compiling() else raw_stream(device())


def _stage_end_function(torch: Any, device: Callable[[], int]) -> Optional[Callable[[int], None]]:
    read = getattr(torch.cuda, "memory_stats_as_nested_dict", None)
    if read is None:
        from .hooks import problem
        problem("allocator_stats", "this torch has no torch.cuda.memory_stats_as_nested_dict")
        return None
    peaks: "dict[int, int]" = {}  # our own: the program may reset torch's

    def stage_end(_span: int) -> None:
        index = device()
        stats = read(index)
        if not stats:
            return
        _core.allocator_stats(f"cuda:{index}",
                              {name: _look(stats, path) for name, path in _FIGURES.items()})
        peak = _look(stats, ("allocated_bytes", "all", "peak"))
        if peak is not None and peak > peaks.get(index, -1):
            peaks[index] = peak
            _core.counter(f"torch_allocated_peak_bytes.cuda:{index}", float(peak))
    return stage_end


def _look(stats: Any, path: "tuple[str, ...]") -> Optional[int]:
    for key in path:
        stats = stats.get(key) if isinstance(stats, dict) else None
    return stats if isinstance(stats, int) else None


def _stop_in_child() -> None:
    _core.device_timing("")


def _problem(reason: str) -> None:
    from .hooks import problem
    problem("device_time", reason)
