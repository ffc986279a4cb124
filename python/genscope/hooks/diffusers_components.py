"""Which part of a pipeline is what, and the wrapping of their classes, each once."""
from __future__ import annotations

from typing import Any, Callable, Optional

from .. import _core
from .._prompts import recorded
from ._dynamo import compiling_check
from ._patch import around, wrap
from ._report import problem
from .diffusers_calls import Call, close_stage, current, open_stage

_DENOISERS = {"unet", "transformer", "prior", "decoder", "denoiser", "dit", "super_res_first",
              "super_res_last", "image_unet"}
_AUTOENCODERS = {"vae", "vqvae", "movq", "vqgan", "video_vae", "audio_vae", "image_vae"}
_ENCODE = ("encode_prompt", "_encode_prompt")
_done: "set[tuple[type, str]]" = set()


def _once(kind: type, what: str) -> bool:
    key = (kind, what)
    if key in _done:
        return False
    _done.add(key)
    return True


def unwrapped(module: Any) -> Any:
    """What torch.compile was given, for what it made of it."""
    inner = vars(module).get("_modules", {}) if hasattr(module, "__dict__") else {}
    return inner.get("_orig_mod", module) if isinstance(inner, dict) else module


def is_denoiser(name: str) -> bool:
    return name in _DENOISERS or name.startswith(("transformer_", "unet_"))


def is_autoencoder(name: str) -> bool:
    return name in _AUTOENCODERS


def is_text_encoder(name: str) -> bool:
    return name.startswith("text_encoder")


def parts_of(pipeline: Any) -> "dict[str, Any]":
    """Attributes of the pipeline object that could be components."""
    return {name: unwrapped(part) for name, part in vars(pipeline).items()
            if part is not None and not name.startswith("_")
            and not isinstance(part, (str, int, float, bool, list, tuple, dict))}


def prepare(pipeline: Any, parts: "dict[str, Any]") -> "dict[int, str]":
    """Wraps the classes of these parts. Returns the denoisers: id -> name."""
    encodes = any(hasattr(type(pipeline), method) for method in _ENCODE)
    names: "dict[int, str]" = {}
    for name, part in parts.items():
        kind = type(part)
        if is_denoiser(name) and callable(part):
            names[id(part)] = name
            _wrap_denoiser(kind)
        elif name.startswith("controlnet") and callable(part):
            if _once(kind, "controlnet"):
                around(kind, "__call__", _begin_controlnet, _end_controlnet, traced=True)
        elif name == "scheduler" or name.endswith("_scheduler"):
            if _once(kind, "scheduler"):
                around(kind, "step", _begin_scheduler, _end_scheduler, traced=True)
        elif is_autoencoder(name):
            _wrap_autoencoder(kind)
        elif is_text_encoder(name) and callable(part) and not encodes:
            if _once(kind, "text"):
                around(kind, "__call__", lambda self, args, kwargs: open_stage("text_encode"),
                       close_stage, traced=True)
        elif name.endswith("_processor") and hasattr(kind, "postprocess"):
            _wrap_processor(kind)
    return names


# --- denoisers

def _wrap_denoiser(kind: type) -> None:
    if not _once(kind, "denoiser"):
        return
    around(kind, "__call__", _begin_forward, _end_forward, traced=True)
    if hasattr(kind, "cache_context"):
        wrap(kind, "cache_context", _note_pass)


def _note_pass(original: Callable[..., Any]) -> Callable[..., Any]:
    compiling = compiling_check()

    def cache_context(self, name, *args, **kwargs):
        call = None if compiling() else current()
        if call is not None and isinstance(name, str):
            call.pass_name = name
        return original(self, name, *args, **kwargs)
    return cache_context


def _shape_of(args: tuple, kwargs: dict) -> Optional[str]:
    value = kwargs.get("hidden_states", kwargs.get("sample", args[0] if args else None))
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    shape = getattr(value, "shape", None)
    return "x".join([str(n) for n in shape]) if shape is not None else None


def _begin_forward(self: Any, args: tuple, kwargs: dict) -> Any:
    call = current()
    if call is None or call.in_forward:
        return None
    name = call.names.get(id(self))
    if name is None:
        return None
    call.at_work()
    span = _core.forward(name, shape=_shape_of(args, kwargs), **{"pass": call.pass_name})
    call.pass_name = None
    call.in_forward = True
    span.__enter__()
    return call, span


def _end_forward(token: "tuple[Call, Any]", _self: Any, _result: Any,
                 error: Optional[BaseException]) -> None:
    token[0].in_forward = False
    _end_span(token[1], _self, _result, error)


def _begin_controlnet(self: Any, args: tuple, kwargs: dict) -> Any:
    call = current()
    if call is None or call.in_controlnet:  # one of several, which are called as one
        return None
    call.at_work()
    span = _core.span("controlnet", "function")  # no pass of the denoiser
    call.in_controlnet = True
    span.__enter__()
    return call, span


def _end_controlnet(token: "tuple[Call, Any]", _self: Any, _result: Any,
                    error: Optional[BaseException]) -> None:
    token[0].in_controlnet = False
    _end_span(token[1], _self, _result, error)


def _end_span(span: Any, _self: Any, _result: Any, error: Optional[BaseException]) -> None:
    span.__exit__(type(error) if error is not None else None, error, None)


# --- schedulers

def _number(value: Any) -> Optional[float]:
    """A plain number, if reading it waits for no device."""
    if type(value) in (int, float):
        return value
    device = getattr(value, "device", None)
    if getattr(device, "type", None) == "cpu" and getattr(value, "ndim", None) == 0:
        try:
            return float(value)
        except (TypeError, ValueError, RuntimeError):  # a tensor without a value
            return None
    return None


def _begin_scheduler(self: Any, args: tuple, kwargs: dict) -> Any:
    call = current()
    if call is None or not call.is_clock(self):
        return None
    call.at_work()
    timestep = _number(kwargs.get("timestep", args[1] if len(args) > 1 else None))
    if timestep is not None:
        call.step.arg("timestep", timestep)
    span = _core.span("scheduler.step", "function")
    span.__enter__()
    return call, span


def _end_scheduler(token: "tuple[Call, Any]", self: Any, result: Any,
                   error: Optional[BaseException]) -> None:
    _end_span(token[1], self, result, error)
    token[0].step_done(error)


# --- text, VAE, pictures

def _wrap_autoencoder(kind: type) -> None:
    if not _once(kind, "vae"):
        return
    for method, stage, ends in (("encode", "vae_encode", False), ("decode", "vae_decode", True)):
        if hasattr(kind, method):
            around(kind, method, _stage_of_vae(stage, ends), close_stage, traced=True)
        elif method == "decode":
            problem(f"diffusers.{kind.__name__}", "it has no decode")


def _stage_of_vae(stage: str, ends: bool) -> Callable[[Any, tuple, dict], Any]:
    from .diffusers_later import watch_grad

    def begin(self: Any, args: tuple, kwargs: dict) -> Any:
        watch_grad(self)
        return open_stage(stage, ends)
    return begin


def _wrap_processor(kind: type) -> None:
    if not _once(kind, "post"):
        return
    for method in ("postprocess", "postprocess_video"):
        if hasattr(kind, method):
            around(kind, method, lambda self, args, kwargs: open_stage("post", True), close_stage)


def _prompt_key(args: tuple, kwargs: dict) -> Optional[str]:
    """What a run keeps of a prompt: its hash. Embeddings have none."""
    texts = [value for value in (*args, *kwargs.values())
             if isinstance(value, str) or (isinstance(value, list) and value
                                           and isinstance(value[0], str))]
    if not texts:
        return None
    return recorded(repr(texts))


def wrap_encoders(kind: type) -> None:
    """Of a pipeline class: its methods that turn prompts and pictures into embeddings."""
    if not _once(kind, "encoders"):
        return
    method = next((m for m in _ENCODE if hasattr(kind, m)), None)
    if method is not None:
        around(kind, method,
               lambda self, args, kwargs: open_stage("text_encode",
                                                     prompt=_prompt_key(args, kwargs)),
               close_stage, traced=True)
    if hasattr(kind, "encode_image"):
        around(kind, "encode_image",
               lambda self, args, kwargs: open_stage("image_encode"), close_stage)
