"""A function that runs on another thread as it would on this one.

torch keeps autocast, gradient and inference mode and the default device for each thread: they go along.
Context variables are the lane's to carry.
"""
from __future__ import annotations

import contextlib
import functools
import sys
import threading
from typing import Any, Callable


def carried(function: Callable[[], Any]) -> Callable[[], Any]:
    here = threading.get_ident()
    modes = _modes() if "torch" in sys.modules else []

    @functools.wraps(function, updated=())
    def run() -> Any:
        if threading.get_ident() == here:
            return function()
        with contextlib.ExitStack() as stack:
            for mode in modes:
                stack.enter_context(mode())
            return function()
    return run


def _modes() -> "list[Callable[[], Any]]":
    """Of this thread, those that are not as a new thread has them."""
    import torch
    modes: "list[Callable[[], Any]]" = []
    for kind in ("cpu", "cuda"):
        if torch.is_autocast_enabled(kind):
            modes.append(functools.partial(torch.autocast, kind, dtype=torch.get_autocast_dtype(kind),
                                           cache_enabled=torch.is_autocast_cache_enabled()))
    if torch.is_inference_mode_enabled():
        modes.append(torch.inference_mode)
    elif not torch.is_grad_enabled():
        modes.append(torch.no_grad)
    device = torch.get_default_device()
    if device.type != "cpu":
        modes.append(functools.partial(torch.device, device))
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        modes.append(functools.partial(torch.cuda.stream, torch.cuda.current_stream()))
    return modes
