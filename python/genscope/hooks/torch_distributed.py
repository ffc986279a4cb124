"""torch.distributed: collectives as spans on each rank, by which `genscope aggregate` finds the late one.

Only calls that wait are marked: `async_op=True` returns at once, and so does NCCL, whose waits are the
GPU's. What DDP does in C++ is not seen here; FSDP calls these functions.
"""
from __future__ import annotations

import sys
from typing import Any, Callable, Optional

from .. import _core
from .._imports import when_imported
from ._patch import around
from ._report import done, problem

# Function -> name of the span, as docs/aggregate.md has them.
_NAMES = {
    "all_reduce": "all_reduce", "all_reduce_coalesced": "all_reduce",
    "all_gather": "all_gather", "all_gather_into_tensor": "all_gather",
    "all_gather_object": "all_gather", "all_gather_coalesced": "all_gather",
    "reduce_scatter": "reduce_scatter", "reduce_scatter_tensor": "reduce_scatter",
    "all_to_all": "all_to_all", "all_to_all_single": "all_to_all",
    "barrier": "barrier", "monitored_barrier": "barrier",
    "broadcast": "broadcast", "broadcast_object_list": "broadcast",
    "reduce": "reduce", "gather": "gather", "gather_object": "gather",
    "scatter": "scatter", "scatter_object_list": "scatter",
}
_RETURN_AT_ONCE = ("nccl", "ucc", "xccl", "hccl")


def install() -> None:
    # After torch itself: before, dynamo's own words are not there yet.
    when_imported("torch", lambda torch: when_imported("torch.distributed.distributed_c10d", _patch, _failed),
                  _failed)


def _failed(name: str, error: BaseException) -> None:
    problem("torch.distributed", repr(error))


def _patch(module: Any) -> None:
    package = sys.modules.get("torch.distributed")
    found = [name for name in _NAMES if callable(getattr(module, name, None))]
    if not found:
        problem("torch.distributed", "it has none of the collectives")
        return
    for name in found:
        original = getattr(module, name)
        if around(module, name, _begin(_NAMES[name], module), _end, "torch.distributed",
                  traced=True) and getattr(package, name, None) is original:
            setattr(package, name, getattr(module, name))
    done("torch.distributed")


def _begin(name: str, module: Any) -> "Callable[[Any, tuple, dict], Optional[int]]":
    def begin(first: Any, args: tuple, kwargs: dict) -> Optional[int]:
        if kwargs.get("async_op") or not module.is_initialized():
            return None
        backend = module.get_backend(kwargs.get("group"))
        if any(word in backend for word in _RETURN_AT_ONCE):
            return None
        return _core.begin(name, "function", bytes=_bytes(first))
    return begin


def _bytes(tensor: Any) -> Optional[int]:
    try:
        return tensor.numel() * tensor.element_size()
    except (AttributeError, RuntimeError, TypeError):
        return None


def _end(span: int, _first: Any, _result: Any, error: Optional[BaseException]) -> None:
    _core.end(span, error is not None)
