"""Bytes of weights that offloading brings to where they are used, by stage.

    accelerate   CpuOffload (a whole model), AlignDevicesHook (a layer: from the CPU, or from a disk)
    diffusers    group offloading (ModuleGroup)

Only what moves is counted: weights that are there already, or whose two places are the same device, are
none. The way back is not counted: weights do not change, and most ways drop the copy.
"""
from __future__ import annotations

from types import ModuleType
from typing import Any, Iterable, Optional

from .._imports import when_imported
from ._patch import around
from ._report import problem
from .diffusers_calls import saw_traffic


def install() -> None:
    def failed(name: str, error: BaseException) -> None:
        problem("offload", f"{name}: {error!r}")
    when_imported("accelerate.hooks", _accelerate_is_there, failed)
    when_imported("diffusers.hooks.group_offloading", _groups_are_there, failed)


def _count(moved: int, _self: Any, _result: Any, error: Optional[BaseException]) -> None:
    if error is None and moved:
        saw_traffic(moved)


def _bytes(tensors: "Iterable[Any]") -> int:
    return sum(t.numel() * t.element_size() for t in tensors)


def _tensors(module: Any) -> "list[Any]":
    return [*module.parameters(), *module.buffers()]


def _kind(device: Any) -> str:
    """"cuda" for 0 and cuda:0, "cpu", "meta"."""
    return "cuda" if isinstance(device, int) else str(getattr(device, "type", device)).partition(":")[0]


# --- accelerate

def _accelerate_is_there(module: ModuleType) -> None:
    around(module.CpuOffload, "pre_forward", _whole_model, _count, "accelerate.hooks", traced=True)
    around(module.AlignDevicesHook, "pre_forward", _layer, _count, "accelerate.hooks", traced=True)


def _whole_model(hook: Any, args: tuple, kwargs: dict) -> int:
    target = _kind(hook.execution_device)
    return _bytes(t for t in _tensors(args[0] if args else kwargs["module"]) if t.device.type != target)


def _layer(hook: Any, args: tuple, kwargs: dict) -> Optional[int]:
    """Weights that were left behind are on "meta" and come from a map."""
    if not hook.offload:
        return None
    module = args[0] if args else kwargs["module"]
    if _kind(hook.execution_device) == "cpu" and not _on_disk(hook.weights_map):
        return None
    recurse = getattr(hook, "place_submodules", False)
    tensors = [*module.parameters(recurse)]
    if getattr(hook, "offload_buffers", False):
        tensors += module.buffers(recurse)
    return _bytes(t for t in tensors if t.device.type == "meta")


def _on_disk(weights: Any) -> bool:
    inner = getattr(weights, "dataset", weights)
    return getattr(inner, "save_folder", None) is not None or bool(getattr(inner, "index", None))


# --- diffusers

def _groups_are_there(module: ModuleType) -> None:
    for method, from_disk in (("_onload_from_memory", False), ("_onload_from_disk", True)):
        if hasattr(module.ModuleGroup, method):
            around(module.ModuleGroup, method, _group(from_disk), _count, "diffusers.ModuleGroup", traced=True)


def _group(from_disk: bool) -> Any:
    def begin(group: Any, args: tuple, kwargs: dict) -> int:
        target = _kind(group.onload_device)
        tensors = {id(t): t for module in group.modules for t in _tensors(module)}
        tensors.update({id(t): t for t in (*group.parameters, *group.buffers)})
        return _bytes(t for t in tensors.values() if from_disk or t.device.type != target)
    return begin
