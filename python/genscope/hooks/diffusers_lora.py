"""LoRA adapters of a pipeline, as peft holds them at this moment. peft itself is not imported."""
from __future__ import annotations

import weakref
from typing import Any, NamedTuple, Optional

# Loads by a pipeline: another file under the same name is another adapter.
_loads: "weakref.WeakKeyDictionary[Any, int]" = weakref.WeakKeyDictionary()


class Adapters(NamedTuple):
    loaded: "frozenset[str]"
    active: "frozenset[str]"            # applied at each layer, or merged and in use
    fused: "frozenset[str]"             # merged into the weights; they stay when unloaded
    scales: "tuple[tuple[str, float], ...]"
    loads: int

    @property
    def in_use(self) -> "frozenset[str]":
        return self.active | self.fused

    def same_picture(self, other: "Adapters") -> bool:
        """Whether both give the same pictures. Fusing and unfusing changes none."""
        return (self.in_use, self.loads) == (other.in_use, other.loads) and (
            self.scales == other.scales or not self.scales or not other.scales)

    def facts(self) -> "dict[str, Any]":
        facts: "dict[str, Any]" = {"lora.loaded": len(self.loaded), "lora.active": len(self.in_use)}
        if self.in_use:
            facts["lora.fused"] = self.active <= self.fused
        return facts


def adapters_of(pipeline: Any, parts: "dict[str, Any]") -> Adapters:
    """Reads the first layer with adapters of each part; cheap where there is none."""
    loaded: "set[str]" = set()
    active: "set[str]" = set()
    fused = set(getattr(pipeline, "fused_loras", None) or ())
    scales: "dict[str, float]" = {}
    for part in parts.values():
        names = getattr(part, "__dict__", {}).get("peft_config")
        layer = _first_layer(part) if names else None
        if layer is None:
            continue
        loaded.update(names)
        fused.update(layer.merged_adapters)
        if not layer.disable_adapters:
            active.update(layer.active_adapters)
        scaling = getattr(layer, "scaling", None)
        if isinstance(scaling, dict):
            scales.update((name, scale) for name, scale in scaling.items() if name in active)
    return Adapters(frozenset(loaded), frozenset(active), frozenset(fused),
                    tuple(sorted(scales.items())), _loads.get(pipeline, 0))


def _first_layer(module: Any) -> Optional[Any]:
    return next((part for part in module.modules() if hasattr(type(part), "merged_adapters")), None)


def note_load(pipeline: Any) -> None:
    _loads[pipeline] = _loads.get(pipeline, 0) + 1
