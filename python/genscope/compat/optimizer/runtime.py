"""PerformanceOptimizer: the document's orchestrator."""
from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import Any, Callable, Dict, Iterable, List, Optional

from ... import _core
from .._benchmark import Absent
from .cache import PerformanceCache
from .config import ConfigError, OptimizationConfig, optimization_config_errors
from .devices import GPUManager
from .models import ModelManager, local_folder
from .profiler import PerformanceProfiler
from .tasks import AsyncTaskManager
from .tracker import ExperimentTracker
from .values import Count, ProcessedText, VideoData, frames_of, seed_of

logger = logging.getLogger("genscope.compat.optimizer")


class PerformanceOptimizer:
    """Texts and generations of one model, from any number of tasks. Its parts: gpu_manager,
    model_manager, task_manager, cache (None if it is off), profiler, experiment_tracker.

    A config with errors is a ConfigError that lists them all; a model that is not on this machine is
    a ModelMissing, from initialize(). `notes` says of settings that do nothing, why.
    """

    def __init__(self, config: Optional[OptimizationConfig] = None) -> None:
        self.config = config or OptimizationConfig()
        problems = optimization_config_errors(self.config)
        if problems:
            raise ConfigError(problems)
        c = self.config
        self.gpu_manager = GPUManager(c.gpu_ids, c.max_memory_usage, use_gpu=c.use_gpu)
        self.cache = PerformanceCache(c.cache_size, c.cache_ttl) if c.cache_enabled else None
        self.model_manager = ModelManager(c, self.gpu_manager, self.cache.of_results() if self.cache else None)
        self.task_manager = AsyncTaskManager(c.max_concurrent_tasks, c.task_timeout)
        probes = [name for name, wanted in (("process", c.profile_cpu or c.profile_memory),
                                            ("system", c.profile_cpu), ("cgroup", c.profile_memory)) if wanted]
        self.profiler = PerformanceProfiler(c.enable_profiling, name=c.experiment_name, probes=probes)
        self.experiment_tracker: Optional[ExperimentTracker] = None
        self._own_notes = c.void_settings()
        self._mutex = threading.Lock()
        self._requests = self._failed = 0
        self._seconds = 0.0
        self._text_hits = self._text_misses = 0

    @property
    def notes(self) -> "Dict[str, str]":
        """Setting -> why it has no effect here."""
        notes = {**self._own_notes, **self.model_manager.notes}
        if self.config.use_gpu and self.gpu_manager.absent:
            notes["gpu_ids"] = "; ".join(f"{name}: {why}" for name, why in self.gpu_manager.absent.items())
        return notes

    async def initialize(self) -> None:
        """Checks that the model is here and opens what records; the model is loaded when first used."""
        local_folder(self.config.model_name)
        for name, reason in self._own_notes.items():
            logger.warning("%s has no effect: %s", name, reason)
        self.profiler.start_profiling()
        if self.experiment_tracker is None:
            self.experiment_tracker = ExperimentTracker(self.config)
            self.experiment_tracker.log_config()

    # --- what it does

    async def optimize_text_processing(self, text: str) -> ProcessedText:
        """Tokens and the encoder's output, kept for the next time. It is a str: use it as a prompt."""
        return await self._measured("text_processing", self._text, str(text))

    async def optimize_video_generation(self, prompt: str, *, seed: Optional[int] = 0, fps: float = 8.0,
                                        **kwargs: Any) -> VideoData:
        """Calls the pipeline with kwargs. The same prompt, seed and settings run once while they are
        kept. seed=None draws another for each call; a `generator` of yours is used as it is."""
        return await self._measured("video_generation", self._video, str(prompt), seed, fps, kwargs)

    async def run_batch_optimization(self, tasks: "Iterable[Dict[str, Any]]") -> "List[Any]":
        """{"type": "text", "text": ...} and {"type": "video", "prompt": ..., "kwargs": {...}}, in order.
        One that fails is its exception in the list; the others go on."""
        works = [self._work(at, task) for at, task in enumerate(tasks)]
        with _core.batch("optimizer", size=len(works)):
            return list(await asyncio.gather(*(work() for work in works), return_exceptions=True))

    def _work(self, at: int, task: "Dict[str, Any]") -> Callable[[], Any]:
        kind = task.get("type") if isinstance(task, dict) else None
        needed = {"text": "text", "video": "prompt"}.get(str(kind))
        if needed is None or needed not in task:
            raise ValueError(f"tasks[{at}]: {task!r} is neither {{'type': 'text', 'text': ...}} nor "
                             "{'type': 'video', 'prompt': ..., 'kwargs': {...}}")
        if kind == "text":
            return lambda: self.optimize_text_processing(task["text"])
        return lambda: self.optimize_video_generation(task["prompt"], **(task.get("kwargs") or {}))

    async def _measured(self, what: str, work: Callable[..., Any], *args: Any) -> Any:
        began = time.perf_counter()
        failed = True
        try:
            with _core.span(what, "task"):
                result = await self.task_manager.run_task(work, *args)
            failed = False
            return result
        finally:
            seconds = time.perf_counter() - began
            with self._mutex:
                self._requests += 1
                self._failed += failed
                self._seconds += seconds
            self.profiler.record_metric(f"{what}_time", seconds)
            if self.experiment_tracker is not None:
                self.experiment_tracker.log_metric(f"{what}_time", seconds)

    async def _text(self, text: str) -> ProcessedText:
        pipe = await self.model_manager.load_diffusion_pipeline()
        key = ("text", self.config.model_name, self.config.tokenizer_name, text)
        if self.cache is not None:
            kept = await self.cache.get(key)
            with self._mutex:
                self._text_hits += kept is not None
                self._text_misses += kept is None
            if kept is not None:
                return kept
        tokenizer = await self._tokenizer(pipe)
        made = await asyncio.to_thread(pipe.genscope.hold, lambda: _processed(pipe, tokenizer, text))
        if self.cache is not None:
            await self.cache.set(key, made)
        return made

    async def _tokenizer(self, pipe: Any) -> Any:
        """The model's own: an encoder reads no other's tokens."""
        own = getattr(pipe, "tokenizer", None)
        if own is None:
            return await self.model_manager.load_tokenizer()
        self.model_manager.notes.setdefault("tokenizer_name", "the model has its own, which its encoder needs")
        return own

    async def _video(self, prompt: str, seed: Optional[int], fps: float, kwargs: "Dict[str, Any]") -> VideoData:
        import torch
        pipe = await self.model_manager.load_diffusion_pipeline()
        used = seed_of(seed)
        call = {"generator": torch.Generator().manual_seed(used), **kwargs, "output_type": "pil"}
        result = await pipe.acall(prompt=prompt, **call)
        return VideoData(frames_of(result), used, fps)

    # --- what it tells

    async def get_optimization_stats(self) -> "Dict[str, Any]":
        """The document's keys; failed_requests, seconds_saved, bypassed, notes besides. What was not
        measured is Absent or None."""
        hits, misses, saved, bypassed = self._text_hits, self._text_misses, 0.0, {}
        for pipe in self.model_manager.pipelines():
            stats = pipe.genscope.stats()
            if stats["cache"] is not None:
                hits += stats["hits"] + stats["shared"]
                misses += stats["runs"]
                saved += stats["seconds_saved"]
                bypassed.update(stats["bypassed"])
        with self._mutex:
            requests, failed, seconds = self._requests, self._failed, self._seconds
        return {
            "total_requests": requests, "cache_hits": Count(hits), "cache_misses": Count(misses),
            "average_processing_time": seconds / requests if requests else Absent("no request yet"),
            "gpu_utilization": self.gpu_manager.utilization(),
            "memory_info": await self.gpu_manager.get_memory_info(),
            "metrics_summary": self.profiler.get_metrics_summary(),
            "cache_size": await self.cache.size() if self.cache is not None else 0,
            "active_tasks": len(self.task_manager.active_tasks),
            "failed_requests": failed, "seconds_saved": saved, "bypassed": bypassed, "notes": self.notes,
        }

    async def cleanup(self) -> None:
        """Stops what runs, ends the records, gives models and memory back. May be called again."""
        await self.task_manager.cancel_all_tasks()
        if self.experiment_tracker is not None:
            self.experiment_tracker.finish()
        self.profiler.stop_profiling()
        await self.model_manager.unload_all()
        if self.cache is not None:
            await self.cache.clear()

    async def __aenter__(self) -> "PerformanceOptimizer":
        await self.initialize()
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.cleanup()


def _processed(pipe: Any, tokenizer: Any, text: str) -> ProcessedText:
    import torch
    encoder = getattr(pipe, "text_encoder", None)
    whole = tokenizer(text)["input_ids"]
    limit = getattr(tokenizer, "model_max_length", None)
    limit = limit if isinstance(limit, int) and limit < 1 << 20 else len(whole)
    tokens = tokenizer(text, truncation=True, max_length=limit, return_tensors="pt")
    embedding = None
    if encoder is not None:
        with torch.no_grad():
            embedding = encoder(**{name: tensor.to(encoder.device) for name, tensor in tokens.items()})[0].cpu()
    ids = tokens["input_ids"][0].tolist()
    return ProcessedText(text, ids, len(ids), len(whole) > limit, embedding)


async def create_performance_optimizer(config: Optional[OptimizationConfig] = None) -> PerformanceOptimizer:
    """Made and initialized."""
    optimizer = PerformanceOptimizer(config)
    await optimizer.initialize()
    return optimizer
