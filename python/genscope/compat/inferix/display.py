"""The lines that document 002 shows while a session runs."""
from __future__ import annotations

import threading
from typing import Any, Optional


def lines(session_id: str, gpu: "dict[str, Any]", cpu: "dict[str, Any]") -> str:
    """What was not measured is left out of a line, or the line says why."""
    text = f"=== Profiling Metrics ({session_id}) ==="
    if gpu:
        text += "\nGPU: " + (_gpu(gpu) or f"n/a ({gpu.get('absent') or 'no reading yet'})")
    if cpu:
        usage, memory = cpu.get("cpu_usage_percent"), _memory(cpu.get("memory_used_mb"),
                                                              cpu.get("memory_total_mb"))
        parts = ([f"{usage:.1f}%"] if usage is not None else []) + ([memory] if memory else [])
        text += "\nCPU: " + (", ".join(parts) or "n/a")
    return text


def _memory(used: Optional[float], total: Optional[float]) -> str:
    if used is None:
        return ""
    if not total:
        return f"Memory {used:.0f}MB"
    return f"Memory {used:.0f}MB / {total:.0f}MB ({100 * used / total:.1f}%)"


def _gpu(gpu: "dict[str, Any]") -> str:
    busy, heat = gpu.get("max_gpu_utilization"), gpu.get("max_gpu_temperature")
    parts = [_memory(gpu.get("total_gpu_memory_used_mb"), gpu.get("total_gpu_memory_total_mb"))]
    if busy is not None:
        parts.append(f"Util {busy:.1f}%")
    if heat is not None:
        parts.append(f"Temp {heat:.1f}°C")
    return ", ".join(part for part in parts if part)


class Display:
    """Prints them every `display_interval` seconds while sessions are open."""

    def __init__(self, profiler: Any) -> None:
        self._profiler = profiler
        self._stop: Optional[threading.Event] = None
        self._thread: Optional[threading.Thread] = None

    def start(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(self._stop,), daemon=True,
                                        name="profiling display")
        self._thread.start()

    def stop(self) -> None:
        if self._stop is not None and self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._stop = self._thread = None

    def _run(self, stop: threading.Event) -> None:
        while not stop.wait(self._profiler.config.display_interval):
            session = self._profiler.current_session
            if session is None:
                continue
            try:
                now = self._profiler.get_current_metrics()
                print(lines(session.session_id, now.get("gpu") or {}, now.get("cpu") or {}))
            except Exception:
                pass  # the display is never worth a program
