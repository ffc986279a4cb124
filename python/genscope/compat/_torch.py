"""What torch knows, if the program has imported it. Nothing here imports it, waits for a GPU or
copies from one."""
from __future__ import annotations

import sys
from typing import Any, Callable, Optional, Tuple

Bytes = Optional[int]
Reader = Callable[[], Tuple[Bytes, Bytes, Bytes]]


def cuda(device: int = 0) -> Any:
    """torch.cuda if it has that device, else None."""
    torch = sys.modules.get("torch")
    found = getattr(torch, "cuda", None)
    try:
        if found is not None and found.is_available() and 0 <= device < found.device_count():
            return found
    except Exception:
        pass
    return None


def memory_reader(device: int = 0) -> "tuple[Optional[Reader], Optional[Callable[[], None]]]":
    """Functions that read the allocator's bytes (used, reserved, peak) and reset its peak; None
    without torch or without that device: the driver is asked then."""
    found = cuda(device)
    if found is None:
        return None, None

    def read() -> "tuple[Bytes, Bytes, Bytes]":
        # Without any key the allocator has not been used yet, and holds nothing.
        stats = found.memory_stats(device)
        return (stats.get("allocated_bytes.all.current", 0),
                stats.get("reserved_bytes.all.current", 0),
                stats.get("allocated_bytes.all.peak", 0))

    def reset() -> None:
        found.reset_peak_memory_stats(device)

    return read, reset


def number(value: Any) -> Optional[float]:
    """A plain number; None for None, and for what lies on a GPU: to ask for it would wait."""
    kind = type(value)
    if kind is float or kind is int or value is None:
        return value
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        return None
    device = getattr(value, "device", "cpu")
    if str(getattr(device, "type", device)) != "cpu":
        return None
    try:
        return float(value.detach() if hasattr(value, "detach") else value)
    except Exception:
        return None
