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


def cache(denoiser: Any) -> str:
    """Name of the step cache, or none."""
    config = getattr(denoiser, "_cache_config", None)
    if config is not None:
        kind = type(config).__name__
        return next((name for name, prefix in _CACHES if kind.startswith(prefix)), kind)
    for part in denoiser.modules():
        for hook in hooks_of(part):
            for prefix, name in _CACHE_HOOKS.items():
                if hook.startswith(prefix):
                    return name
    return "none"


def attention(denoiser: Any) -> "dict[str, Any]":
    """set.attn, set.attn_processor, set.attn_slicing; nothing where no processor is to be seen."""
    processors = [p for part in denoiser.modules() if (p := _processor(part)) is not None]
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
        parts = denoiser.modules() if hasattr(denoiser, "modules") else ()
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
    for part in denoiser.modules():
        if vars(part).get("_compiled_call_impl") is not None:
            return compile_mode(part) or "default"
    if type(vars(denoiser).get("forward")).__name__ == "function" \
            and hasattr(denoiser.forward, "_torchdynamo_orig_callable"):
        return compile_mode(denoiser) or "default"
    return "none"


def guidance(pipeline: Any, denoiser: Any, said: "dict[str, Any]") -> "dict[str, Any]":
    """Mode none, cfg or embedded, and the passes it takes, by the rules of diffusers' pipelines."""
    scale, true_scale = said.get("guidance_scale"), said.get("true_cfg_scale")
    name = type(pipeline).__name__
    if "PAG" in name or getattr(pipeline, "guider", None) is not None:
        return {}
    negative = any(said.get(key) is not None
                   for key in ("negative_prompt", "negative_prompt_embeds"))
    embeds = bool(config_value(denoiser, "guidance_embeds")
                  or config_value(denoiser, "time_cond_proj_dim"))
    if "true_cfg_scale" in said:
        mode = "cfg" if _above_one(true_scale) and negative else "embedded" if embeds else "none"
    elif "guidance_scale" in said:
        mode = "embedded" if embeds else "cfg" if _above_one(scale) else "none"
    else:
        mode = "none"
    return {"guidance_mode": mode, "guidance_passes": 2 if mode == "cfg" else 1}


def _above_one(value: Any) -> bool:
    return isinstance(value, (int, float)) and value > 1
