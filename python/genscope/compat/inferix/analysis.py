"""The figures of an Inferix report, with its keys. What was not measured is None or left out."""
from __future__ import annotations

import time
from typing import Any, Dict, List, Optional

from .session import Figures, ProfilingSession

BOTTLENECK_PERCENT = 30.0
THROTTLE_CELSIUS = 85.0
SMALL_ALLOCATION = 1024 * 1024
RECENT_EVENTS = 10  # of the stream, for current_fps


def prepare(session: ProfilingSession, gpu_data: "List[Any]", cpu_data: "List[Any]",
            before: Optional[ProfilingSession] = None) -> "Dict[str, Any]":
    from . import recommendations
    report: "Dict[str, Any]" = {
        "session_info": {"id": session.session_id, "start_time": session.start_time,
                         "end_time": session.end_time, "duration": session.duration,
                         "tags": session.tags, "generated_at": time.time()},
        "summary": {}, "gpu_metrics": {}, "cpu_metrics": {}, "stage_analysis": {},
        "events": events(session), "recommendations": []}
    if session.events.dropped:
        report["events_dropped"] = session.events.dropped
    if gpu_data:
        report["gpu_metrics"] = gpu(session, gpu_data)
        report["summary"]["gpu"] = gpu_summary(report["gpu_metrics"])
    elif session.gpu_absent:
        report["gpu_absent"] = session.gpu_absent
    if cpu_data:
        report["cpu_metrics"] = cpu(session, cpu_data)
        report["summary"]["cpu"] = cpu_summary(report["cpu_metrics"])
    if session.stages:
        report["stage_analysis"] = stages(session)
    if before is not None and before.stages:
        report["before_session"] = stages(before)
    for key, make in (("streaming_analysis", streaming), ("computation_analysis", layers),
                      ("memory_analysis", memory), ("cache_analysis", cache),
                      ("diffusion_analysis", diffusion), ("model_analysis", models),
                      ("block_analysis", blocks)):
        found = make(session)
        if found:
            report[key] = found
    report["recommendations"] = recommendations.of(report)
    return report


def events(session: ProfilingSession) -> "List[Dict[str, Any]]":
    return [{"name": name, "timestamp": session.unix(at), "data": data}
            for name, at, data in session.events.rows]


# --- samples

def _column(data: "List[Any]", key: str) -> Figures:
    figures = Figures()
    for row in data:
        figures.add(row.metrics.get(key))
    return figures


def _at(session: ProfilingSession, row: Any) -> float:
    """A sample's time on the session's own clock: a clock that is set moves no sample."""
    return session.start_time + row.monotonic - session.begin


def energy_joules(data: "List[Any]") -> Optional[float]:
    """The integral of power over the samples' own times; None with fewer than two."""
    known = [(row.monotonic, row.metrics.get("total_gpu_power_watts")) for row in data]
    known = [(at, watts) for at, watts in known if watts is not None]
    if len(known) < 2:
        return None
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in zip(known, known[1:]))


def _bounds(figures: Figures, peak: str, mean: str, least: str) -> "Dict[str, Any]":
    return {peak: figures.most, mean: figures.mean, least: figures.least}


def gpu(session: ProfilingSession, data: "List[Any]") -> "Dict[str, Any]":
    used = _column(data, "total_gpu_memory_used_mb")
    total = _column(data, "total_gpu_memory_total_mb").most
    busy = _column(data, "max_gpu_utilization")
    heat = _column(data, "max_gpu_temperature")
    power = _column(data, "total_gpu_power_watts")
    found: "Dict[str, Any]" = {
        "total_samples": len(data),
        "timeline": [{"timestamp": _at(session, row),
                      "memory_used_mb": row.metrics.get("total_gpu_memory_used_mb"),
                      "memory_total_mb": row.metrics.get("total_gpu_memory_total_mb"),
                      "utilization": row.metrics.get("max_gpu_utilization"),
                      "temperature": row.metrics.get("max_gpu_temperature"),
                      "power": row.metrics.get("total_gpu_power_watts")} for row in data],
        "memory_analysis": {}, "utilization_analysis": {}, "temperature_analysis": {},
        "power_analysis": {}}
    if used.count:
        found["memory_analysis"] = {
            **_bounds(used, "peak_usage_mb", "avg_usage_mb", "min_usage_mb"),
            "total_memory_mb": total,
            "peak_utilization_percent": 100 * used.most / total if total and used.most is not None
            else None}
    if busy.count:
        found["utilization_analysis"] = _bounds(busy, "peak_utilization", "avg_utilization",
                                                "min_utilization")
        # The share of time in which a kernel ran: no score is made of it.
        found["utilization_analysis"]["utilization_efficiency"] = busy.mean
    if heat.count and heat.most is not None:
        found["temperature_analysis"] = {
            **_bounds(heat, "peak_temperature", "avg_temperature", "min_temperature"),
            "thermal_throttling_risk": heat.most > THROTTLE_CELSIUS}
    if power.count:
        joules = energy_joules(data)
        found["power_analysis"] = {"peak_power_watts": power.most, "avg_power_watts": power.mean,
                                   "total_energy_wh": None if joules is None else joules / 3600}
    return found


def gpu_summary(metrics: "Dict[str, Any]") -> "Dict[str, Any]":
    used, busy = metrics["memory_analysis"], metrics["utilization_analysis"]
    return {"peak_memory_usage_mb": used.get("peak_usage_mb"),
            "avg_memory_usage_mb": used.get("avg_usage_mb"),
            "peak_memory_utilization": used.get("peak_utilization_percent"),
            "avg_gpu_utilization": busy.get("avg_utilization"),
            "peak_gpu_utilization": busy.get("peak_utilization")}


def cpu(session: ProfilingSession, data: "List[Any]") -> "Dict[str, Any]":
    busy, used = _column(data, "cpu_usage_percent"), _column(data, "memory_used_mb")
    total = _column(data, "memory_total_mb").most
    return {"total_samples": len(data),
            "timeline": [{"timestamp": _at(session, row),
                          "cpu_usage": row.metrics.get("cpu_usage_percent"),
                          "memory_used_mb": row.metrics.get("memory_used_mb"),
                          "memory_total_mb": row.metrics.get("memory_total_mb")} for row in data],
            "cpu_analysis": _bounds(busy, "peak_usage", "avg_usage", "min_usage"),
            "memory_analysis": {
                **_bounds(used, "peak_usage_mb", "avg_usage_mb", "min_usage_mb"),
                "total_memory_mb": total,
                "peak_utilization_percent": 100 * used.most / total
                if total and used.most is not None else None}}


def cpu_summary(metrics: "Dict[str, Any]") -> "Dict[str, Any]":
    busy, used = metrics["cpu_analysis"], metrics["memory_analysis"]
    return {"avg_cpu_usage": busy["avg_usage"], "peak_cpu_usage": busy["peak_usage"],
            "avg_memory_usage_mb": used["avg_usage_mb"],
            "peak_memory_usage_mb": used["peak_usage_mb"]}


# --- spans

def stages(session: ProfilingSession) -> "Dict[str, Any]":
    """Shares are of self time: a stage inside another counts once, and they add up to 100."""
    rows = list(session.stages.items())
    total = sum(stage.own for _, stage in rows)
    found = {name: {"total_time": stage.covered, "call_count": stage.count,
                    "avg_time": stage.mean, "min_time": stage.least, "max_time": stage.most,
                    "percentage_of_total": 100 * stage.own / total if total > 0 else None,
                    "self_time": stage.own, "failed_calls": stage.failed,
                    **({"metadata": stage.metadata} if stage.metadata else {})}
             for name, stage in rows}
    heavy = [{"stage": name, "percentage": row["percentage_of_total"],
              "total_time": row["total_time"]} for name, row in found.items()
             if row["percentage_of_total"] is not None
             and row["percentage_of_total"] > BOTTLENECK_PERCENT]
    heavy.sort(key=lambda row: -row["percentage"])
    result = {"total_stages": len(found), "total_time": total, "stages": found,
              "bottlenecks": heavy}
    if session.book.unfinished:
        result["unfinished_stages"] = session.book.unfinished
    return result


# --- what the program told

def _rate(count: Optional[float], milliseconds: float) -> Optional[float]:
    return None if count is None or milliseconds <= 0 else count / (milliseconds / 1000)


def diffusion(session: ProfilingSession) -> "Dict[str, Any]":
    """Frames count once per block, whatever the number of its steps; `bps` is blocks a second."""
    steps = session.steps
    if not steps.count:
        return {}
    told = session.blocks.count > 0
    frames = session.frames.total if told else steps.pass_frames
    blocks_seen = session.blocks.count if told else steps.passes
    found: "Dict[str, Any]" = {"total_steps": steps.count, "steps": steps.rows}
    milliseconds = steps.ms[0]
    for key, column in (("computation_time_ms", steps.ms), ("timestep", steps.timestep),
                        ("block_size", steps.block_size)):
        found.update(zip((f"avg_{key}", f"min_{key}", f"max_{key}"), column[1:]))
    return {**found, "total_computation_time_ms": milliseconds,
            "total_frames": frames, "total_blocks": blocks_seen,
            "steps_per_block": steps.longest_pass,
            "fps": _rate(frames, milliseconds), "bps": _rate(blocks_seen, milliseconds),
            "steps_per_second": _rate(steps.count, milliseconds)}


def blocks(session: ProfilingSession) -> "Dict[str, Any]":
    if not session.blocks.count:
        return {}
    return {"total_blocks": session.blocks.count, "blocks": list(session.blocks.rows),
            "total_computation_time_ms": session.block_ms.total,
            "avg_computation_time_ms": session.block_ms.mean,
            "min_computation_time_ms": session.block_ms.least,
            "max_computation_time_ms": session.block_ms.most,
            "avg_block_size": session.frames.mean, "min_block_size": session.frames.least,
            "max_block_size": session.frames.most, "total_frames": session.frames.total,
            "avg_memory_usage_mb": session.block_mb.mean,
            "peak_memory_usage_mb": session.block_mb.most,
            "min_memory_usage_mb": session.block_mb.least,
            "fps": _rate(session.frames.total, session.block_ms.total),
            "bps": _rate(session.blocks.count, session.block_ms.total)}


def readable(count: int) -> str:
    if count >= 1e9:
        return f"{count / 1e9:.1f}B"
    return f"{count / 1e6:.1f}M" if count >= 1e6 else f"{count:,}"


def models(session: ProfilingSession) -> "Dict[str, Any]":
    if not session.models:
        return {}
    total = sum(model["parameters_count"] for model in session.models.values())
    return {"models": dict(session.models), "total_parameters": total,
            "total_parameters_readable": readable(total)}


def streaming(session: ProfilingSession) -> "Dict[str, Any]":
    if not session.streaming.count and not session.dropped_frames:
        return {}
    recent = list(session.streaming.rows)[-RECENT_EVENTS:]
    seconds = recent[-1]["timestamp"] - recent[0]["timestamp"] if recent else 0
    # Between the first and the last of them: what the first sent lies before.
    sent = sum(row["batch_size"] for row in recent[1:])
    every = session.sent_frames + session.dropped_frames
    return {"total_events": session.streaming.count, "total_frames": session.sent_frames,
            "dropped_frames": session.dropped_frames,
            "drop_rate": session.dropped_frames / every if every else None,
            "current_fps": sent / seconds if seconds > 0 else None,
            "avg_encoding_time_ms": session.encoding_ms.mean,
            "max_encoding_time_ms": session.encoding_ms.most,
            "avg_network_latency_ms": session.latency_ms.mean}


def layers(session: ProfilingSession) -> "Dict[str, Any]":
    if not session.layers:
        return {}
    total = sum(layer.total for layer in session.layers.values())
    rows = {name: {"total_time_ms": layer.total, "call_count": layer.count,
                   "avg_time_ms": layer.mean, "min_time_ms": layer.least, "max_time_ms": layer.most,
                   "parameters_count": session.layer_parameters.get(name),
                   "percentage_of_total": 100 * layer.total / total if total > 0 else None}
            for name, layer in session.layers.items()}
    heavy = [{"layer": name, "percentage": row["percentage_of_total"],
              "total_time_ms": row["total_time_ms"]} for name, row in rows.items()
             if (row["percentage_of_total"] or 0) > BOTTLENECK_PERCENT]
    return {"layer_performance": rows, "bottlenecks": sorted(heavy, key=lambda r: -r["percentage"])}


def memory(session: ProfilingSession) -> "Dict[str, Any]":
    if not session.memory.count:
        return {}
    allocated = session.allocated.count
    return {"allocation_patterns": {"total_allocations": allocated,
                                    "total_deallocations": session.freed.count,
                                    "total_bytes_allocated": session.allocated.total,
                                    "total_bytes_freed": session.freed.total,
                                    "net_bytes": session.allocated.total - session.freed.total,
                                    "avg_allocation_bytes": session.allocated.mean},
            "fragmentation_analysis": {"small_allocations": session.small,
                                       "small_allocation_ratio": session.small / allocated
                                       if allocated else None}}


def cache(session: ProfilingSession) -> "Dict[str, Any]":
    hits, misses = session.cache["hits"], session.cache["misses"]
    if not any(session.cache.values()):
        return {}
    requests = hits + misses
    return {"cache_performance": {**session.cache, "total_requests": requests},
            "cache_efficiency": {"hit_rate": hits / requests if requests else None,
                                 "miss_rate": misses / requests if requests else None,
                                 "evictions_per_request": session.cache["evictions"] / requests
                                 if requests else None}}
