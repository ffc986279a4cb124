"""Make a generation service fast: lanes, cache, models, batches, limits, retries.

    pipe = gs.optimize.wrap(pipe, cache="2GB")
"""
from .adapters import diffusers_pipeline, torch_model
from .batch import Admission, Batcher, BatchSearch, Probe, Rejected, desired_replicas, optimal_batch
from .cache import Cache, CacheKey, key
from .context import Cancelled, Context, Timeout, checkpoint, current_context
from .lanes import Lane, Limiter, Permit, with_timeout
from .map import parallel_map, parallel_stream, thread_map
from .models import Adapter, Device, DeviceManager, ModelError, ModelManager
from .pipeline import wrap
from .retry import Breaker, BreakerOpen, Failed, RetryBudget, classify, hedge, retry
from .scope import LiveTask, Scope, live_tasks
from .service import Service

__all__ = [
    "Adapter", "Admission", "BatchSearch", "Batcher", "Breaker", "BreakerOpen", "Cache", "CacheKey", "Cancelled",
    "Context", "Device", "DeviceManager", "Failed", "Lane", "Limiter", "LiveTask", "ModelError", "ModelManager", "Permit",
    "Probe", "Rejected", "RetryBudget", "Scope", "Service", "Timeout", "checkpoint", "classify", "current_context", "desired_replicas",
    "diffusers_pipeline", "hedge", "key", "live_tasks", "optimal_batch", "parallel_map", "parallel_stream", "retry", "thread_map",
    "torch_model", "with_timeout", "wrap",
]
