"""The documents' own Python over genscope: only the import line changes.

    from genscope.compat import PerformanceMonitor, EpochPerformanceMonitor, InferixProfiler

| document | module |
|---|---|
| 000 generation monitor | genscope.compat.generation |
| 001 validator | genscope.compat.validator |
| 002 Inferix profiling | genscope.compat.inferix |
| 003 optimizer | genscope.compat.optimizer |
| 004 training monitor | genscope.compat.training |

Two documents have a PerformanceMonitor: the one here has the methods of both. Every name is loaded
when it is first used. docs/python-compat.md says what differs from the originals.
"""
from __future__ import annotations

import importlib
from typing import Any

_NAMES = {
    "generation": ("MonitoredGeneration", "PerformanceMetrics", "PipelineOptimizer",
                   "create_mmdit_performance_monitor", "monitor_generation_performance"),
    "validator": ("BenchmarkResult", "BenchmarkSuite", "PerformanceValidator", "compare_before_after",
                  "create_default_benchmark_suite", "create_performance_validator",
                  "validate_performance_improvement"),
    "inferix": ("BaseMonitor", "CPUMonitor", "DiffusionAnalyzer", "GPUMonitor", "InferixProfiler",
                "MetricSnapshot", "ProfilingConfig", "ProfilingIntegration", "ProfilingReporter",
                "ProfilingSession", "add_profiling_event", "aggregate_reports",
                "create_profiler_from_config", "get_profiling_summary",
                "profile_block_computation", "profile_diffusion_step", "profile_layer",
                "profile_method", "profile_model_parameters", "profile_pipeline_function",
                "profile_session", "profile_streaming"),
    "optimizer": ("AsyncTaskManager", "ExperimentTracker", "GPUManager", "ModelManager",
                  "OptimizationConfig", "PerformanceCache", "PerformanceOptimizer",
                  "PerformanceProfiler", "calculate_memory_usage", "create_optimization_config",
                  "create_performance_optimizer", "get_optimal_batch_size", "measure_execution_time",
                  "optimization_config_errors", "parallel_map", "retry_operation",
                  "validate_optimization_config"),
    "training": ("BatchMemoryProfiler", "EpochMemoryMonitor", "EpochPerformanceMonitor",
                 "MemoryMonitor", "MemoryTracker", "OperationMetrics", "monitor_memory",
                 "monitor_performance", "track_memory", "track_performance"),
    "_both": ("PerformanceMonitor",),
}
_MODULES = ("generation", "validator", "inferix", "optimizer", "training", "memory")
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [*_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module("." + _HOME[name], __name__), name)
    if name in _MODULES:
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module 'genscope.compat' has no attribute {name!r}")


def __dir__() -> "list[str]":
    return sorted(set(globals()) | set(__all__))
