"""Loads of pipelines, models and LoRAs, and changes of adapters."""
from __future__ import annotations

import os
import stat
import weakref
from typing import Any, Optional

from .. import _core
from ._patch import around
from .diffusers_lora import note_load

# What from_pretrained was told, by the pipeline or model it made.
_device_maps: "weakref.WeakKeyDictionary[Any, str]" = weakref.WeakKeyDictionary()
_SWITCHES = ("set_adapters", "fuse_lora", "unfuse_lora", "unload_lora_weights", "delete_adapters",
             "enable_lora", "disable_lora")


class _Load:
    def __init__(self, name: str, device_map: Optional[str], **args: Any) -> None:
        self.device_map = device_map
        self.span = _core.loading(name, **args)
        self.span.__enter__()


def _source(args: tuple, kwargs: dict) -> Optional[str]:
    """Path or repository, with its folder; the same for the same weights."""
    given = args[0] if args else next((kwargs[k] for k in (
        "pretrained_model_name_or_path", "pretrained_model_link_or_path",
        "pretrained_model_link_or_path_or_dict", "pretrained_model_name_or_path_or_dict")
        if k in kwargs), None)
    if not isinstance(given, (str, os.PathLike)):
        return None
    parts = [_without_secrets(os.fspath(given)), kwargs.get("subfolder"), kwargs.get("weight_name")]
    return "/".join(str(p) for p in parts if p)


def _bytes_of(file: Optional[str]) -> Optional[int]:
    """Of a single file on a disk; None for folders, repositories and addresses."""
    try:
        found = os.stat(file) if file is not None else None
    except (OSError, ValueError):
        return None
    return found.st_size if found is not None and stat.S_ISREG(found.st_mode) else None


def _without_secrets(address: str) -> str:
    """An address without user and query, which may hold tokens; a path as it is."""
    if "://" not in address:
        return address
    scheme, rest = address.split("?", 1)[0].split("://", 1)
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _begin_load(cls: Any, args: tuple, kwargs: dict) -> _Load:
    device_map, file = kwargs.get("device_map"), _source(args, kwargs)
    return _Load(getattr(cls, "__name__", "model"),
                 device_map if isinstance(device_map, str) else None, file=file,
                 bytes=_bytes_of(file))


def _end_load(load: _Load, _cls: Any, result: Any, error: Optional[BaseException]) -> None:
    load.span.__exit__(type(error) if error is not None else None, error, None)
    if load.device_map is not None and result is not None:
        try:
            _device_maps[result] = load.device_map
        except TypeError:  # no weak references
            pass


def device_map_of(pipeline: Any) -> Optional[str]:
    """"balanced" and the like as it was asked for; "custom" for a map that the program made."""
    try:
        asked = _device_maps.get(pipeline)
    except TypeError:
        asked = None
    if asked is not None:
        return asked
    return "custom" if getattr(pipeline, "hf_device_map", None) else None


def wrap_loaders(base: type) -> None:
    for method in ("from_pretrained", "from_single_file"):
        if hasattr(base, method):
            around(base, method, _begin_load, _end_load, f"diffusers.{base.__name__}")


def wrap_lora(kind: type) -> None:
    """Of a pipeline class."""
    if hasattr(kind, "load_lora_weights"):
        around(kind, "load_lora_weights", _begin_lora, _end_lora_load)
    for method in _SWITCHES:
        if hasattr(kind, method):
            around(kind, method, _begin_switch(method), _end_lora)


def _begin_lora(_self: Any, args: tuple, kwargs: dict) -> Any:
    file = _source(args, kwargs)
    span = _core.loading("lora", file=file, bytes=_bytes_of(file))
    span.__enter__()
    return span


def _end_lora_load(span: Any, self: Any, result: Any, error: Optional[BaseException]) -> None:
    _end_lora(span, self, result, error)
    if error is None:
        note_load(self)


def _begin_switch(method: str) -> Any:
    def begin(_self: Any, args: tuple, kwargs: dict) -> Any:
        span = _core.stage("lora_switch", change=method)
        span.__enter__()
        return span
    return begin


def _end_lora(span: Any, _self: Any, _result: Any, error: Optional[BaseException]) -> None:
    span.__exit__(type(error) if error is not None else None, error, None)
