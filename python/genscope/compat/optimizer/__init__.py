"""Document 003: the asynchronous performance optimizer, over genscope.optimize. docs/python-compat.md
says what differs from the original.

    optimizer = await create_performance_optimizer(OptimizationConfig(model_name="./sd-turbo"))
    try:
        video = await optimizer.optimize_video_generation("a lake", num_inference_steps=20, seed=7)
    finally:
        await optimizer.cleanup()
"""
from __future__ import annotations

from .cache import PerformanceCache
from .config import (ConfigError, ConfigProblem, OptimizationConfig, create_optimization_config,
                     optimization_config_errors, validate_optimization_config)
from .devices import GPUManager
from .functions import (calculate_memory_usage, get_optimal_batch_size, measure_execution_time,
                        parallel_map, retry_operation)
from .models import ModelManager, ModelMissing
from .profiler import PerformanceProfiler
from .runtime import PerformanceOptimizer, create_performance_optimizer
from .tasks import AsyncTaskManager
from .tracker import ExperimentTracker
from .values import ProcessedText, VideoData

__all__ = [
    "AsyncTaskManager", "ConfigError", "ConfigProblem", "ExperimentTracker", "GPUManager",
    "ModelManager", "ModelMissing", "OptimizationConfig", "PerformanceCache", "PerformanceOptimizer",
    "PerformanceProfiler", "ProcessedText", "VideoData", "calculate_memory_usage",
    "create_optimization_config", "create_performance_optimizer", "get_optimal_batch_size",
    "measure_execution_time", "optimization_config_errors", "parallel_map", "retry_operation",
    "validate_optimization_config"]
