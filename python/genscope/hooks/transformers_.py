"""transformers: generate() as a request, its prefill and its tokens, pictures of VL models.

    request generate             a stage, inside of a request or of a diffusers pipeline
      stage text_processing      of models that are given pictures: what follows is below it
        stage prefill            until the first token is chosen
          stage vision_encode    get_image_features(), where there are pictures
        stage decode
          step 0, 1, ...         one for each further turn of the loop: a token, or more if assisted
    stage image_processing       a processor that is given pictures; else tokenize

The turns are told by GenerationMixin._has_unfinished_sequences, which every decoding loop asks
before each: outside of what is compiled, and after it has waited for a GPU by itself. Tokens are
counted from shapes, those of the prompt left out.
"""
from __future__ import annotations

import sys
import threading
import time
from typing import Any, Optional

from .. import _core
from .._imports import when_imported
from .._request import kind_of_generation
from . import llm_engines, transformers_pictures
from ._patch import around
from ._report import done, problem


class _Here(threading.local):
    def __init__(self) -> None:
        self.generation: Optional[Generation] = None


def install() -> None:
    report = lambda name, error: problem("transformers", repr(error))
    when_imported("transformers.generation.utils", _patch_generate, report)
    llm_engines.install()
    when_imported("transformers.processing_utils", transformers_pictures.patch_processors, report)


def _patch_generate(module: Any) -> None:
    mixin = getattr(module, "GenerationMixin", None)
    if mixin is None:
        problem("transformers", "transformers.generation.utils has no GenerationMixin")
        return
    if around(mixin, "generate", _begin, _end, "transformers"):
        done("transformers")
    around(mixin, "_has_unfinished_sequences", _turn_ends, _turn_begins, "transformers")
    if hasattr(mixin, "_update_model_kwargs_for_generation"):
        around(mixin, "_update_model_kwargs_for_generation", _see_cache, _nothing, "transformers")


class Generation:
    """A call of generate()."""

    def __init__(self, model: Any, args: tuple, kwargs: dict) -> None:
        self.model = model
        self.turns = 0
        self.cache: Any = None
        self.first_ns = 0  # when the first token was chosen
        self.pictures = any(kwargs.get(k) is not None for k in transformers_pictures.PICTURES)
        inputs = next((kwargs[k] for k in ("inputs", "input_ids", "inputs_embeds")
                       if kwargs.get(k) is not None), args[0] if args else None)
        self.tokens_in = _length(inputs)
        self.repeated = _repeated(model, inputs, kwargs)
        self.span = _core.begin("generate", _kind(), model=type(model).__name__,
                                tokens_in=self.tokens_in, batch=_first(inputs), images=0)
        self.text = _core.begin("text_processing") if self.pictures else 0
        self.part = _core.begin("prefill")
        self.step = 0
        self.begin_ns = time.perf_counter_ns()

    def turn_ends(self) -> None:
        """The loop asks whether to go on: the turn before, if there was one, is over."""
        if self.turns == 1:
            self.first_ns = time.perf_counter_ns()
        if self.step:
            _core.end(self.step)
            self.step = 0

    def turn_begins(self) -> None:
        if self.turns == 1:
            _core.end(self.part)
            self.part = _core.begin("decode")
        if self.turns >= 1:
            self.step = _core.begin("step", "step", index=self.turns - 1)
        self.turns += 1

    def end(self, result: Any, error: Optional[BaseException]) -> None:
        end_ns = time.perf_counter_ns()
        failed = error is not None
        for span in (self.step, self.part, self.text):
            if span:
                _core.end(span, failed)
        sequences = getattr(result, "sequences", result)
        total = _length(sequences)
        if total is not None and not failed:
            made = max(total - self.repeated, 0)
            _core.args(self.span, tokens_out=made, **self._pace(made, _first(sequences), end_ns))
        held = _cache_bytes(self.cache)
        if held:
            _core.args(self.span, kv_cache_bytes=held)
        self.cache = None
        _core.end(self.span, failed)

    def _pace(self, made: int, rows: Optional[int], end_ns: int) -> "dict[str, float]":
        """Time to the first token, time of each further one, and the rate of a single sequence: of several,
        those that ended early are filled up, and their tokens are not known."""
        if not self.first_ns:
            return {}
        pace = {"ttft_seconds": (self.first_ns - self.begin_ns) / 1e9}
        if made > 1:
            pace["tpot_seconds"] = (end_ns - self.first_ns) / 1e9 / (made - 1)
        if made and rows == 1 and end_ns > self.begin_ns:
            pace["tokens_per_second"] = made * 1e9 / (end_ns - self.begin_ns)
        return pace


_here = _Here()


def _kind() -> str:
    diffusers = sys.modules.get(__package__ + ".diffusers_calls")
    if diffusers is not None and diffusers.current() is not None:
        return "stage"
    return kind_of_generation()


def _shape(tensor: Any) -> "tuple[int, ...]":
    shape = getattr(tensor, "shape", None)
    return tuple(shape) if shape is not None else ()


def _length(tokens: Any) -> Optional[int]:
    """Of a sequence [batch, tokens] or of embeddings [batch, tokens, width]."""
    shape = _shape(tokens)
    return int(shape[1]) if len(shape) in (2, 3) else None


def _first(tokens: Any) -> Optional[int]:
    shape = _shape(tokens)
    return int(shape[0]) if shape else None


def _repeated(model: Any, inputs: Any, kwargs: dict) -> int:
    """Tokens that the answer begins with and that were not made: the question, or what an
    encoder-decoder's decoder starts with. An answer to embeddings alone begins with itself."""
    if _is_encoder_decoder(model):
        return _length(kwargs.get("decoder_input_ids")) or 1
    return (_length(inputs) or 0) if len(_shape(inputs)) == 2 else 0


def _cache_bytes(cache: Any) -> int:
    """Of the keys and values that a cache holds; 0 for a form that is not known."""
    if cache is None:
        return 0
    inner = [getattr(cache, name, None) for name in ("self_attention_cache", "cross_attention_cache")]
    if inner[0] is not None:
        return sum(_cache_bytes(each) for each in inner)
    tensors = [getattr(layer, name, None) for layer in getattr(cache, "layers", None) or ()
               for name in ("keys", "values")]
    if not tensors and isinstance(cache, (list, tuple)):
        tensors = [tensor for layer in cache if isinstance(layer, (list, tuple)) for tensor in layer]
    return sum(t.numel() * t.element_size() for t in tensors
               if hasattr(t, "numel") and hasattr(t, "element_size"))


def _see_cache(model: Any, args: tuple, kwargs: dict) -> None:
    generation = _here.generation
    if generation is not None and generation.cache is None and generation.model is model:
        outputs = args[0] if args else kwargs.get("outputs")
        generation.cache = getattr(outputs, "past_key_values", None)


def _nothing(token: Any, model: Any, result: Any, error: Optional[BaseException]) -> None:
    return None


def _is_encoder_decoder(model: Any) -> bool:
    return bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))


def _begin(model: Any, args: tuple, kwargs: dict) -> Optional[Generation]:
    if _here.generation is not None:  # an assistant's drafts are a part of the turn
        return None
    transformers_pictures.watch_model(model)
    _here.generation = Generation(model, args, kwargs)
    return _here.generation


def _end(generation: Generation, model: Any, result: Any, error: Optional[BaseException]) -> None:
    _here.generation = None
    generation.end(result, error)


def _turn_ends(model: Any, args: tuple, kwargs: dict) -> Optional[Generation]:
    generation = _here.generation
    if generation is None or generation.model is not model:
        return None
    generation.turn_ends()
    return generation


def _turn_begins(generation: Generation, model: Any, goes_on: Any,
                 error: Optional[BaseException]) -> None:
    if goes_on is True:
        generation.turn_begins()
