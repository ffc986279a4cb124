"""The modules and tensors of one component, read again and again.

The idea: the first time, note for each module what its attributes were and what they came to. From then on an
attribute that is the same object, of a kind that cannot change inside, need not be looked into; nor need a tensor
whose address, version, shape, dtype and device are as before. Values are read each time, of every tensor, since a
write through `.data` moves nothing else: one view of 32 of them a tensor, then one copy of all.

Why it is right: an attribute that is another object, that is gone or that may change inside is read as the first
time. A module or tensor more, less or in another place makes the whole tree be read anew. Nothing here keeps a
module, tensor or storage alive: what a user frees or offloads is free.

The cost is by modules and tensors, so each of them takes a few calls into C: all fixed attributes of a module are
got and compared at once, and what many modules hold together (a configuration) is looked into once a reading.
"""
from __future__ import annotations

import enum
import hashlib
import operator
import weakref
from typing import Any, Iterable, Optional

PLAIN = frozenset((type(None), bool, int, float, str, bytes))
_SAMPLES = 32
_SMALL = 4096  # elements of a tensor that is read whole, where it is no weight
# Of every torch.nn.Module; hooks are read apart.
_OF_TORCH = frozenset((
    "_parameters", "_buffers", "_non_persistent_buffers_set", "_backward_pre_hooks", "_backward_hooks",
    "_is_full_backward_hook", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
    "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_modules", "_forward_hooks",
    "_forward_pre_hooks"))
_ABSENT = object()


class _Module:
    """What was found in one module."""
    __slots__ = ("ref", "kind", "size", "path", "fixed", "get_fixed", "values", "loose", "children", "tensors")

    def __init__(self, path: str, module: Any) -> None:
        held = module.__dict__
        self.ref = weakref.ref(module)
        self.kind, self.size, self.path = type(module), len(held), path
        # (name, path), and the objects, which decide. Or the value is read each time.
        self.fixed = [(name, f"{path}.{name}") for name in held.keys() - _OF_TORCH if _is_fixed(held[name])]
        # One more name, so that a tuple comes back even if only one is fixed.
        self.get_fixed = operator.itemgetter("_modules", "_parameters", *(name for name, _ in self.fixed))
        self.values = self.get_fixed(held)[2:]
        self.loose = [(name, f"{path}.{name}") for name in held.keys() - _OF_TORCH if not _is_fixed(held[name])]
        self.children = _children(held)
        self.tensors = [_Tensor(f"{path}.{name}", tensor) for name, tensor in _tensors(held)]


class _Tensor:
    """What was found about one tensor, not the tensor."""
    __slots__ = ("path", "name", "kind", "facts", "shown", "view", "place")

    def __init__(self, path: str, tensor: Any) -> None:
        self.path, self.name, self.kind = path, path.rpartition(".")[2], type(tensor)
        self.place = (tensor.device, tensor.dtype)
        self.facts = _facts(tensor)
        self.shown: Any = (self.kind.__name__, *tensor.shape, self.place,
                           *(self.facts[:2] if self.facts else (id(tensor),)))
        count = tensor.numel()
        self.view: "Optional[tuple]" = None  # of a plain dense tensor: size and stride of its sample
        if self.facts and count and tensor.is_contiguous() and _is_plain(self.kind):
            self.view = ((_samples(count),), (max(1, count // _SAMPLES),))


def _samples(count: int) -> int:
    return count if count <= _SAMPLES else -(-count // (count // _SAMPLES))


def _is_plain(kind: type) -> bool:
    import torch
    return kind is torch.Tensor or kind is torch.nn.Parameter


def _facts(tensor: Any) -> "Optional[tuple]":
    try:
        return (tensor.data_ptr(), tensor._version, tensor.shape, tensor.dtype, tensor.device)
    except RuntimeError:  # an inference tensor has no version, a fake one no storage
        return None


def _children(held: "dict[str, Any]") -> "tuple":
    found = held["_modules"]
    return (*found, *map(id, found.values()))


def _tensors(held: "dict[str, Any]") -> "list[tuple[str, Any]]":
    return [(name, tensor) for name, tensor in (*held["_parameters"].items(), *held["_buffers"].items())
            if tensor is not None]


class Tree:
    """One component. `first`: what was found when it was made."""

    def __init__(self, path: str, part: Any) -> None:
        self._path = path
        self._modules: "list[_Module]" = []
        self.first: "dict[str, Any]" = {}
        seen: "set[int]" = set()
        todo = [(path, part)]
        while todo:
            here, module = todo.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            note = _Module(here, module)
            self._modules.append(note)
            self.first[here] = note.kind.__qualname__
            for (_, where), value in zip(note.fixed, note.values):
                self.first[where] = value_of(value, 3)
            for tensor in note.tensors:
                self.first[tensor.path] = tensor.shown
            todo += [(f"{here}.{name}", child) for name, child in module.__dict__["_modules"].items()
                     if child is not None]
        self._known = dict(self.first)  # of fixed attributes and tensors
        if not self.read(self.first, part):
            raise RuntimeError(f"{path} changed while it was read")

    def read(self, out: "dict[str, Any]", part: Any) -> bool:
        """False: it is another tree now."""
        import torch
        if not self._modules or self._modules[0].ref() is not part:
            return False
        views: "dict[Any, list[Any]]" = {}
        more: "dict[str, Any]" = {}
        shared: "dict[int, Any]" = {}  # by id; all are alive while their modules are
        with torch.no_grad():
            for note in self._modules:
                if not self._look(note, more, views, shared):
                    return False
        out.update(self._known)
        out.update(more)
        for place, held in views.items():
            out[f"{self._path}.{place}.values"] = _bytes_of(held)
        return True

    def _look(self, note: _Module, more: "dict[str, Any]", views: "dict[Any, list[Any]]",
              shared: "dict[int, Any]") -> bool:
        module = note.ref()
        if module is None or type(module) is not note.kind:
            return False
        held = module.__dict__
        if len(held) != note.size:
            return False
        try:
            children, parameters, *now = note.get_fixed(held)
        except KeyError:
            return False
        if (children or note.children) and _children(held) != note.children:
            return False
        if not all(map(operator.is_, now, note.values)) and not self._take(note, now):
            return False
        for name, path in note.loose:
            value = held.get(name, _ABSENT)
            if value is _ABSENT:
                return False
            if id(value) not in shared:
                shared[id(value)] = value_of(value, 3)
            more[path] = shared[id(value)]
        for name in ("_forward_hooks", "_forward_pre_hooks"):
            if held[name]:
                more[f"{note.path}.{name}"] = [(key, id(each)) for key, each in list(held[name].items())]
        return not (note.tensors or parameters or held["_buffers"]) or self._look_at_tensors(note, held, more, views)

    def _take(self, note: _Module, now: "list[Any]") -> bool:
        """Fixed attributes are other objects: False if one of them is no longer fixed."""
        for (_, path), before, value in zip(note.fixed, note.values, now):
            if value is before:
                continue
            if not _is_fixed(value):
                return False
            self._known[path] = value_of(value, 3)
        note.values = tuple(now)
        return True

    def _look_at_tensors(self, note: _Module, held: "dict[str, Any]", more: "dict[str, Any]",
                         views: "dict[Any, list[Any]]") -> bool:
        tensors = _tensors(held)
        if len(tensors) != len(note.tensors):
            return False
        for i, (name, tensor) in enumerate(tensors):
            known = note.tensors[i]
            if name != known.name:
                return False
            if known.facts is None or type(tensor) is not known.kind or _facts(tensor) != known.facts:
                known = note.tensors[i] = _Tensor(known.path, tensor)
                self._known[known.path] = known.shown
            if known.view is not None:
                try:
                    views.setdefault(known.place, []).append(tensor.as_strided(*known.view))
                    continue
                except RuntimeError:  # smaller than it was, this moment
                    return False
            _sample(known.path, tensor, more, views)
        return True


def _sample(path: str, tensor: Any, more: "dict[str, Any]", views: "dict[Any, list[Any]]") -> None:
    """Of a tensor of any kind and layout."""
    count = tensor.numel()
    if count == 0 or tensor.device.type == "meta":
        return
    try:
        flat = tensor.detach().reshape(-1)
        views.setdefault((tensor.device, tensor.dtype), []).append(
            flat[::count // _SAMPLES] if count > _SAMPLES else flat)
    except (RuntimeError, NotImplementedError, TypeError):  # a quantized kind that has no such view
        more[path + ".object"] = id(tensor)


def _is_fixed(value: Any) -> bool:
    """Whether the same object always has the same value_of."""
    kind = type(value)
    if kind in PLAIN:
        return True
    if kind is tuple:
        return all(type(each) in PLAIN for each in value)
    return kind.__module__ == "torch" and kind.__name__ in ("dtype", "device", "Size") or isinstance(value, enum.Enum)


def _bytes_of(views: "list[Any]") -> bytes:
    import torch
    try:
        flat = torch.cat(views)
        data = flat.contiguous().view(torch.uint8).cpu().numpy()
    except (RuntimeError, NotImplementedError, TypeError):
        data = repr([view.tolist() for view in views]).encode()
    return hashlib.blake2b(data, digest_size=16).digest()


def name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def value_of(value: Any, depth: int) -> Any:
    """Something whose repr changes when the value does."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if isinstance(value, enum.Enum):
        return str(value)
    if isinstance(value, dict):
        return [(str(name), value_of(each, depth - 1)) for name, each in list(value.items())] \
            if depth else ("dict", len(value))
    if isinstance(value, (list, tuple, set, frozenset)):
        items: "Iterable[Any]" = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        return [value_of(each, depth - 1) for each in items] if depth else (kind.__name__, len(value))
    module = kind.__module__.partition(".")[0]
    if module == "torch":
        return _torch_value(value)
    if module == "numpy":
        return (str(getattr(value, "dtype", "")), getattr(value, "shape", None),
                hashlib.blake2b(value.tobytes(), digest_size=16).digest()
                if hasattr(value, "tobytes") else id(value))
    if callable(value) and not hasattr(value, "forward"):
        return (getattr(value, "__qualname__", kind.__name__), id(value))
    if depth and hasattr(value, "__dict__"):
        return (name_of(kind), [(name, value_of(each, depth - 1)) for name, each in list(vars(value).items())])
    return (name_of(kind), id(value))


def _torch_value(value: Any) -> Any:
    import torch
    if isinstance(value, torch.nn.Module):
        return "module"  # read under its own path, or not of this pipeline
    if not isinstance(value, torch.Tensor):
        return str(value)
    place = (tuple(value.shape), str(value.dtype), str(value.device))
    if value.device.type == "cpu" and 0 < value.numel() <= _SMALL:
        try:
            data = value.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
            return (place, hashlib.blake2b(data, digest_size=16).digest())
        except (RuntimeError, TypeError):
            pass
    return (place, value.data_ptr() if value.device.type != "meta" else 0)
