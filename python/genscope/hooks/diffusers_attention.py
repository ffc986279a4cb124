"""Which kernel torch's scaled_dot_product_attention chose: it decides by the inputs, at each call.

Asked as it asks itself, for the first attention of the first forward after a pipeline was set up or changed.
Only then, and only where nothing was compiled, stands a function of ours in its place: what torch.compile
traces is never another.
"""
from __future__ import annotations

import sys
from typing import Any, Optional

from ._report import problem
from .torch_compile import mark

_KERNELS = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn", 4: "backend"}


class Watch:
    """From begin() to end(): one forward."""

    def __init__(self) -> None:
        self.kernel: Optional[str] = None
        self._functions: Any = None
        self._original: Any = None

    def begin(self) -> None:
        torch = sys.modules.get("torch")
        choose = getattr(torch, "_fused_sdp_choice", None)
        if torch is None or choose is None or mark().all:
            return
        functions = torch.nn.functional
        original = functions.scaled_dot_product_attention

        def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **more):
            if self.kernel is None:
                self.kernel = "unknown"
                try:
                    chosen = choose(query, key, value, attn_mask, dropout_p, is_causal, **more)
                    self.kernel = _KERNELS.get(int(chosen), str(chosen))
                except Exception as error:
                    problem("torch.attention", f"its kernel is not known: {error!r}")
            return original(query, key, value, attn_mask, dropout_p, is_causal, **more)
        self._functions, self._original, self._ours = functions, original, attention
        functions.scaled_dot_product_attention = attention

    def end(self) -> Optional[str]:
        """The kernel; None where none was asked for."""
        if self._original is not None and self._functions.scaled_dot_product_attention is self._ours:
            self._functions.scaled_dot_product_attention = self._original
        self._original = None
        return self.kernel if self.kernel != "unknown" else None
