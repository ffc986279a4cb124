"""vLLM and SGLang: each call for answers as a request, by what the engine itself says of it.

    request LLM.generate       vLLM: generate(), chat(); a stage inside of a request that is served
    request Engine.generate    SGLang: generate(), async_generate()

Both engines work in processes of their own and in batches, so there are no stages of one answer. Its tokens, its time to the
first token and what came from the cache are on the answer that the engine gives back; nothing is asked of it for us.
"""
from __future__ import annotations

import statistics
from contextvars import ContextVar
from types import ModuleType
from typing import Any, Iterable, Optional

from .. import _core
from .._imports import when_imported
from .._request import kind_of_generation
from ._patch import around
from ._report import done, problem


def install() -> None:
    report = lambda name, error: problem("llm_engines", f"{name}: {error!r}")
    when_imported("vllm.entrypoints.llm", _vllm, report)
    for module in ("sglang.srt.entrypoints.engine", "sglang.srt.server"):  # since and before 0.4.4
        when_imported(module, _sglang, report)


# --- vLLM

def _vllm(module: ModuleType) -> None:
    for method in ("generate", "chat"):
        if hasattr(module.LLM, method):
            around(module.LLM, method, _begin(f"LLM.{method}"), _end_vllm, "vllm.LLM")
    done("vllm")


_inside: "ContextVar[bool]" = ContextVar("genscope_llm_engine", default=False)  # chat() calls generate()


def _begin(name: str) -> Any:
    def begin(engine: Any, args: tuple, kwargs: dict) -> "Optional[tuple[int, Any]]":
        if kwargs.get("stream") or _inside.get() or not _core.enabled():
            return None
        _core.follow_context()  # several tasks may ask at once
        return _core.begin_detached(kind_of_generation(), name, images=0), _inside.set(True)
    return begin


def _end_vllm(token: "tuple[int, Any]", engine: Any, result: Any, error: Optional[BaseException]) -> None:
    _close(token, error, [_of_vllm(answer) for answer in result or ()])


def _of_vllm(answer: Any) -> "dict[str, Any]":
    told = getattr(answer, "metrics", None)
    outputs = getattr(answer, "outputs", None) or ()
    first = getattr(told, "first_token_latency", None) or None
    if first is None:  # before its second engine: moments
        first = _between(getattr(told, "arrival_time", None), getattr(told, "first_token_time", None))
    made = [len(output.token_ids) for output in outputs]
    span = _between(getattr(told, "first_token_ts", None), getattr(told, "last_token_ts", None)) \
        or _between(getattr(told, "first_token_time", None), getattr(told, "finished_time", None))
    queued = _between(getattr(told, "queued_ts", None), getattr(told, "scheduled_ts", None))
    return {"in": len(getattr(answer, "prompt_token_ids", None) or ()), "out": sum(made),
            "cached": getattr(answer, "num_cached_tokens", None), "first": first, "queued": queued,
            "each": span / (max(made) - 1) if span is not None and made and max(made) > 1 else None}


def _between(begin: Any, end: Any) -> Optional[float]:
    """None where a moment was not noted: then it is missing, or 0."""
    return end - begin if begin and end and end >= begin else None


# --- SGLang

def _sglang(module: ModuleType) -> None:
    engine = getattr(module, "Engine", None)
    if engine is None:
        return
    for method in ("generate", "async_generate"):
        if hasattr(engine, method):
            around(engine, method, _begin(f"Engine.{method}"), _end_sglang, "sglang.Engine")
    done("sglang")


def _end_sglang(token: "tuple[int, Any]", engine: Any, result: Any, error: Optional[BaseException]) -> None:
    answers = result if isinstance(result, list) else [result]
    _close(token, error, [_of_sglang(answer["meta_info"]) for answer in answers
                         if isinstance(answer, dict) and isinstance(answer.get("meta_info"), dict)])


def _of_sglang(told: "dict[str, Any]") -> "dict[str, Any]":
    first = told.get("ttft") or told.get("time_to_first_token")
    return {"in": told.get("prompt_tokens") or 0, "out": told.get("completion_tokens") or 0,
            "cached": told.get("cached_tokens"), "first": first, "queued": told.get("queue_time"), "each": None}


# --- both

def _close(token: "tuple[int, Any]", error: Optional[BaseException], answers: "list[dict[str, Any]]") -> None:
    span, inside = token
    _inside.reset(inside)
    if answers:
        _core.args(span, answers=len(answers), tokens_in=sum(a["in"] for a in answers),
                   tokens_out=sum(a["out"] for a in answers), **_present(
                       cached_tokens=_sum(a["cached"] for a in answers),
                       ttft_seconds=_median(a["first"] for a in answers),
                       tpot_seconds=_median(a["each"] for a in answers),
                       queue_seconds=_median(a["queued"] for a in answers)))
    _core.end_detached(span, error is not None)


def _present(**args: Any) -> "dict[str, Any]":
    return {key: value for key, value in args.items() if value is not None}


def _sum(values: "Iterable[Any]") -> Optional[int]:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _median(values: "Iterable[Any]") -> Optional[float]:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
