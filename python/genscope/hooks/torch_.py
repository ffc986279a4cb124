"""torch: facts of its set-up, what it compiles, and the loops of programs that train."""
from __future__ import annotations

import os
import sys
import weakref
from types import ModuleType
from typing import Any, Callable, Optional

from .._imports import when_imported
from . import k_diffusion_, torch_compile, torch_distributed
from ._patch import is_wrapped, wrap
from ._report import done, problem

_modes: "weakref.WeakKeyDictionary[Any, str]" = weakref.WeakKeyDictionary()


def install() -> None:
    when_imported("torch", _torch_is_there,
                  lambda name, error: problem("torch", f"after its import: {error!r}"))
    torch_distributed.install()
    k_diffusion_.install()
    try:
        from . import loops
    except ImportError as error:
        problem("torch", f"loops are not recorded: {error}")
    else:
        loops.install()


def _torch_is_there(torch: ModuleType) -> None:
    if wrap(torch, "compile", _note_mode, "torch"):
        done("torch")
    torch_compile.install()


# --- torch.compile

def _note_mode(original: Callable[..., Any]) -> Callable[..., Any]:
    def compile(model=None, *args, **kwargs):
        try:
            _remember(model, kwargs)
            model = _as_hooked(model)
        except Exception as error:
            problem("torch.compile", f"its mode was not read: {error!r}")
        return original(model, *args, **kwargs)
    return compile


def _as_hooked(model: Any) -> Any:
    """A VAE's `decode` that is compiled before the first pipeline call shows its class: the method with
    our mark around it, which dynamo skips, so that calls of what is compiled are seen."""
    components = sys.modules.get(__package__ + ".diffusers_components")
    owner = getattr(model, "__self__", None)
    if components is None or owner is None or is_wrapped(model) \
            or not type(owner).__module__.startswith("diffusers.models.autoencoders"):
        return model
    # By what it is: diffusers' own decorator has taken its name.
    name = next((n for n in ("decode", "encode") if getattr(owner, n, None) == model), None)
    components.wrap_autoencoder(type(owner))
    hooked = getattr(owner, name, None) if name is not None else None
    return hooked if is_wrapped(hooked) and hooked.__self__ is owner else model


def _remember(model: Any, kwargs: dict) -> None:
    """By the module: that which is given, or that whose method is."""
    owner = getattr(model, "__self__", model)
    backend = kwargs.get("backend", "inductor")
    mode = kwargs.get("mode") or "default"
    word = mode if backend == "inductor" else f"{backend}:{mode}" if isinstance(backend, str) else mode
    try:
        _modes[owner] = word
    except TypeError:  # a function, or nothing (used as a decorator)
        pass


def compile_mode(module: Any) -> Optional[str]:
    """Mode in which torch.compile was asked to compile this module; None if it was not."""
    try:
        return _modes.get(module)
    except TypeError:
        return None


# --- set-up

def environment() -> "dict[str, Any]":
    """Facts env.* and set.autocast, as they are now. Starts no device and loads no library."""
    torch = sys.modules.get("torch")
    if torch is None:
        return {}
    facts: "dict[str, Any]" = {
        "env.torch": str(torch.__version__),
        "env.launch_blocking": any(os.environ.get(name, "0") not in ("", "0") for name in (
            "CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL")),
        "env.miopen_find_mode": os.environ.get("MIOPEN_FIND_MODE")}
    for key, read in _READERS.items():
        try:
            facts[key] = read(torch)
        except Exception:
            pass  # this torch has it elsewhere: not known
    return facts


def _cudnn(torch: Any) -> Optional[str]:
    if not torch.cuda.is_initialized() or torch.version.cuda is None:
        return None
    number = torch.backends.cudnn.version()
    if not number:
        return None
    major, rest = divmod(number, 10000 if number >= 90000 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def _backend(torch: Any) -> Optional[str]:
    """The device that torch has started; None for none, since one may yet be."""
    if torch.cuda.is_initialized():
        return "rocm" if getattr(torch.version, "hip", None) else "cuda"
    for name in ("xpu", "mps"):
        module = getattr(torch, name, None)
        started = getattr(module, "is_initialized", None)
        if started is not None and started():
            return name
    return None


def _autocast(torch: Any) -> bool:
    try:
        return torch.is_autocast_enabled("cuda") or torch.is_autocast_enabled("cpu")
    except TypeError:  # before torch 2.4
        return torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()


_READERS: "dict[str, Callable[[Any], Any]]" = {
    "env.cudnn": _cudnn,
    "env.backend": _backend,
    "env.matmul_precision": lambda torch: torch.get_float32_matmul_precision(),
    "env.cudnn_benchmark": lambda torch: bool(torch.backends.cudnn.benchmark),
    "env.profiler_active": lambda torch: bool(torch.autograd._profiler_enabled()),
    "set.autocast": _autocast,
}
