"""What a program tells a profiler: events, steps, blocks, models, frames, layers, memory."""
from __future__ import annotations

import time
from typing import Any, Dict, Optional

from ... import _core
from .._torch import number
from .config import ProfilingConfig
from .session import Figures, ProfilingSession

_MAX_NAMES = 10_000  # of models, of layers


class Telling:
    """The calls of InferixProfiler that take figures. The recorder gets them as events
    (docs/analysis.md)."""
    config: ProfilingConfig
    _only: Optional[ProfilingSession]  # what _book() gives, where it is the same for every thread

    def _book(self) -> ProfilingSession:
        raise NotImplementedError

    def add_event(self, event_name: str, data: "Optional[Dict[str, Any]]" = None) -> None:
        if not self.config.enabled:
            return
        book = self._only or self._book()
        book.add_event(event_name, data, book.recorded)

    def record_diffusion_step(self, step: Any, timestep: Any, block_size: Any,
                              computation_time_ms: Any, guidance_scale: Any = None) -> None:
        config = self.config
        if config.enabled and config.profile_diffusion_steps:
            book = self._only or self._book()
            book.add_step(step, timestep, block_size, computation_time_ms, guidance_scale,
                          book.recorded)

    def record_block_computation(self, block_index: Any, block_size: Any, computation_time_ms: Any,
                                 memory_usage_mb: Any = None) -> None:
        if not self.config.enabled or not self.config.profile_block_computation:
            return
        row = {"block_index": number(block_index), "block_size": number(block_size),
               "computation_time_ms": number(computation_time_ms),
               "memory_usage_mb": number(memory_usage_mb)}
        self._book().add_block(row)
        _core.event("block", ms=row["computation_time_ms"], index=row["block_index"],
                    frames=row["block_size"])

    def record_model_parameters(self, model_name: str, parameters_count: int,
                                model_type: str) -> None:
        if not self.config.enabled or not self.config.profile_model_parameters:
            return
        book = self._book()
        with book.lock:
            if len(book.models) < _MAX_NAMES:
                book.models[str(model_name)] = {"parameters_count": int(parameters_count),
                                                "model_type": str(model_type)}
        _core.event("model_parameters", name=str(model_name), parameters=int(parameters_count),
                    type=str(model_type))

    def record_streaming_event(self, batch_size: int, encoding_time_ms: float,
                               network_latency_ms: float = 0.0,
                               buffer_occupancy: float = 0.0) -> None:
        if not self.config.enabled:
            return
        book = self._book()
        with book.lock:
            book.streaming.add({"timestamp": book.unix(), "batch_size": batch_size,
                                "encoding_time_ms": encoding_time_ms,
                                "network_latency_ms": network_latency_ms,
                                "buffer_occupancy": buffer_occupancy})
            book.sent_frames += batch_size
            book.encoding_ms.add(encoding_time_ms)
            book.latency_ms.add(network_latency_ms)
        _core.event("streaming", batch_size=batch_size, encoding_time_ms=encoding_time_ms,
                    network_latency_ms=network_latency_ms, buffer_occupancy=buffer_occupancy)

    def record_dropped_frames(self, count: int = 1) -> None:
        if self.config.enabled:
            self._book().dropped_frames += count
            _core.event("dropped_frames", count=count)

    def start_layer_computation(self, layer_name: str) -> float:
        """A time for end_layer_computation(), of a clock that is never set."""
        return time.monotonic()

    def end_layer_computation(self, layer_name: str, start_time: float,
                              parameters_count: Optional[int] = None) -> float:
        """Milliseconds."""
        took = (time.monotonic() - start_time) * 1000
        if self.config.enabled:
            book = self._book()
            with book.lock:
                if len(book.layers) < _MAX_NAMES or layer_name in book.layers:
                    book.layers.setdefault(layer_name, Figures()).add(took)
                    book.layer_parameters[layer_name] = parameters_count
            _core.event("layer", name=layer_name, ms=took, parameters=parameters_count)
        return took

    def record_memory_event(self, event_type: str, size_bytes: int, allocator: str = "unknown",
                            context: str = "") -> None:
        if not self.config.enabled:
            return
        book = self._book()
        book.add_memory(event_type, size_bytes, {
            "timestamp": book.unix(), "event_type": event_type, "size_bytes": size_bytes,
            "allocator": allocator, "context": context})
        kind = "alloc" if event_type.startswith("alloc") else "free"
        _core.event("memory", type=kind, bytes=size_bytes)

    def record_cache_event(self, event_type: str, cache_size: int, requested_size: int = 0,
                           evicted_size: int = 0) -> None:
        """Of type hits, misses or evictions; an eviction is no request."""
        if not self.config.enabled:
            return
        book = self._book()
        with book.lock:
            if event_type in book.cache:
                book.cache[event_type] += 1
        kinds = {"hits": "hit", "misses": "miss", "evictions": "eviction"}
        kind = kinds.get(event_type, event_type)
        _core.event("cache", type=kind, size=cache_size, evicted=evicted_size)
