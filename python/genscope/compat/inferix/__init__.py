"""Document 002's profiler: `from genscope.compat.inferix import InferixProfiler, ProfilingConfig`.

docs/python-compat.md says what differs from Inferix.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .config import ProfilingConfig
from .decorators import (add_profiling_event, profile_block_computation, profile_diffusion_step,
                         profile_layer, profile_method, profile_model_parameters, profile_session,
                         profile_streaming)
from .diffusion_analyzer import DiffusionAnalyzer
from .integration import (ProfilingIntegration, create_profiler_from_config, get_profiling_summary,
                          profile_pipeline_function)
from .monitors import BaseMonitor, CPUMonitor, GPUMonitor, MetricSnapshot
from .profiler import InferixProfiler
from .reporter import ProfilingReporter
from .session import ProfilingSession

if TYPE_CHECKING:
    from . import aggregate_reports


def __getattr__(name: str) -> Any:
    """aggregate_reports is a program as well, `python -m`, which must not be imported before it runs."""
    if name == "aggregate_reports":
        return importlib.import_module(".aggregate_reports", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["BaseMonitor", "CPUMonitor", "DiffusionAnalyzer", "GPUMonitor", "InferixProfiler",
           "MetricSnapshot", "ProfilingConfig", "ProfilingIntegration", "ProfilingReporter",
           "ProfilingSession", "add_profiling_event", "aggregate_reports",
           "create_profiler_from_config", "get_profiling_summary", "profile_block_computation",
           "profile_diffusion_step", "profile_layer", "profile_method", "profile_model_parameters",
           "profile_pipeline_function", "profile_session", "profile_streaming"]
