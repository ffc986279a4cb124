"""Which part of a pipeline is what, and the wrapping of their classes, each once."""
from __future__ import annotations

from typing import Any, Callable, Optional

from .. import _core
from .._prompts import recorded
from ._dynamo import compiling_check
from ._patch import around, wrap
from . import diffusers_blocks
from . import diffusers_own as own
from ._report import problem
from .diffusers_calls import Call, close_stage, current, open_stage
from .diffusers_later import tell as tell_later
from .diffusers_loop import place_of
from .diffusers_state import cache as cache_name
from .diffusers_state import cache_states, patched_cache, was_cached

_DENOISERS = {"unet", "transformer", "prior", "decoder", "denoiser", "dit", "super_res_first",
              "super_res_last", "image_unet"}
_AUTOENCODERS = {"vae", "vqvae", "movq", "vqgan", "video_vae", "audio_vae", "image_vae"}
_ENCODE = ("encode_prompt", "_encode_prompt")
_ENCODE_IMAGE = ("encode_image", "_encode_image")
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
    return name.startswith("text_encoder") or name == "bert"


def is_image_encoder(name: str) -> bool:
    return name.startswith(("image_encoder", "vision_encoder"))


def parts_of(pipeline: Any) -> "dict[str, Any]":
    """Attributes of the pipeline object that could be components."""
    return {name: unwrapped(part) for name, part in vars(pipeline).items()
            if part is not None and not name.startswith("_")
            and not isinstance(part, (str, int, float, bool, list, tuple, dict))}


def prepare(pipeline: Any, parts: "dict[str, Any]") -> "dict[int, str]":
    """Wraps the classes of these parts. Returns the denoisers: id -> name."""
    encodes = any(hasattr(type(pipeline), method) for method in _ENCODE)
    sees = any(hasattr(type(pipeline), method) for method in _ENCODE_IMAGE)
    names: "dict[int, str]" = {}
    for name, part in parts.items():
        kind = type(part)
        if is_denoiser(name) and callable(part):
            # What torch.compile made keeps the __call__ that the module had then: it is watched itself.
            for each in (part, getattr(pipeline, name, part)):
                names[id(each)] = name
                wrap_denoiser(type(each))
        elif name.startswith("controlnet") and callable(part):
            if _once(kind, "controlnet"):
                around(kind, "__call__", _begin_controlnet, _end_controlnet, traced=True)
        elif name == "scheduler" or name.endswith("_scheduler"):
            wrap_scheduler(kind)
        elif is_autoencoder(name):
            wrap_autoencoder(kind)
        elif is_text_encoder(name) and not encodes:
            _wrap_encoder(pipeline, name, part, "text_encode")
        elif is_image_encoder(name) and not sees:
            _wrap_encoder(pipeline, name, part, "image_encode")
        elif name.endswith("_processor") and hasattr(kind, "postprocess"):
            _wrap_processor(kind)
    return names


def _wrap_encoder(pipeline: Any, name: str, part: Any, stage: str) -> None:
    """Of a pipeline that has no method for it: the model's own calls are the stage."""
    for each in (part, getattr(pipeline, name, part)):
        if callable(each) and _once(type(each), stage) and not _is_compiled(each):
            around(type(each), "__call__",
                   lambda self, args, kwargs: open_stage(stage, alone=True), close_stage, traced=True)


def _is_compiled(part: Any) -> bool:
    return unwrapped(part) is not part


def step_caches(pipeline: Any, parts: "dict[str, Any]") -> "dict[int, Any]":
    """Of the denoisers that have one: id -> what it keeps."""
    found: "dict[int, Any]" = {}
    for name, part in parts.items():
        states = _cache_of(part) if is_denoiser(name) else None
        if states is not None:
            found[id(part)] = found[id(getattr(pipeline, name, part))] = states
    return found


def _cache_of(denoiser: Any) -> Any:
    patched = patched_cache(denoiser)
    if patched is None and cache_name(denoiser) != "mag":
        return cache_states(denoiser)
    return diffusers_blocks.watch(denoiser)


# --- denoisers

def wrap_denoiser(kind: type) -> None:
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


def _input_of(args: tuple, kwargs: dict) -> Any:
    value = kwargs.get("hidden_states", kwargs.get("sample"))
    if value is None:
        value = kwargs.get("x", args[0] if args else None)
    return value


def _shape_of(value: Any) -> Optional[str]:
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    shape = getattr(value, "shape", None)
    return "x".join([str(n) for n in shape]) if shape is not None else None


def _begin_forward(self: Any, args: tuple, kwargs: dict) -> Any:
    call = current()
    if call is None:
        return _begin_own_forward(self, args, kwargs)
    if call.in_forward:
        return None
    name = call.names.get(id(self))
    if name is None:
        return None
    value = _input_of(args, kwargs)
    call.at_forward(name, value)
    span = _core.forward(name, shape=_shape_of(value), **{"pass": call.pass_name})
    call.pass_name = None
    call.in_forward = True
    kept = call.caches.get(id(self)) if call.caches else None
    call.blocks = kept if isinstance(kept, diffusers_blocks.Blocks) else None
    if call.attention is not None:
        call.attention.begin()
    span.__enter__()
    return call, span


def _begin_own_forward(self: Any, args: tuple, kwargs: dict) -> Any:
    """In a loop of the program's own."""
    value = _input_of(args, kwargs)
    loop = own.forward_of(self, value)
    if loop is None:
        return None
    span = _core.forward(type(self).__name__, shape=_shape_of(value))
    loop.in_forward = True
    span.__enter__()
    return loop, span


def _end_forward(token: "tuple[Any, Any]", self: Any, _result: Any,
                 error: Optional[BaseException]) -> None:
    call, span = token
    call.in_forward = False
    watch, call.attention = call.attention, None
    if watch is not None:
        kernel = watch.end()
        if kernel is not None:
            tell_later({"set.attn_kernel": kernel})
    if call.caches and call.loop is not None:
        if call.blocks is not None:
            ran, hit = call.blocks.ended()
            call.blocks = None
            span.arg("blocks", ran)
        else:
            hit = was_cached(call.caches.get(id(self)))
        if hit is not None:
            call.loop.saw_cache(hit)
            span.arg("cached", hit)
    _end_span(span, self, _result, error)


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


def wrap_scheduler(kind: type) -> None:
    if not _once(kind, "scheduler"):
        return
    around(kind, "step", _begin_scheduler, _end_scheduler, traced=True)
    if hasattr(kind, "set_timesteps"):
        around(kind, "set_timesteps", _begin_schedule, close_stage)


def _begin_schedule(self: Any, args: tuple, kwargs: dict) -> None:
    call = current()
    if call is not None:
        call.at_schedule()
    else:
        own.announced(self)


def _begin_scheduler(self: Any, args: tuple, kwargs: dict) -> Any:
    call = current()
    timestep = kwargs.get("timestep", args[1] if len(args) > 1 else None)
    sample = kwargs.get("sample", args[2] if len(args) > 2 else None)
    if call is None:
        mine = own.step_of(self, timestep, sample)
        return _opened_step(mine, mine.loop, self, timestep) if mine is not None else None
    last = call.last_loop()
    if last is not None and not last.counts(self, timestep):
        if last.clock is self:
            last.saw_sample_again(sample)
        return None
    loop = call.at_work()
    if loop is not last:
        loop.counts(self, timestep)
    loop.saw_sample(sample)
    return _opened_step(call, loop, self, timestep)


def _opened_step(owner: Any, loop: Any, scheduler: Any, timestep: Any) -> Any:
    number = _number(timestep)
    if number is not None:
        loop.step.arg("timestep", number)
    span = _core.span("scheduler.step", "function")
    span.__enter__()
    return owner, span, place_of(scheduler, timestep)


def _end_scheduler(token: "tuple[Any, Any, Any]", self: Any, result: Any,
                   error: Optional[BaseException]) -> None:
    owner, span, place = token
    _end_span(span, self, result, error)
    if isinstance(owner, Call):
        owner.step_done(self, place, error)
    else:
        own.step_done(owner, self, place, error)


# --- text, VAE, pictures

def wrap_autoencoder(kind: type) -> None:
    if not _once(kind, "vae"):
        return
    for method, stage in (("encode", "vae_encode"), ("decode", "vae_decode")):
        if hasattr(kind, method):
            around(kind, method, _stage_of_vae(stage), close_stage, traced=True)
        elif method == "decode":
            problem(f"diffusers.{kind.__name__}", "it has no decode")


def _stage_of_vae(stage: str) -> Callable[[Any, tuple, dict], Any]:
    from .diffusers_later import watch_grad

    def begin(self: Any, args: tuple, kwargs: dict) -> Any:
        watch_grad(self)
        return open_stage(stage)
    return begin


def _wrap_processor(kind: type) -> None:
    if not _once(kind, "post"):
        return
    for method in ("postprocess", "postprocess_video"):
        if hasattr(kind, method):
            around(kind, method, lambda self, args, kwargs: open_stage("post"), close_stage)


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
    method = next((m for m in _ENCODE_IMAGE if hasattr(kind, m)), None)
    if method is not None:
        around(kind, method, lambda self, args, kwargs: open_stage("image_encode"), close_stage)
