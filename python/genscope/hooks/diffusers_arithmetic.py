"""What the weights of a model are stored in and what its matrix products are computed in, read from its layers.

A configuration says what was asked for; a layer that was replaced, or a weight of a tensor class of its
own, is what runs. Nothing is computed: names, attributes and data types alone.

    library        a layer that computes from packed weights
    torchao        a weight of a class of torchao's, inside of an ordinary Linear
    bitsandbytes   Linear4bit, Linear8bitLt
    GGUF           diffusers' GGUFLinear: weights are unpacked to the compute type
    quanto         QLinear
    nunchaku       SVDQW4A4Linear (both sides in 4 bits), AWQW4A16Linear
    diffusers      layerwise casting: fp8 in memory, cast at each use
"""
from __future__ import annotations

import sys
from typing import Any, NamedTuple, Optional

from .diffusers_models import dtype_name


class Layer(NamedTuple):
    library: str     # "" for plain weights
    weights: str     # what is stored: int4, q4_k, nf4, fp8_e4m3, bf16
    arithmetic: str  # what is multiplied: int8, fp8_e4m3, bf16
    elements: int


class Arithmetic(NamedTuple):
    library: str
    weights: str       # of most quantised weights, or of most
    arithmetic: str    # of most weights
    share: float       # of the weights that are quantised


def arithmetic_of(module: Any) -> Optional[Arithmetic]:
    """None for a model without linear layers."""
    cast = {id(inner): hook for part in module.modules() if (hook := _casting(part)) is not None
            for inner in part.modules()}
    layers = [layer for part in module.modules() if (layer := _layer(part, cast.get(id(part)))) is not None]
    total = sum(layer.elements for layer in layers)
    if not total:
        return None
    quantised = [layer for layer in layers if layer.library]
    named = _most(quantised, "library"), _most(quantised or layers, "weights")
    share = sum(layer.elements for layer in quantised) / total
    return Arithmetic(named[0] or "", named[1] or "", _most(layers, "arithmetic") or "", share)


def _most(layers: "list[Layer]", field: str) -> Optional[str]:
    sums: "dict[str, int]" = {}
    for layer in layers:
        word = getattr(layer, field)
        sums[word] = sums.get(word, 0) + layer.elements
    return max(sums, key=sums.__getitem__) if sums else None


def _casting(part: Any) -> Any:
    """diffusers' hook that keeps this module, with all inside, in a smaller type between its calls."""
    return getattr(vars(part).get("_diffusers_hook"), "hooks", {}).get("layerwise_casting")


def _layer(part: Any, cast: Any) -> Optional[Layer]:
    name = type(part).__name__
    if not name.endswith(("Linear", "Linear4bit", "Linear8bitLt")):
        return None
    elements = _elements(part)
    if not elements:
        return None
    if name in ("SVDQW4A4Linear", "AWQW4A16Linear"):
        return _nunchaku(part, name, elements)
    weight = getattr(part, "weight", None)
    if weight is None or callable(weight):  # a wrapper, such as peft's: what it wraps is a layer itself
        return None
    kind = type(weight).__name__
    if kind == "Params4bit":
        return Layer("bitsandbytes", str(getattr(weight, "quant_type", None) or "nf4"),
                     _word(getattr(part, "compute_dtype", None), "unknown"), elements)
    if kind == "Int8Params":
        return Layer("bitsandbytes", "int8", "int8", elements)
    if kind == "GGUFParameter":
        stored = getattr(weight, "quant_type", None)
        return Layer("gguf", str(getattr(stored, "name", stored)).lower(),
                     _word(getattr(part, "compute_dtype", None), "unknown"), elements)
    if type(weight).__module__.partition(".")[0] == "torchao":
        return _torchao(weight, elements)
    if name == "QLinear":
        return _quanto(part, weight, elements)
    if cast is not None:
        return Layer("diffusers", dtype_name(cast.storage_dtype), dtype_name(cast.compute_dtype), elements)
    return _plain(weight, elements)


def _elements(part: Any) -> int:
    sides = getattr(part, "in_features", None), getattr(part, "out_features", None)
    return sides[0] * sides[1] if all(type(side) is int for side in sides) else 0


def _word(dtype: Any, otherwise: str) -> str:
    return dtype_name(dtype) if dtype is not None else otherwise


def _nunchaku(part: Any, name: str, elements: int) -> Layer:
    if name == "SVDQW4A4Linear":
        word = "fp4" if "fp4" in str(getattr(part, "precision", "")) else "int4"
        return Layer("nunchaku", word, word, elements)
    scales = getattr(part, "wscales", None)
    return Layer("nunchaku", "int4", _word(getattr(scales, "dtype", None), "unknown"), elements)


def _torchao(weight: Any, elements: int) -> Layer:
    both = "Activation" in type(weight).__name__ \
        or getattr(weight, "act_quant_kwargs", None) is not None
    stored = _stored(weight)
    return Layer("torchao", stored, stored if both else dtype_name(weight.dtype), elements)


def _stored(weight: Any) -> str:
    """Of a tensor made of others: the largest inside it, and how many bits it has for each element."""
    low, high = getattr(weight, "quant_min", None), getattr(weight, "quant_max", None)
    if type(low) is int and type(high) is int and not hasattr(weight, "original_weight_tensor"):
        return "int4" if high - low < 16 else "int8"
    inner = _largest(weight)
    if inner is None:
        return "unknown"
    word = dtype_name(inner.dtype)
    if word.startswith("fp8"):
        return word
    if word.startswith("float4"):
        return "fp4"
    bits = 8 * inner.numel() * inner.element_size() / max(weight.numel(), 1)
    return "int4" if bits <= 5 else "int8" if bits <= 9 else word


def _largest(tensor: Any) -> Any:
    if not hasattr(type(tensor), "__tensor_flatten__"):
        return tensor
    names, _ = tensor.__tensor_flatten__()
    inner = [found for name in names if (found := _deepest(getattr(tensor, name))) is not None]
    return max(inner, key=lambda each: each.numel() * each.element_size(), default=None)


def _deepest(tensor: Any) -> Any:
    return _largest(tensor) if hasattr(tensor, "numel") else None


def _quanto(part: Any, weight: Any, elements: int) -> Layer:
    def word(kind: Any) -> str:
        name = str(getattr(kind, "name", kind)).removeprefix("q")
        return {"float8": "fp8_e4m3", "float8_e4m3fn": "fp8_e4m3", "float8_e5m2": "fp8_e5m2"}.get(name, name)
    activations = getattr(part, "activation_qtype", None)
    stored = getattr(part, "weight_qtype", None)
    if stored is None:
        return _plain(weight, elements)
    return Layer("quanto", word(stored), word(activations) if activations is not None
                 else dtype_name(weight.dtype), elements)


def _plain(weight: Any, elements: int) -> Layer:
    stored = dtype_name(weight.dtype)
    return Layer("", stored, _autocast(weight) or stored, elements)


def _autocast(weight: Any) -> Optional[str]:
    """The type in which autocast computes products of these weights, while it is on."""
    torch = sys.modules["torch"]
    kind = getattr(weight.device, "type", "cpu")
    try:
        if weight.is_floating_point() and torch.is_autocast_enabled(kind):
            return dtype_name(torch.get_autocast_dtype(kind))
    except (TypeError, RuntimeError, AttributeError):  # before torch 2.4, or a device that has none
        pass
    return None
