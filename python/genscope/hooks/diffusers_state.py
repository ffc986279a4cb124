"""How a pipeline is set up at this moment: offload, attention, caches, compile."""
from __future__ import annotations

import sys
import weakref
from typing import Any, Optional

from .diffusers_models import config_value

_CACHES = (("fbc", "FirstBlockCache"), ("mag", "MagCache"), ("taylorseer", "TaylorSeer"),
           ("faster_cache", "FasterCache"), ("pab", "PyramidAttentionBroadcast"))
_CACHE_HOOKS = {"fbc_": "fbc", "mag_": "mag", "taylorseer": "taylorseer",
                "faster_cache": "faster_cache", "pyramid_attention": "pab"}
# Names of diffusers' attention back ends -> those of our rules.
_BACKENDS = {"native": "sdpa", "_native_math": "math", "_native_cudnn": "cudnn",
             "_native_flash": "flash", "_native_efficient": "efficient"}

# Denoiser -> its first layer of attention.
_first_attention: "weakref.WeakKeyDictionary[Any, weakref.ref[Any]]" = weakref.WeakKeyDictionary()


def parts_of(model: Any) -> Any:
    """Its torch modules; none where it is no torch module."""
    return model.modules() if hasattr(model, "modules") else ()


def hooks_of(module: Any) -> "dict[str, Any]":
    """diffusers' own hooks on a module, by name."""
    hooks = getattr(vars(module).get("_diffusers_hook"), "hooks", None)
    return hooks if isinstance(hooks, dict) else {}


def offload(modules: "list[Any]") -> "dict[str, Any]":
    """set.offload and what belongs to it, of all components."""
    for module in modules:
        for part in module.modules():
            group = hooks_of(part).get("group_offloading")
            if group is not None:
                return _group(group)
            hook = vars(part).get("_hf_hook")
            if hook is None:
                continue
            for each in getattr(hook, "hooks", (hook,)):  # a SequentialHook has several
                if type(each).__name__ == "CpuOffload":
                    return {"set.offload": "model"}
                if getattr(each, "offload", False):
                    return {"set.offload": "sequential"}
    return {"set.offload": "none"}


def _group(hook: Any) -> "dict[str, Any]":
    facts: "dict[str, Any]" = {"set.offload": "group"}
    config = getattr(hook, "config", None)
    kind = getattr(config, "offload_type", None)
    if kind is not None:
        facts["set.offload_type"] = str(getattr(kind, "value", kind))
    low = getattr(config, "low_cpu_mem_usage", None)
    if isinstance(low, bool):
        facts["set.offload_low_cpu_mem"] = low
    return facts


def patched_cache(denoiser: Any) -> Optional[str]:
    """Name of a step cache that was patched into the denoiser from outside of diffusers."""
    if getattr(denoiser, "_is_cached", False) is True:
        return "dbcache"  # cache-dit
    if getattr(denoiser, "enable_teacache", False) is True:
        return "teacache"
    return "mag" if getattr(denoiser, "magcache_thresh", None) is not None else None


def cache(denoiser: Any) -> str:
    """Name of the step cache, or none."""
    patched = patched_cache(denoiser)
    if patched is not None:
        return patched
    config = getattr(denoiser, "_cache_config", None)
    if config is not None:
        kind = type(config).__name__
        return next((name for name, prefix in _CACHES if kind.startswith(prefix)), kind)
    for part in parts_of(denoiser):
        for hook in hooks_of(part):
            for prefix, name in _CACHE_HOOKS.items():
                if hook.startswith(prefix):
                    return name
    return "none"


def cache_states(denoiser: Any) -> Any:
    """What keeps the state of a step cache that decides anew in each forward; None without one."""
    if getattr(denoiser, "_cache_config", None) is None:
        return None
    for part in parts_of(denoiser):
        for name, hook in hooks_of(part).items():
            states = getattr(hook, "state_manager", None)
            if states is not None and any(name.startswith(prefix) for prefix in _CACHE_HOOKS):
                return states
    return None


def was_cached(states: Any) -> Optional[bool]:
    """Whether the forward that ends took its blocks from the cache; None where that is not told."""
    held = getattr(states, "_state_cache", None)
    state = held.get(getattr(states, "_current_context", None)) if isinstance(held, dict) else None
    computes = getattr(state, "should_compute", None)
    return not computes if isinstance(computes, bool) else None


def attention(denoiser: Any) -> "dict[str, Any]":
    """set.attn, set.attn_processor, set.attn_slicing; nothing where no processor is to be seen."""
    processors = [p for part in parts_of(denoiser) if (p := _processor(part)) is not None]
    if not processors:
        return {}
    sliced = next((p for p in processors if _is_sliced(p)), None)
    processor = sliced or processors[0]
    kind = type(processor).__name__
    facts: "dict[str, Any]" = {"set.attn_processor": kind, "set.attn_slicing": sliced is not None}
    backend = _backend(processor, kind)
    if backend is not None:
        facts["set.attn"] = backend
    return facts


def _processor(part: Any) -> Any:
    return part.__dict__.get("processor") or part.__dict__.get("_modules", {}).get("processor")


def _is_sliced(processor: Any) -> bool:
    return "Sliced" in type(processor).__name__


def processor_mark(denoiser: Any) -> Any:
    """Changes when diffusers sets other processors, which it does in all layers."""
    try:
        layer = _first_attention[denoiser]()
    except (KeyError, TypeError):
        parts = parts_of(denoiser)
        layer = next((part for part in parts if _processor(part) is not None), None)
        if layer is not None:
            _first_attention[denoiser] = weakref.ref(layer)
    return id(type(_processor(layer))) if layer is not None else None


def _backend(processor: Any, kind: str) -> Optional[str]:
    if "XFormers" in kind:
        return "xformers"
    if kind in ("AttnProcessor", "SlicedAttnProcessor", "AttnAddedKVProcessor"):
        return "naive"
    if hasattr(type(processor), "_attention_backend"):  # it goes through attention_dispatch
        chosen = processor._attention_backend
        if chosen is None:
            dispatch = sys.modules.get("diffusers.models.attention_dispatch")
            registry = getattr(dispatch, "_AttentionBackendRegistry", None)
            chosen = getattr(registry, "_active_backend", None)
        word = str(getattr(chosen, "value", chosen))
        if "flash_3" in word:
            return "flash3"
        for family in ("sage", "flash", "xformers", "flex"):
            if word.lstrip("_").startswith(family):
                return family
        return _BACKENDS.get(word, word) if chosen is not None else None
    return "sdpa" if kind.endswith("2_0") else None


def compiled(given: Any, denoiser: Any) -> str:
    """none, or the mode of torch.compile, of the whole or of its blocks."""
    from .torch_ import compile_mode
    if given is not denoiser:  # what torch.compile returned is in the pipeline
        return compile_mode(denoiser) or "default"
    for part in parts_of(denoiser):
        if vars(part).get("_compiled_call_impl") is not None:
            return compile_mode(part) or "default"
    if type(vars(denoiser).get("forward")).__name__ == "function" \
            and hasattr(denoiser.forward, "_torchdynamo_orig_callable"):
        return compile_mode(denoiser) or "default"
    return "none"


def embeds_guidance(denoiser: Any) -> bool:
    """Whether the scale of guidance is an input of this denoiser."""
    return bool(config_value(denoiser, "guidance_embeds")
                or config_value(denoiser, "time_cond_proj_dim"))
