"""Facts for the advice, told as the event `config`: what is set as a pipeline call begins, and what was
seen when it ends, which then holds from its begin.

Only what changed since the last call is told. What only the end of all knows is in diffusers_later.py.
"""
from __future__ import annotations

import inspect
import weakref
from typing import Any, Callable, Optional

from . import diffusers_later as later, diffusers_load, diffusers_state as state
from ._report import problem
from .diffusers_arithmetic import arithmetic_of
from .diffusers_calls import Call
from .diffusers_components import is_autoencoder, is_denoiser, is_text_encoder, parts_of
from .diffusers_models import (architecture, config_value, device_of, quantisation, size_of,
                               text_architecture)
from .diffusers_lora import Adapters, adapters_of
from .diffusers_output import Made, made, said_size
from .torch_ import environment

_parameters: "dict[type, tuple[list[str], dict[str, Any]]]" = {}
_set_ups: "weakref.WeakKeyDictionary[Any, tuple[tuple, dict[str, Any]]]" = \
    weakref.WeakKeyDictionary()
_DISTILLED = ("turbo", "lightning", "schnell", "lcm", "hyper-sd", "hyper_sd", "distill")


def arguments(pipeline: Any, args: tuple, kwargs: dict) -> "dict[str, Any]":
    """The call's arguments by name, defaults included."""
    kind = type(pipeline)
    if kind not in _parameters:
        found = list(inspect.signature(kind.__call__).parameters.values())[1:]
        plain = [p for p in found if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        _parameters[kind] = ([p.name for p in plain],
                             {p.name: p.default for p in plain if p.default is not p.empty})
    names, defaults = _parameters[kind]
    return {**defaults, **dict(zip(names, args)), **kwargs}


def tell(pipeline: Any, parts: "dict[str, Any]", args: tuple, kwargs: dict,
         outermost: bool) -> "tuple[dict[str, Any], dict[str, Any], bool]":
    """Tells the facts; returns the call's arguments, those of the request's span that are labels (what
    the program asked for, whatever then ran), and whether its attention is to be looked at: the set-up is
    new, and nothing is compiled. A call inside of another tells nothing of its own: the request is the
    outer one."""
    said = arguments(pipeline, args, kwargs)
    labels = {"guidance_scale": _plain(said.get("guidance_scale")),
              "true_cfg_scale": _plain(said.get("true_cfg_scale")),
              "max_sequence_length": _whole(said.get("max_sequence_length"))}
    if not outermost:
        return said, labels, False
    width, height = said_size(pipeline, parts, said)
    facts = {**labels, "steps": _steps(said), "width": width, "height": height,
             "frames": _whole(said.get("num_frames")), "batch": _images(said)}
    adapters = _adapters(pipeline, parts)
    set_up, fresh = _set_up(pipeline, parts, adapters)
    facts.update(set_up)
    for read in (lambda: _reference(said), environment):
        facts.update(_guarded(pipeline, read))
    if facts.get("env.backend") is None and facts.get("model.device[denoiser]") == "cpu" \
            and facts.get("set.offload") == "none":
        facts["env.backend"] = "cpu"
    later.tell(facts)
    return said, labels, fresh and facts.get("set.compile") == "none"


def observed(call: Call, result: Any) -> "dict[str, Any]":
    """What the call turned out to be, for its span; told as facts too, while it is still open. `result`
    is None for a call that failed: then it is what was asked for."""
    pipeline, said = call.pipeline, call.said
    seen = made(pipeline, result, said) if result is not None else Made()
    width, height = (seen.width, seen.height) if seen.width else \
        said_size(pipeline, parts_of(pipeline), said)
    if seen.images is None and seen.audio_seconds is not None:
        width = height = None
    frames = seen.frames if seen.width else _whole(said.get("num_frames"))
    main, steps = _main_loop(call)
    args = {"steps": steps,
            "width": width, "height": height, "frames": frames,
            "images": _count(seen, said) if result is not None else None,
            "audio_seconds": seen.audio_seconds, **_cached(call),
            "guidance_passes": main.usual_passes(seen.images) if main is not None else None}
    if call.outer is None:
        later.tell({**args, "images": None, "batch": args["images"] or None, **_guidance(call, args)})
    return {key: args[key] for key in args if key != "guidance_passes"} | {
        "passes": args["guidance_passes"]}


def _count(seen: Made, said: "dict[str, Any]") -> int:
    """Pictures or clips; 0 for embeddings and sounds."""
    if seen.images is not None:
        return seen.images
    return _images(said) if said.get("output_type") == "latent" else 0


def _main_loop(call: Call) -> "tuple[Any, Optional[int]]":
    """The loop that the call is named after, and its steps. Of several: the last with as many steps as were
    asked for; of a pipeline that calls others, the last; else that with the most steps, and then what was
    asked for, or all of them, stands for the steps."""
    loops = [loop for loop in call.ended if loop.steps]
    asked = _steps(call.said)
    if len(loops) < 2:
        return (loops[0], loops[0].steps) if loops else (None, asked)
    as_asked = [loop for loop in loops if loop.steps == asked]
    if as_asked or call.calls_others:
        main = (as_asked or loops)[-1]
        return main, main.steps
    return max(loops, key=lambda loop: loop.steps), asked or sum(loop.steps for loop in loops)


def _cached(call: Call) -> "dict[str, Any]":
    """Of a step cache that tells: steps that it answered whole, and its rate over all forwards."""
    tries = sum(loop.tries for loop in call.ended)
    if not tries:
        return {}
    return {"cached_steps": sum(loop.skipped for loop in call.ended),
            "cache_hit_ratio": sum(loop.hits for loop in call.ended) / tries}


def _guidance(call: Call, args: "dict[str, Any]") -> "dict[str, Any]":
    """Mode: cfg where a step ran more than one pass for a sample, embedded where the denoiser takes the
    scale as an input, else none."""
    passes = args["guidance_passes"]
    if passes is None:
        return {}
    denoiser = next((part for name, part in parts_of(call.pipeline).items() if is_denoiser(name)), None)
    return {"guidance_mode": "cfg" if passes > 1 else
            "embedded" if state.embeds_guidance(denoiser) else "none"}


def _adapters(pipeline: Any, parts: "dict[str, Any]") -> Optional[Adapters]:
    try:
        adapters = adapters_of(pipeline, parts)
        later.see_adapters(pipeline, adapters)
        return adapters
    except Exception as error:
        problem(f"diffusers.{type(pipeline).__name__}", f"its LoRAs: {error!r}")
        return None


def _guarded(pipeline: Any, read: Callable[[], "dict[str, Any]"]) -> "dict[str, Any]":
    try:
        return read()
    except Exception as error:
        problem(f"diffusers.{type(pipeline).__name__}", f"some settings: {error!r}")
        return {}


def _set_up(pipeline: Any, parts: "dict[str, Any]",
            adapters: Optional[Adapters]) -> "tuple[dict[str, Any], bool]":
    """Facts that take a walk over all modules: again only when a part was changed, which is the second."""
    mark = (adapters, *_fingerprint(pipeline, parts))
    known = _set_ups.get(pipeline)
    fresh = known is None or known[0] != mark
    if known is None or fresh:
        facts = {**_guarded(pipeline, lambda: _models(pipeline, parts)),
                 **_guarded(pipeline, lambda: _settings(pipeline, parts)),
                 **(adapters.facts() if adapters is not None else {})}
        known = _set_ups[pipeline] = (mark, facts)
    return known[1], fresh


def _fingerprint(pipeline: Any, parts: "dict[str, Any]") -> tuple:
    marks: "list[Any]" = [_model_name(pipeline)]
    for name, part in parts.items():
        marks.append((name, id(part), id(getattr(pipeline, name, None))))
        own = getattr(part, "__dict__", None)
        if own is None:
            continue
        marks.extend(id(own.get(key)) for key in ("_hf_hook", "_diffusers_hook", "_cache_config",
                                                  "_compiled_call_impl", "forward"))
        marks.extend((own.get("use_tiling"), own.get("use_slicing")))
        if is_denoiser(name):
            marks.append(state.processor_mark(part))
        parameters = getattr(part, "parameters", None)
        first = next(iter(parameters()), None) if parameters is not None and "_modules" in own \
            else None
        marks.append((first.dtype, first.device) if first is not None else None)
    return tuple(marks)


def _whole(value: Any) -> Optional[int]:
    return value if type(value) is int else None


def _plain(value: Any) -> Any:
    return value if type(value) in (int, float) else None


def _steps(said: "dict[str, Any]") -> Optional[int]:
    for key in ("sigmas", "timesteps"):
        if isinstance(said.get(key), (list, tuple)):
            return len(said[key])
    return _whole(said.get("num_inference_steps"))


def _images(said: "dict[str, Any]") -> Optional[int]:
    """Pictures or clips that the call makes."""
    prompt, embeds = said.get("prompt"), said.get("prompt_embeds")
    if isinstance(prompt, (list, tuple)):
        count = len(prompt)
    elif isinstance(prompt, str):
        count = 1
    elif getattr(embeds, "shape", None):
        count = int(embeds.shape[0])
    else:
        count = _whole(said.get("batch_size")) or 1
    each = _whole(said.get("num_images_per_prompt")) or _whole(said.get("num_videos_per_prompt"))
    return count * (each or 1)


def _models(pipeline: Any, parts: "dict[str, Any]") -> "dict[str, Any]":
    sized = {name: size for name, part in parts.items() if (size := size_of(part)) is not None}
    denoisers = [name for name in sized if is_denoiser(name)]
    encoders = [name for name in sized if is_text_encoder(name)]
    chosen = {"denoiser": next(iter(denoisers), None),
              "vae": next((name for name in sized if is_autoencoder(name)), None),
              "text_encoder": max(encoders, key=lambda n: sized[n].parameters, default=None)}
    facts: "dict[str, Any]" = {
        "pipeline": type(pipeline).__name__, "model": _model_name(pipeline),
        "scheduler": type(parts["scheduler"]).__name__ if "scheduler" in parts else None,
        "model.total_bytes": sum(size.bytes for size in sized.values()) if sized else None,
        "model.experts": len(denoisers) if denoisers else None}
    for key, name in chosen.items():
        if name is not None:
            facts.update(_component(key, parts[name], sized[name]))
    for name, size in sized.items():
        facts[f"dtype[{name}]"] = size.dtype
        facts[f"params[{name}]"] = size.parameters
        facts[f"bytes[{name}]"] = size.bytes
    if chosen["denoiser"] is not None:
        denoiser = parts[chosen["denoiser"]]
        arch, family = architecture(denoiser, pipeline)
        facts.update({"model.arch[denoiser]": arch, "model.family[denoiser]": family,
                      "dtype": sized[chosen["denoiser"]].dtype})
    if chosen["text_encoder"] is not None:
        facts["model.arch[text_encoder]"] = text_architecture(parts[chosen["text_encoder"]])
    if sized:
        facts["model.conv3d"] = any(size.conv3d for size in sized.values())
    name = (facts["model"] or "").lower()
    if any(word in name for word in _DISTILLED):
        facts["model.distilled"] = True
    if any(word in type(pipeline).__name__ for word in ("Edit", "Kontext")):
        facts["model.edit"] = True
    return facts


def _reference(said: "dict[str, Any]") -> "dict[str, Any]":
    return {"set.reference_tokens": 0} if "image" in said and said["image"] is None else {}


def _model_name(pipeline: Any) -> Optional[str]:
    name = config_value(pipeline, "_name_or_path")
    return name if isinstance(name, str) and name else None


def _component(key: str, module: Any, size: Any) -> "dict[str, Any]":
    quant, found = quantisation(module), arithmetic_of(module)
    if quant == "none" and found is not None and found.library not in ("", "diffusers"):
        quant = found.weights if found.library == "bitsandbytes" else found.library
    facts = {f"model.dtype[{key}]": size.dtype, f"model.quant[{key}]": quant,
             f"model.bytes[{key}]": size.bytes, f"model.device[{key}]": device_of(module)}
    if found is not None:
        facts[f"model.weights[{key}]"] = found.weights
        facts[f"model.quantised_share[{key}]"] = found.share
        facts[f"model.arithmetic[{key}]"] = found.arithmetic
        if key == "denoiser" and found.arithmetic != "unknown":
            facts["set.compute_dtype"] = found.arithmetic
    if quant == "none" and size.parameters:  # packed weights are not counted by their elements
        facts[f"model.params[{key}]"] = size.parameters
        facts[f"model.bytes_per_param[{key}]"] = size.bytes / size.parameters
    return facts


def _settings(pipeline: Any, parts: "dict[str, Any]") -> "dict[str, Any]":
    modules = {name: part for name, part in parts.items() if size_of(part) is not None}
    facts: "dict[str, Any]" = {**state.offload(list(modules.values())),
                               "set.device_map": diffusers_load.device_map_of(pipeline) or "none"}
    if facts["set.device_map"] != "none":
        sizes = [size_of(part) for part in modules.values()]
        total = sum(size.parameters for size in sizes)
        facts["model.off_gpu_share"] = sum(s.off_gpu for s in sizes) / total if total else None
    for name, part in parts.items():
        if is_autoencoder(name):
            for key in ("tiling", "slicing"):
                value = getattr(part, f"use_{key}", None)
                if isinstance(value, bool):
                    facts[f"set.vae_{key}"] = value
    denoiser = next((name for name in modules if is_denoiser(name)), None)
    if denoiser is not None:
        module = modules[denoiser]
        facts.update(state.attention(module))
        facts["set.cache"] = state.cache(module)
        facts["set.compile"] = state.compiled(getattr(pipeline, denoiser), module)
        last = size_of(module).channels_last
        if last is not None:
            facts["set.memory_format"] = "channels_last" if last else "contiguous"
    return facts
