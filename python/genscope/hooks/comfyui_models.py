"""ComfyUI's models: loading, text encoders, VAE, the sampler's loop and the denoiser's passes."""
from __future__ import annotations

from typing import Any, Callable, Optional

from .. import _core
from ._patch import around, wrap
from ._report import problem

# Class of comfy.sd -> method -> stage. One that calls another is one stage.
_STAGES = {
    "CLIP": {"encode_from_tokens_scheduled": "text_encode", "encode_from_tokens": "text_encode"},
    "VAE": {"encode": "vae_encode", "encode_tiled": "vae_encode",
            "decode": "vae_decode", "decode_tiled": "vae_decode"},
}
_inside: "list[str]" = []


def _simple_end(span: int, self: Any, result: Any, error: Optional[BaseException]) -> None:
    _core.end(span, error is not None)


# --- loading

def patch_loading(module: Any) -> None:
    around(module, "load_models_gpu", _begin_load, _end_load, "comfyui.model_management")


def _begin_load(models: Any, args: tuple, kwargs: dict) -> "tuple[int, list[Any]]":
    given = list(models if models is not None else kwargs.get("models") or ())
    names = [type(getattr(m, "model", m)).__name__ for m in given]
    return _core.begin("models", "load", model=", ".join(names)), given


def _end_load(token: "tuple[int, list[Any]]", models: Any, result: Any,
              error: Optional[BaseException]) -> None:
    span, given = token
    patches = 0
    for model in given:
        counter = getattr(model, "lowvram_patch_counter", None)
        number = counter() if callable(counter) else counter
        patches += number if type(number) is int else 0
    if patches:  # weights that did not fit are patched at each use
        _core.event("config", **{"load.lowvram_patches": patches, "load.partial": True})
    _core.end(span, error is not None)


# --- text encoders, VAE

def patch_encoders(module: Any) -> None:
    for name, methods in _STAGES.items():
        owner = getattr(module, name, None)
        if owner is None:
            problem("comfyui.sd", f"comfy.sd has no {name}")
            continue
        for method, stage in methods.items():
            around(owner, method, _begin_stage(stage), _end_stage, "comfyui.sd." + name)


def _begin_stage(stage: str) -> Callable[..., Optional[int]]:
    def begin(self: Any, args: tuple, kwargs: dict) -> Optional[int]:
        if stage in _inside:
            return None
        _inside.append(stage)
        return _core.begin(stage)
    return begin


def _end_stage(span: int, self: Any, result: Any, error: Optional[BaseException]) -> None:
    _inside.pop()
    _core.end(span, error is not None)


# --- sampling

def patch_samplers(module: Any) -> None:
    sampler = getattr(module, "KSAMPLER", None)
    if sampler is None:
        problem("comfyui.samplers", "comfy.samplers has no KSAMPLER")
        return
    wrap(sampler, "sample", _with_steps, "comfyui.samplers")


class _Steps:
    """The steps of one loop: each ends with the sampler's callback, which it calls once for each."""

    def __init__(self, then: Optional[Callable[..., Any]], sigmas: Any) -> None:
        self._then = then
        self.span = _core.begin("step", "step", index=0) if len(sigmas) > 1 else 0
        self.index = 0

    def __call__(self, step: Any, denoised: Any, x: Any, total: Any) -> Any:
        _core.end(self.span)
        self.span = 0
        result = self._then(step, denoised, x, total) if self._then is not None else None
        self.index += 1
        if not isinstance(total, int) or self.index < total:
            self.span = _core.begin("step", "step", index=self.index)
        return result


def _with_steps(original: Callable[..., Any]) -> Callable[..., Any]:
    def sample(self, model_wrap, sigmas, extra_args, callback=None, *args, **kwargs):
        stage = _core.begin("denoise", "stage", steps=len(sigmas) - 1)
        steps = _Steps(callback, sigmas)
        failed = True
        try:
            result = original(self, model_wrap, sigmas, extra_args, steps, *args, **kwargs)
            failed = False
            return result
        finally:
            if steps.span:
                _core.end(steps.span, failed)
            _core.end(stage, failed)
    return sample


# --- the denoiser

def patch_models(module: Any) -> None:
    around(module.BaseModel, "apply_model", _begin_forward, _simple_end, "comfyui.model_base",
           traced=True)


def _begin_forward(model: Any, args: tuple, kwargs: dict) -> int:
    options = kwargs.get("transformer_options")
    passes = options.get("cond_or_uncond") if isinstance(options, dict) else None
    return _core.begin(type(model).__name__, "forward",
                       passes=len(passes) if isinstance(passes, (list, tuple)) else None)
