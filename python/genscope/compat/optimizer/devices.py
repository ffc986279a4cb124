"""GPUManager: the devices that are there, their memory, and the share that models may take."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence


def _torch() -> Any:
    import torch
    return torch


class GPUManager:
    """Devices of torch. Those of gpu_ids that are not there are in `absent` with the reason; if none
    is, the device is the CPU."""

    def __init__(self, gpu_ids: "Optional[Sequence[int]]" = None, max_memory_usage: float = 0.8, *,
                 use_gpu: bool = True) -> None:
        self.gpu_ids = list(gpu_ids) if gpu_ids is not None else [0]
        self.max_memory_usage = float(max_memory_usage)
        self.absent: "Dict[str, str]" = {}
        count = _torch().cuda.device_count() if use_gpu and _torch().cuda.is_available() else 0
        self._here = [index for index in self.gpu_ids if index < count]
        for index in self.gpu_ids:
            if index not in self._here:
                self.absent[f"gpu_{index}"] = "use_gpu is off" if not use_gpu else \
                    f"torch sees {count} CUDA devices"
        for index in self._here:
            _torch().cuda.set_per_process_memory_fraction(self.max_memory_usage, index)

    def get_primary_device(self) -> Any:
        return self.get_all_devices()[0]

    def get_all_devices(self) -> "List[Any]":
        return [_torch().device("cuda", index) for index in self._here] or [_torch().device("cpu")]

    async def get_memory_info(self) -> "Dict[str, Dict[str, int]]":
        """{gpu_0: {total, allocated, cached, free}} in bytes; nothing for a device that is not there."""
        cuda, info = _torch().cuda, {}
        for index in self._here:
            free, total = cuda.mem_get_info(index)
            info[f"gpu_{index}"] = {"total": total, "allocated": cuda.memory_allocated(index),
                                    "cached": cuda.memory_reserved(index), "free": free}
        return info

    async def clear_cache(self) -> None:
        """Gives memory back that torch holds for reuse. Between models, not between generations."""
        if self._here:
            _torch().cuda.empty_cache()

    def utilization(self) -> Any:
        """Percent of the primary device's time that is in use; Absent, with a reason, without a GPU."""
        from .._benchmark import Absent
        if not self._here:
            return Absent("; ".join(self.absent.values()) or "there is no GPU")
        try:
            return float(_torch().cuda.utilization(self._here[0]))
        except Exception as error:  # it needs the driver's Python library
            return Absent(f"{type(error).__name__}: {error}")

    def memory_bytes(self, device: Any) -> Optional[int]:
        """What models may take there: max_memory_usage of a GPU, or of the host's memory."""
        if device.type == "cuda":
            return int(_torch().cuda.mem_get_info(device)[1] * self.max_memory_usage)
        import os
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * self.max_memory_usage)
