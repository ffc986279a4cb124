"""genscope shows where a generative-AI program spends its time, memory and energy.

Without a change to the program:   genscope run -- python gen.py

By hand:                                        In a notebook:
    import genscope as gs                           %load_ext genscope
    with gs.session("my-model"):                    %%genscope
        with gs.stage("text_encoding"):             image = pipe("a cat")
            text = encode(prompt)
        for i in gs.steps(range(20)):           Afterwards:
            latent = denoise(latent, text, i)       run = gs.last()
        with gs.stage("vae_decode", tiles=4):       print(run.report())
            image = decode(latent)                  run.advise()["findings"]

Record    session                       opens a run, or joins that of `genscope run`
          stage step block span         intervals, for `with`: stage("vae_decode", tiles=4)
          loading forward request       ... of a kind that reports know
          batch epoch task
          steps(loop)                   each turn of a loop is a step
          @profile   wrap(module)       each call of a function, of a module
          begin end                     where `with` does not fit
          event counter configure       an instant, a value over time, facts for the advice
          name_thread set_enabled enabled current flush stats
Read      load(path) last()             a Run: spans, counters, stages(), report(), advise()
          report advise compare         also of paths
          inspect predict               what a model is, what it should cost
          track_to                      figures into W&B or MLflow
Modules   hooks callbacks asgi          libraries, trainers, web applications
          bench optimize compat         prove a change; caches and queues; calls of other tools

help(gs.stage) and so on have an example each. Recording never raises and never waits: when
something runs out, it drops spans and counts them. Outside of a session it does nothing.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._core import (Session, Span, batch, begin, block, counter, current, enabled, end, epoch,
                    event, flush, forward, loading, name_thread, request, set_enabled, span, stage,
                    stats, step, task)
from ._asyncio import watch as _watch_asyncio
from ._device import watch as _watch_device
from ._mark import configure, profile, session, steps, wrap
from ._version import VERSION as __version__

_watch_asyncio()
_watch_device()

if TYPE_CHECKING:  # editors complete what is loaded later
    from . import (analysis as analysis, asgi as asgi, bench as bench, callbacks as callbacks,
                   compat as compat, hooks as hooks, optimize as optimize, tracking as tracking)
    from .analysis import (Run as Run, advise as advise, compare as compare, inspect as inspect,
                           last as last, load as load, predict as predict, report as report)
    from .tracking import track_to as track_to

# Loaded when first used: reading runs is for another moment than recording them.
_LAZY = {
    "load": "analysis", "last": "analysis", "report": "analysis", "advise": "analysis",
    "compare": "analysis",
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
    import difflib
    near = [] if name.startswith("_") else difflib.get_close_matches(name, __all__, 1)
    raise AttributeError(f"module 'genscope' has no attribute {name!r}"
                         + (f"; did you mean {near[0]!r}?" if near else ""))


def load_ipython_extension(shell: Any) -> None:
    """For `%load_ext genscope`: adds the magic %%genscope."""
    from .notebook import add_magic
    add_magic(shell)


def __dir__():
    return sorted(set(globals()) | set(__all__))
