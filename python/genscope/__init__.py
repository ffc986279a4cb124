"""genscope: where a generative-AI pipeline spends its time, memory and energy.

    import genscope as gs

    with gs.session("qwen-image"):
        with gs.stage("text_encoding"):
            encode()
        for i in gs.steps(range(20)):
            denoise(i)
        with gs.stage("vae_decode", tiles=4):
            decode()

Recording never raises and never waits: without memory it drops and counts; without a session, or
outside of `genscope run`, it does nothing. Importing this costs a few milliseconds and imports
nothing beyond the standard library.
"""
from __future__ import annotations

from ._core import (Session, Span, batch, begin, block, counter, current, enabled, end, epoch,
                    event, flush, forward, loading, name_thread, request, set_enabled, span, stage,
                    stats, step, task)
from ._asyncio import watch as _watch_asyncio
from ._device import watch as _watch_device
from ._mark import configure, profile, session, steps, wrap
from ._version import VERSION as __version__

_watch_asyncio()
_watch_device()

# Loaded when first used: reading runs is for another moment than recording them.
_LAZY = {
    "load": "analysis", "report": "analysis", "advise": "analysis", "compare": "analysis",
    "inspect": "analysis", "predict": "analysis", "Run": "analysis",
    "track_to": "tracking",
}
_MODULES = ("analysis", "asgi", "bench", "callbacks", "compat", "hooks", "optimize",
            "tracking")

__all__ = ["Session", "Span", "batch", "begin", "block", "configure", "counter", "current",
           "enabled", "end", "epoch", "event", "flush", "forward", "loading", "name_thread",
           "profile", "request", "session", "set_enabled", "span", "stage", "stats", "step",
           "steps", "task", "wrap", *_LAZY, *_MODULES]


def __getattr__(name: str):
    import importlib
    if name in _LAZY:
        return getattr(importlib.import_module("." + _LAZY[name], __name__), name)
    if name in _MODULES:
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module 'genscope' has no attribute {name!r}")


def __dir__():
    return sorted(set(globals()) | set(__all__))
