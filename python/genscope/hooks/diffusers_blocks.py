"""Step caches that tell nobody: TeaCache and MagCache as their authors' scripts patch them in, cache-dit,
diffusers' MagCache. What they skip is seen from inside: calls of the attention of the denoiser's blocks in
each forward, against the most that one forward made. Wrapped only where such a cache is in use."""
from __future__ import annotations

from typing import Any, Optional

from ._dynamo import compiling_check
from ._patch import wrap
from .diffusers_calls import current


class Blocks:
    """Of one denoiser, while one pipeline call lasts."""

    def __init__(self) -> None:
        self.ran = self.most = 0

    def ended(self) -> "tuple[int, Optional[bool]]":
        """Blocks that ran in the forward that ends, and whether some were skipped; None if none ever ran."""
        ran, self.ran = self.ran, 0
        self.most = max(self.most, ran)
        return ran, ran < self.most if self.most else None


def watch(denoiser: Any) -> Optional[Blocks]:
    """None where the denoiser has no blocks with an attention to count."""
    kinds = set()
    for blocks in getattr(denoiser, "_modules", {}).values():
        if type(blocks).__name__ == "ModuleList":
            kinds.update(kind for block in blocks if (kind := _attention_of(block)) is not None)
    for kind in kinds:
        wrap(kind, "__call__", _counted, f"diffusers.{kind.__name__}", traced=True)
    return Blocks() if kinds else None


def _attention_of(block: Any) -> "Optional[type]":
    for part in getattr(block, "_modules", {}).values():
        if "Att" in type(part).__name__ and hasattr(part, "forward"):
            return type(part)
    return None


def _counted(original: Any) -> Any:
    compiling = compiling_check()

    def call(self, *args, **kwargs):
        running = None if compiling() else current()
        if running is not None and running.blocks is not None:
            running.blocks.ran += 1
        return original(self, *args, **kwargs)
    return call
