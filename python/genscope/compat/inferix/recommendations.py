"""Document 002's recommendations. Each needs a measured figure; the thresholds are its own."""
from __future__ import annotations

from typing import Any, Dict, List, Optional

MEMORY_PERCENT = 90.0
LOW_UTILIZATION_PERCENT = 50.0
HOT_CELSIUS = 85.0
DROP_RATE = 0.05
MANY_STEPS = 30
LARGE_BLOCK = 8.0
LOW_FPS = 10.0
LOW_BPS = 2.0
SLOW_STEP_MS = 200.0
SLOW_FIRST_BLOCK = 2.0  # times the mean of the later blocks


def _row(category: str, priority: str, issue: str, suggestion: str) -> "Dict[str, str]":
    return {"category": category, "priority": priority, "issue": issue, "suggestion": suggestion}


def _above(value: Optional[float], limit: float) -> bool:
    return value is not None and value > limit


def _below(value: Optional[float], limit: float) -> bool:
    return value is not None and value < limit


def of(report: "Dict[str, Any]") -> "List[Dict[str, str]]":
    rows = _of_gpu(report)
    for row in report.get("stage_analysis", {}).get("bottlenecks", [])[:3]:
        rows.append(_row("Performance Bottleneck", "High",
                         f"Stage '{row['stage']}' takes {row['percentage']:.1f}% of the time in "
                         "stages, without the stages inside it",
                         "Optimise this stage first"))
    stream = report.get("streaming_analysis", {})
    if _above(stream.get("drop_rate"), DROP_RATE):
        rows.append(_row("Streaming Performance", "High",
                         f"{100 * stream['drop_rate']:.1f}% of the frames were dropped",
                         "Send fewer or smaller frames, or encode faster"))
    for row in report.get("computation_analysis", {}).get("bottlenecks", [])[:3]:
        rows.append(_row("Computation Bottleneck", "High",
                         f"Layer '{row['layer']}' takes {row['percentage']:.1f}% of the time in "
                         "layers", "Optimise this layer first"))
    rows += of_diffusion(report.get("diffusion_analysis", {}), report.get("block_analysis", {}))
    return rows


def _of_gpu(report: "Dict[str, Any]") -> "List[Dict[str, str]]":
    rows = []
    gpu = report.get("summary", {}).get("gpu", {})
    if _above(gpu.get("peak_memory_utilization"), MEMORY_PERCENT):
        rows.append(_row("GPU Memory", "High",
                         f"Peak GPU memory is {gpu['peak_memory_utilization']:.1f}% of all",
                         "Smaller batches, VAE tiling, or offload"))
    if _below(gpu.get("avg_gpu_utilization"), LOW_UTILIZATION_PERCENT):
        rows.append(_row("GPU Utilization", "Medium",
                         f"Average GPU utilization is only {gpu['avg_gpu_utilization']:.1f}%",
                         "Look for waits of the host: data loading, synchronisation, transfers"))
    heat = report.get("gpu_metrics", {}).get("temperature_analysis", {}).get("peak_temperature")
    if _above(heat, HOT_CELSIUS):
        rows.append(_row("Thermal Management", "High", f"Peak temperature is {heat:.1f}°C",
                         "Better cooling, or a lower power limit"))
    return rows


def of_diffusion(steps: "Dict[str, Any]", blocks: "Dict[str, Any]") -> "List[Dict[str, str]]":
    rows = []
    # The steps of one block: many blocks are no reason to take fewer steps.
    if _above(steps.get("steps_per_block"), MANY_STEPS):
        rows.append(_row("Diffusion Steps", "High",
                         f"A block takes {steps['steps_per_block']} steps",
                         "Try 20 to 30 steps, or distilled weights"))
    if _above(steps.get("avg_computation_time_ms"), SLOW_STEP_MS):
        rows.append(_row("Computation Time", "High",
                         f"A step takes {steps['avg_computation_time_ms']:.1f} ms on average",
                         "See which part of a step takes it"))
    if _above(steps.get("avg_block_size"), LARGE_BLOCK):
        rows.append(_row("Block Size", "Medium",
                         f"A block has {steps['avg_block_size']:.1f} frames on average",
                         "Smaller blocks come sooner"))
    source = blocks if blocks else steps
    if _below(source.get("fps"), LOW_FPS):
        rows.append(_row("Generation Speed", "High",
                         f"{source['fps']:.1f} frames a second",
                         "At least 16 are needed to watch while it is made"))
    if _below(source.get("bps"), LOW_BPS):
        rows.append(_row("Block Processing", "Medium", f"{source['bps']:.2f} blocks a second",
                         "See where a block's time goes"))
    return rows + _first_block(blocks)


def _first_block(blocks: "Dict[str, Any]") -> "List[Dict[str, str]]":
    times = [row["computation_time_ms"] for row in blocks.get("blocks", [])
             if row["computation_time_ms"] is not None]
    if len(times) < 3 or len(times) != blocks.get("total_blocks"):
        return []
    later = sum(times[1:]) / len(times[1:])
    if times[0] <= SLOW_FIRST_BLOCK * later:
        return []
    return [_row("Latency Optimization", "Medium",
                 f"The first block takes {times[0]:.0f} ms, a later one {later:.0f} ms",
                 "Warm up before the first request: compilation and caches")]
