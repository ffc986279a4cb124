"""Figures of a run in W&B or MLflow, through their own modules, when they are asked for.

    gs.track_to("wandb")                       # into wandb's open run, when genscope's session ends
    gs.track_to("mlflow", run=gs.load(path))   # a run that is over, now

The figures are those of the report: stages, steps, CPU time, memory, GPUs, findings. Both modules are the
user's: genscope neither installs nor configures them.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Optional

BACKENDS = ("wandb", "mlflow")


def figures(run: Any) -> "dict[str, float]":
    """Name -> number, of what the run tells; nothing for what was not measured."""
    summary = run.summary
    out: "dict[str, float]" = {}

    def put(name: str, value: Any, scale: float = 1.0) -> None:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            out[f"genscope/{name}"] = value * scale

    put("wall_seconds", (summary.get("run") or {}).get("wall_ns"), 1e-9)
    for stage in summary.get("stages", []):
        label = f"{stage['kind']}/{stage['name']}"
        put(f"{label}/total_seconds", stage.get("total_ns"), 1e-9)
        put(f"{label}/p50_seconds", stage.get("p50_ns"), 1e-9)
        put(f"{label}/count", stage.get("count"))
    steps = summary.get("steps") or {}
    for key, value in steps.items():
        if key.endswith("_ns"):
            put(f"steps/{key[:-3]}_seconds", value, 1e-9)
        else:
            put(f"steps/{key}", value)
    process = summary.get("process") or {}
    put("cpu_seconds", process.get("cpu_ns"), 1e-9)
    put("peak_rss_bytes", process.get("peak_rss_bytes"))
    for i, gpu in enumerate(summary.get("gpus") or []):
        for key in ("memory_peak_bytes", "busy_mean_ratio", "energy_joules"):
            put(f"gpu{i}/{key}", gpu.get(key))
    put("findings", len(run.advise().get("findings", [])))
    return out


def _to_wandb(module: Any, run: Any) -> None:
    if module.run is None:
        raise RuntimeError("track_to('wandb'): call wandb.init() first; there is no open run")
    module.run.summary.update(figures(run))


def _to_mlflow(module: Any, run: Any) -> None:
    if module.active_run() is None:
        raise RuntimeError("track_to('mlflow'): call mlflow.start_run() first; there is no open run")
    # MLflow's names have no other characters than these.
    allowed = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. /")
    module.log_metrics({"".join(c if c in allowed else "_" for c in name): value
                        for name, value in figures(run).items()})


_WRITERS: "dict[str, Callable[[Any, Any], None]]" = {"wandb": _to_wandb, "mlflow": _to_mlflow}


def track_to(backend: str, run: Optional[Any] = None) -> None:
    """Sends the figures of `run` to the open run of "wandb" or "mlflow" now.

    Without `run` it sends those of the next session() that ends, if the backend's run is still open.

    >>> gs.track_to("wandb", gs.last())        # doctest: +SKIP
    """
    if backend not in _WRITERS:
        raise ValueError(f"track_to({backend!r}): there are {', '.join(BACKENDS)}")
    import importlib
    module = importlib.import_module(backend)  # ImportError names what to install
    if run is not None:
        from .analysis import Run
        _WRITERS[backend](module, run if isinstance(run, Run) else Run(run))
        return
    from . import _mark
    _mark.when_session_ends(lambda path: track_to(backend, path))
