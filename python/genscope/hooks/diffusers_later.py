"""Telling the facts, and those that only the end knows: changes of LoRAs, no autograd in the VAE, no
training, code that was compiled again after the first step. These are told as a session is closed, or at exit.
"""
from __future__ import annotations

import atexit
import functools
import sys
import weakref
from typing import Any, Optional

from .. import _core
from . import loops
from .diffusers_lora import Adapters
from .torch_compile import mark, watched

_told: "dict[str, Any]" = {}
_session = -1
_calls = 0
_graphs = {"first": 0, "again": 0}  # compiled in the process's first step; again after it, in the session
_grad_seen: Optional[bool] = None   # in this session
_switches = 0                       # in this session
_adapters: "weakref.WeakKeyDictionary[Any, Adapters]" = weakref.WeakKeyDictionary()


def tell(facts: "dict[str, Any]") -> None:
    """Tells what is news to the session."""
    _look_at_session()
    news = {key: value for key, value in facts.items()
            if value is not None and _told.get(key, _told) != value}
    if news:
        _told.update(news)
        _core.event("config", **news)


def _look_at_session() -> None:
    global _session, _grad_seen, _switches
    session = _core.stats()["sessions"]
    if session != _session:  # another run, which knows nothing yet
        _session, _grad_seen, _switches, _graphs["again"] = session, None, 0, 0
        _told.clear()
        _adapters.clear()


def see_adapters(pipeline: Any, adapters: Adapters) -> None:
    """At the begin of a call. A switch is a call with other adapters than one before had; the
    first adapters of all are set-up."""
    global _switches
    _look_at_session()
    before = _adapters.get(pipeline)
    if before is None and not adapters.in_use:
        return
    if before is not None and not adapters.same_picture(before):
        _switches += 1
    _adapters[pipeline] = adapters


def watch_grad(vae: Any) -> None:
    """Notes whether autograd records in the VAE of a program that does not train. Called as encode
    or decode begins."""
    global _grad_seen
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(vae, torch.nn.Module):
        return
    _look_at_session()
    if _grad_seen:
        return
    _grad_seen = bool(torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
                      and not loops.trains()
                      and any(p.requires_grad for p in vae.parameters()))
    if _grad_seen:
        tell({"set.vae_grad": True})


def call_ended(call: Any) -> None:
    global _calls
    _calls += 1
    _tell_at_the_end()
    begin, *rest = call.compiled
    first = rest[0] if rest and _calls == 1 else None
    if first is not None:
        _graphs["first"] += first.all - begin.all
    _graphs["again"] += mark().again - (first or begin).again


@functools.cache
def _tell_at_the_end() -> None:
    _core.at_close(tell_the_rest)
    atexit.register(tell_the_rest)


def tell_the_rest() -> None:
    """What is known by now and will not change: the session, or the process, ends."""
    if not _told or _core.stats()["sessions"] != _session:
        return  # nothing was generated in it
    facts: "dict[str, Any]" = {"lora.switches": _switches}
    if _grad_seen is False:
        facts["set.vae_grad"] = False
    if loops.trains() is False:
        facts["set.training"] = False
    if watched():
        facts["compile.active"] = _graphs["first"] > 0
        facts["compile.graph_growth"] = _graphs["again"]
    tell(facts)
