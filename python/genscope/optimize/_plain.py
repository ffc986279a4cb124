"""What the cache must know of a value: its bytes in memory, and its bytes on disk or in Redis.

The format is safe: reading it runs no code. It is `GSV1`, the length of a JSON tree, the tree, then the
raw bytes that it refers to. It knows None, bool, int, float, str, bytes, lists, tuples, dicts with
names of type str, numpy arrays and torch tensors. Nothing else: pickle would run what it reads."""
import json
import math
import struct
import sys

_MAGIC = b"GSV1"


class Unsafe(TypeError):
    """A value that the format does not know; it stays in memory."""


def _numpy():
    return sys.modules.get("numpy")


def _torch():
    return sys.modules.get("torch")


def is_tensor(value):
    torch = _torch()
    return torch is not None and isinstance(value, torch.Tensor)


def is_array(value):
    numpy = _numpy()
    return numpy is not None and isinstance(value, numpy.ndarray)


def tensor_bytes(tensor):
    """The content, from whichever device: this waits for it."""
    torch = _torch()
    flat = tensor.detach().to("cpu").contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def for_key(value):
    """What a key takes for a value that it does not know itself."""
    numpy = _numpy()
    if is_tensor(value):
        return "array", (f"torch.{str(value.dtype).removeprefix('torch.')}", tuple(value.shape), tensor_bytes(value))
    if is_array(value):
        if value.dtype.hasobject:
            raise TypeError("an array of objects has no content that a cache key could stand for")
        return "array", (f"numpy.{value.dtype.str}", tuple(value.shape), value.tobytes())
    if numpy is not None and isinstance(value, numpy.generic):
        return "plain", value.item()
    if isinstance(value, (bytearray, memoryview)):
        return "plain", bytes(value)
    if isinstance(value, (set, frozenset)):
        raise TypeError("a set has no order, so it cannot be part of a cache key; pass sorted(...)")
    raise TypeError(f"{type(value).__module__}.{type(value).__qualname__} cannot be part of a cache key: its content "
                    "is not known. Pass what the result depends on: str, bytes, int, float, bool, None, lists, "
                    "dicts, numpy arrays, torch tensors")


def size_of(value, _depth=0):
    """Bytes in memory, near enough to weigh by: content of tensors, arrays, text and containers."""
    if is_tensor(value):
        return value.numel() * value.element_size() + 64
    nbytes = getattr(value, "nbytes", None)
    if isinstance(nbytes, int):
        return nbytes + 64
    if isinstance(value, (bytes, bytearray, str)):
        return sys.getsizeof(value)
    size = sys.getsizeof(value, 64)
    if _depth < 4:
        if isinstance(value, dict):
            size += sum(size_of(k, _depth + 1) + size_of(v, _depth + 1) for k, v in value.items())
        elif isinstance(value, (list, tuple, set, frozenset)):
            size += sum(size_of(item, _depth + 1) for item in value)
        elif hasattr(value, "getbands") and hasattr(value, "size"):  # a picture of Pillow
            size += value.size[0] * value.size[1] * len(value.getbands())
        elif hasattr(value, "__dict__"):
            size += sum(size_of(v, _depth + 1) for v in vars(value).values())
    return size


def dumps(value):
    """The bytes of a value; Unsafe for types that the format does not know."""
    raw = []
    tree = json.dumps(_tree(value, raw)).encode()
    return b"".join([_MAGIC, struct.pack("<I", len(tree)), tree, *raw])


def _keep(raw, content):
    at = sum(map(len, raw))
    raw.append(content)
    return [at, len(content)]


def _tree(value, raw):
    if value is None or isinstance(value, (bool, str)) and type(value) in (bool, str):
        return value
    if type(value) is int:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"f": repr(value)}
    if type(value) is bytes:
        return {"b": _keep(raw, value)}
    if type(value) in (list, tuple):
        return {"l" if type(value) is list else "t": [_tree(item, raw) for item in value]}
    if type(value) is dict and all(type(name) is str for name in value):
        return {"d": [[name, _tree(item, raw)] for name, item in value.items()]}
    if is_array(value) and not value.dtype.hasobject and value.dtype.names is None:
        return {"n": [value.dtype.str, list(value.shape), _keep(raw, value.tobytes())]}
    if is_tensor(value) and not value.is_sparse and not value.is_quantized:
        content = _keep(raw, tensor_bytes(value))
        return {"p": [str(value.dtype).removeprefix("torch."), list(value.shape), str(value.device), content]}
    raise Unsafe(f"{type(value).__module__}.{type(value).__qualname__}")


def loads(data):
    """The value of dumps(); ValueError for anything else."""
    data = memoryview(data)
    try:
        if bytes(data[:4]) != _MAGIC:
            raise ValueError("not a value that genscope wrote")
        (length,) = struct.unpack_from("<I", data, 4)
        raw = data[8 + length:]
        return _value(json.loads(bytes(data[8:8 + length])), raw)
    except (struct.error, KeyError, IndexError, TypeError, AttributeError, RuntimeError) as wrong:
        raise ValueError(f"a damaged value: {wrong}") from None


def _part(raw, place):
    at, size = place
    if not 0 <= at <= at + size <= len(raw):
        raise ValueError("a damaged value: it ends early")
    return raw[at:at + size]


def _value(tree, raw):
    if not isinstance(tree, dict):
        return tree
    (tag, inner), = tree.items()
    if tag == "f":
        return float(inner)
    if tag == "b":
        return bytes(_part(raw, inner))
    if tag in "lt":
        items = [_value(item, raw) for item in inner]
        return items if tag == "l" else tuple(items)
    if tag == "d":
        return {name: _value(item, raw) for name, item in inner}
    if tag == "n":
        import numpy
        dtype = numpy.dtype(inner[0])
        if dtype.hasobject:
            raise ValueError("a damaged value: an array of objects")
        return numpy.frombuffer(bytes(_part(raw, inner[2])), dtype).reshape(inner[1]).copy()
    if tag == "p":
        import torch
        dtype = getattr(torch, inner[0])
        if not isinstance(dtype, torch.dtype):
            raise ValueError("a damaged value: no such type")
        content = bytearray(_part(raw, inner[3]))
        flat = torch.frombuffer(content, dtype=dtype) if content else torch.empty(0, dtype=dtype)
        return flat.reshape(inner[1]).to(inner[2])
    raise ValueError("a damaged value: an unknown part")
