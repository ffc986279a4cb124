"""ComfyUI: each prompt a request, each node a task, and inside of them loads, encodings, sampling.

    request prompt
      task KSampler              a node, by its class
        load model               load_models_gpu()
        stage denoise            the sampler's loop
          step 0, 1, ...         to the sampler's own callback of each step
            forward Flux         the model
      task VAEDecode
        stage vae_decode

Names as in ComfyUI of January 2026: execution.PromptExecutor, comfy_execution.progress,
comfy.model_management, comfy.samplers, comfy.sd, comfy.model_base. Whichever has moved is told as a
problem, and the others go on.
"""
from __future__ import annotations

import sys
from typing import Any, Optional

from .. import _core
from .._imports import when_imported
from .._request import kind_of_generation, serving
from . import comfyui_models, comfyui_nodes
from ._patch import around
from ._report import done, problem


def install() -> None:
    report = lambda name, error: problem("comfyui", f"{name}: {error!r}")
    when_imported("execution", _patch_executor, report)
    when_imported("comfy_execution.progress", comfyui_nodes.patch, report)
    when_imported("comfy.model_management", comfyui_models.patch_loading, report)
    when_imported("comfy.samplers", comfyui_models.patch_samplers, report)
    when_imported("comfy.sd", comfyui_models.patch_encoders, report)
    when_imported("comfy.model_base", comfyui_models.patch_models, report)


def _patch_executor(module: Any) -> None:
    executor = getattr(module, "PromptExecutor", None)
    if executor is None:
        if "comfy" in sys.modules:  # else a module of somebody else's
            problem("comfyui", "execution has no PromptExecutor")
        return
    name = "execute_async" if hasattr(executor, "execute_async") else "execute"
    if around(executor, name, _begin_prompt, _end_prompt, "comfyui"):
        done("comfyui")


def _begin_prompt(executor: Any, args: tuple, kwargs: dict) -> "tuple[int, Any]":
    prompt = kwargs.get("prompt", args[0] if args else None)
    nodes = prompt if isinstance(prompt, dict) else {}
    facts = settings(nodes)
    if facts:
        _core.event("config", **facts)
    span = _core.begin("prompt", kind_of_generation(), nodes=len(nodes))
    return span, serving.set(True)


def _end_prompt(token: "tuple[int, Any]", executor: Any, result: Any,
                error: Optional[BaseException]) -> None:
    span, inside = token
    serving.reset(inside)
    # It catches what its nodes raise, and keeps that it did.
    failed = error is not None or getattr(executor, "success", True) is False
    comfyui_nodes.close_open(failed)
    _core.end(span, failed)


_FACTS = {"steps": "set.steps", "cfg": "guidance_scale", "width": "width", "height": "height",
          "batch_size": "batch", "length": "frames", "sampler_name": "scheduler"}


def settings(prompt: "dict[str, Any]") -> "dict[str, Any]":
    """Settings that the graph itself holds; one that two nodes give differently is left out."""
    found: "dict[str, set]" = {}
    for node in prompt.values():
        inputs = node.get("inputs") if isinstance(node, dict) else None
        for key, value in (inputs.items() if isinstance(inputs, dict) else ()):
            if key in _FACTS and isinstance(value, (int, float, str)) \
                    and not isinstance(value, bool):
                found.setdefault(_FACTS[key], set()).add(value)
    return {fact: values.pop() for fact, values in found.items() if len(values) == 1}
