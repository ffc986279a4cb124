"""What a pipeline is called with and what it returns: as keys, and as copies.

A key must hold everything that a value says, and two values that differ must have different keys;
what that cannot be said of is refused by `Unkeyable`, with a word for the counters. Keys are built
from type-tagged parts, so that 1, 1.0, True and "1" differ.
"""
from __future__ import annotations

import hashlib
import math
import sys
from typing import Any

_HASH_LIMIT = 256 << 20  # bytes of one input that are read for a key
_DEPTH = 12
_PIL_KINDS = ("Image", "PngImageFile", "JpegImageFile", "WebPImageFile", "BmpImageFile", "GifImageFile")


class Unkeyable(Exception):
    """This cannot be keyed with certainty. `reason`: one word for a counter."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def digest(*parts: Any) -> bytes:
    """Of canonical forms, or of other plain values whose repr says all."""
    return hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _content(data: Any) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def canonical(value: Any, depth: int = _DEPTH) -> Any:
    """A form whose repr differs where values differ. Raises Unkeyable."""
    kind = type(value)
    if value is None or kind is bool or kind is int or kind is str or kind is bytes:
        return (kind.__name__, value)
    if kind is float:
        return ("float", value.hex() if math.isfinite(value) else repr(value))
    if depth == 0:
        raise Unkeyable("nested_too_deeply")
    if kind is list or kind is tuple:
        return (kind.__name__, [canonical(each, depth - 1) for each in value])
    if kind is dict:
        if not all(type(name) is str for name in value):
            raise Unkeyable("argument_dict")
        return ("dict", [(name, canonical(value[name], depth - 1)) for name in sorted(value)])
    module = kind.__module__.partition(".")[0]
    if module == "torch":
        return _torch(value)
    if module == "numpy":
        return _numpy(value)
    if module == "PIL" and kind.__name__ in _PIL_KINDS:
        return _picture(value)
    raise Unkeyable("callback" if callable(value) else f"argument_{kind.__name__}")


def _torch(value: Any) -> Any:
    import torch
    if isinstance(value, (torch.dtype, torch.device, torch.Size)):
        return ("torch", str(value))
    if type(value) is not torch.Tensor:
        raise Unkeyable(f"argument_{type(value).__name__}")
    if value.device.type != "cpu" or value.requires_grad or value.layout is not torch.strided:
        raise Unkeyable("tensor_on_a_device" if value.device.type != "cpu" else "tensor_kind")
    if value.nbytes > _HASH_LIMIT:
        raise Unkeyable("large_input")
    flat = value.detach().contiguous().reshape(-1)
    data = flat.view(torch.uint8).numpy() if flat.numel() else b""
    return ("tensor", str(value.dtype), tuple(value.shape), tuple(value.stride()), _content(data))


def _numpy(value: Any) -> Any:
    import numpy
    if isinstance(value, numpy.generic):
        return ("numpy", value.dtype.str, value.tobytes())
    if type(value) is not numpy.ndarray or value.dtype.hasobject:
        raise Unkeyable(f"argument_{type(value).__name__}")
    if value.nbytes > _HASH_LIMIT:
        raise Unkeyable("large_input")
    return ("array", value.dtype.str, value.shape, value.strides, _content(value.tobytes()))


def _picture(value: Any) -> Any:
    if getattr(value, "is_animated", False):
        raise Unkeyable("animated_image")
    pixels = value.tobytes()
    if len(pixels) > _HASH_LIMIT:
        raise Unkeyable("large_input")
    palette = value.getpalette() if value.mode in ("P", "PA") else None
    # What a file said besides its pixels (transparency, orientation); bulk such as a thumbnail by its bytes.
    info = []
    for name in sorted(value.info, key=str):
        try:
            info.append((str(name), canonical(value.info[name], 4)))
        except Unkeyable:
            raise Unkeyable("image_info") from None
    exif = value.getexif().tobytes() if hasattr(value, "getexif") else b""
    return ("image", value.mode, value.size, _content(pixels), palette, info, exif)


# --- results

def frozen(value: Any) -> "tuple[Any, int]":
    """(a copy that nobody else holds, its bytes). Tensors of a device are kept in host memory, with
    their strides: kernels may choose by them. Raises Unkeyable for what cannot be copied surely."""
    if value is None or type(value) in (bool, int, float, str, bytes):
        return (value, 64)
    kind = type(value)
    if kind is list or kind is tuple:
        parts = [frozen(each) for each in value]
        return (kind.__name__, [part for part, _ in parts]), 64 + sum(n for _, n in parts)
    module = kind.__module__.partition(".")[0]
    if module == "torch" and kind.__name__ == "Tensor":
        return _frozen_tensor(value)
    if module == "numpy" and kind.__name__ == "ndarray" and not value.dtype.hasobject:
        return (("array", value.copy(order="K")), value.nbytes + 128)
    if module == "PIL" and kind.__name__ == "Image":
        width, height = value.size
        return (("image", value.copy()), width * height * len(value.getbands()) + 256)
    if _is_output(kind):
        parts = {name: frozen(getattr(value, name)) for name in _fields(value)}
        return (("output", kind, {name: p for name, (p, _) in parts.items()}),
                256 + sum(n for _, n in parts.values()))
    raise Unkeyable(f"result_{kind.__name__}")


def thawed(value: Any) -> Any:
    """A fresh copy for one caller."""
    if type(value) is not tuple:
        return value
    kind, what = value[0], value[1]
    if kind == "list":
        return [thawed(each) for each in what]
    if kind == "tuple":
        return tuple(thawed(each) for each in what)
    if kind == "array":
        return what.copy(order="K")
    if kind == "image":
        return what.copy()
    if kind == "tensor":
        return _thawed_tensor(value)
    return what(**{name: thawed(part) for name, part in value[2].items()})


def _frozen_tensor(value: Any) -> "tuple[Any, int]":
    import torch
    if value.requires_grad or value.layout is not torch.strided or value.device.type == "meta":
        raise Unkeyable("result_tensor")
    span = 1 + sum((n - 1) * s for n, s in zip(value.shape, value.stride())) if value.numel() else 0
    if span > 4 * value.numel() + 64:
        raise Unkeyable("result_view")
    flat = value.detach().as_strided((span,), (1,), value.storage_offset())
    flat = flat.clone() if flat.device.type == "cpu" else flat.to("cpu")
    kept = ("tensor", flat, tuple(value.shape), tuple(value.stride()), value.device)
    return kept, flat.nbytes + 256


def _thawed_tensor(kept: Any) -> Any:
    _, flat, shape, stride, device = kept
    flat = flat.clone() if device.type == "cpu" else flat.to(device)
    return flat.as_strided(shape, stride)


def _is_output(kind: type) -> bool:
    """A dataclass of diffusers' BaseOutput."""
    return hasattr(kind, "__dataclass_fields__") and any(
        base.__name__ == "BaseOutput" and base.__module__.startswith("diffusers.")
        for base in kind.__mro__)


def _fields(value: Any) -> "list[str]":
    return list(type(value).__dataclass_fields__)


# --- random numbers

def generators_in(value: Any) -> "list[Any]":
    """torch.Generators of a call's `generator`, in order; raises Unkeyable for anything else."""
    given = list(value) if isinstance(value, (list, tuple)) else [value]
    for each in given:
        if type(each).__module__.partition(".")[0] != "torch" or not hasattr(each, "get_state"):
            raise Unkeyable("no_generator" if each is None else "generator_kind")
    return given


def states_of(generators: "list[Any]") -> "list[tuple[str, int, bytes]]":
    """Of each: its device, the place of its first mention (one object may stand twice), its state."""
    first: "dict[int, int]" = {}
    out = []
    for at, each in enumerate(generators):
        place = first.setdefault(id(each), at)
        out.append((str(each.device), place, each.get_state().numpy().tobytes()))
    return out


def set_states(generators: "list[Any]", states: "list[Any]") -> None:
    for each, state in zip(generators, states):
        each.set_state(state)


def random_state() -> "list[Any]":
    """Of the random numbers that belong to nobody: a run that moves them is not its seed's alone."""
    import random

    import torch
    out: "list[Any]" = [torch.get_rng_state().numpy().tobytes(), random.getstate()]
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        out += [state.numpy().tobytes() for state in torch.cuda.get_rng_state_all()]
    if "numpy.random" in sys.modules:
        kind, keys, *rest = sys.modules["numpy.random"].get_state()
        out.append((kind, keys.tobytes(), rest))
    return out
