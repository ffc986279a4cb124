"""ProfilingIntegration of document 002, and its helpers."""
from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import time
from typing import Any, Callable, Dict, Iterator, Optional

from .config import ProfilingConfig
from .decorators import around
from .profiler import _NOTHING, InferixProfiler

_FIELDS = [field.name for field in dataclasses.fields(ProfilingConfig)]


def _config_of(config: Any) -> Optional[ProfilingConfig]:
    """A ProfilingConfig from what programs have: one, a dict, a YAML file, or an object with an
    attribute `profiling_config`."""
    if config is None or isinstance(config, ProfilingConfig):
        return config
    if isinstance(config, (str, os.PathLike)):
        return ProfilingConfig.from_yaml(config)
    if isinstance(config, dict):
        given = config.get("profiling", config)
        return _config_of(given) if not isinstance(given, dict) else ProfilingConfig(**given)
    inner = getattr(config, "profiling_config", None)
    if inner is None:
        return None
    if isinstance(inner, (dict, ProfilingConfig)):
        return _config_of(inner)
    return ProfilingConfig(**{name: getattr(inner, name) for name in _FIELDS
                              if hasattr(inner, name)})


class ProfilingIntegration:
    """A profiler, or nothing at all: the program's code is the same."""

    def __init__(self, config: Any = None) -> None:
        found = _config_of(config)
        self.profiler = InferixProfiler(found) if found is not None and found.enabled else None

    @property
    def enabled(self) -> bool:
        return self.profiler is not None

    def start_session(self, session_id: Optional[str] = None, prompt: Optional[str] = None,
                      tags: "Optional[Dict[str, Any]]" = None) -> Optional[str]:
        if self.profiler is None:
            return None
        session_id, tags = _named(session_id, prompt, tags)
        return self.profiler.start_session(session_id, tags)

    def end_session(self) -> Optional[str]:
        return self.profiler.end_session() if self.profiler is not None else None

    @contextlib.contextmanager
    def session(self, session_id: Optional[str] = None, prompt: Optional[str] = None,
                tags: "Optional[Dict[str, Any]]" = None) -> Iterator[Optional[str]]:
        if self.profiler is None:
            yield None
            return
        with self.profiler.session(*_named(session_id, prompt, tags)) as opened:
            yield opened

    def stage(self, stage_name: str, metadata: "Optional[Dict[str, Any]]" = None) -> Any:
        return _NOTHING if self.profiler is None else self.profiler.stage(stage_name, metadata)

    def add_event(self, event_name: str, data: "Optional[Dict[str, Any]]" = None) -> None:
        if self.profiler is not None:
            self.profiler.add_event(event_name, data)

    def get_current_metrics(self) -> "Dict[str, Any]":
        return self.profiler.get_current_metrics() if self.profiler is not None else {}

    def cleanup(self) -> None:
        if self.profiler is not None:
            self.profiler.cleanup()


def _named(session_id: Optional[str], prompt: Optional[str],
           tags: "Optional[Dict[str, Any]]") -> "tuple[str, Dict[str, Any]]":
    every = dict(tags or {})
    now = int(time.time())
    if prompt:
        every["prompt"], every["prompt_length"] = prompt, len(prompt)
        digest = hashlib.md5(prompt.encode(), usedforsecurity=False).hexdigest()[:8]
        return session_id or f"session_{digest}_{now}", every
    return session_id or f"session_{now}", every


def profile_pipeline_function(stage_name: str,
                              profiling_integration: Optional[ProfilingIntegration] = None) -> Any:
    """Decorator: each call is a stage."""
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        return around(function, lambda *_: _NOTHING if profiling_integration is None
                      else profiling_integration.stage(stage_name))
    return decorate


def create_profiler_from_config(config: Any) -> Optional[ProfilingIntegration]:
    """From a ProfilingConfig, a dict (with or without `profiling`), the path of a YAML file, or an
    object with `profiling_config`; None if there is no config, or a dict or file turns it off."""
    if config is None:
        return None
    integration = ProfilingIntegration(config)
    if isinstance(config, (dict, str, os.PathLike)) and not integration.enabled:
        return None
    return integration


def get_profiling_summary(profiling_integration: Optional[ProfilingIntegration],
                          ) -> "Dict[str, Any]":
    """A few figures of now. None: not measured."""
    if profiling_integration is None or not profiling_integration.enabled:
        return {"profiling_enabled": False}
    now = profiling_integration.get_current_metrics()
    summary: "Dict[str, Any]" = {"profiling_enabled": True, "timestamp": now["timestamp"]}
    gpu, cpu = now.get("gpu"), now.get("cpu")
    if gpu:
        used, total = gpu["total_gpu_memory_used_mb"], gpu["total_gpu_memory_total_mb"]
        summary["gpu"] = {"memory_used_mb": used, "memory_total_mb": total,
                          "utilization_percent": gpu["max_gpu_utilization"],
                          "temperature_celsius": gpu["max_gpu_temperature"]}
        if used is not None and total:
            summary["gpu"]["memory_utilization_percent"] = 100 * used / total
        if "absent" in gpu:
            summary["gpu"]["absent"] = gpu["absent"]
    if cpu:
        summary["cpu"] = {"usage_percent": cpu["cpu_usage_percent"],
                          "memory_used_mb": cpu["memory_used_mb"],
                          "memory_total_mb": cpu["memory_total_mb"]}
    return summary
