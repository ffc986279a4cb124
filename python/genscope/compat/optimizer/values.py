"""What the optimizer gives back: texts that know their tokens, pictures as bytes."""
from __future__ import annotations

import io
from typing import Any, List, Optional


class ProcessedText(str):
    """The text itself, for use as a prompt, with what processing found.

    token_ids: as the model's tokenizer makes them. token_count: without padding. truncated: the
    tokenizer's limit cut it. embedding: the encoder's last hidden state, on the CPU.
    """
    token_ids: "List[int]"
    token_count: int
    truncated: bool
    embedding: Any

    def __new__(cls, text: str, token_ids: "List[int]", token_count: int, truncated: bool,
                embedding: Any) -> "ProcessedText":
        made = super().__new__(cls, text)
        made.token_ids, made.token_count = token_ids, token_count
        made.truncated, made.embedding = truncated, embedding
        return made


class VideoData(bytes):
    """PNG bytes of one picture, or of a moving one (APNG) where the model makes several frames.

    frames: as PIL pictures. seed: that made it. fps: of an APNG.
    """
    frames: "List[Any]"
    seed: int
    fps: float

    def __new__(cls, frames: "List[Any]", seed: int, fps: float) -> "VideoData":
        file = io.BytesIO()
        more = {"save_all": True, "append_images": frames[1:], "duration": 1000 / fps, "loop": 0} \
            if len(frames) > 1 else {}
        frames[0].save(file, format="PNG", **more)
        made = super().__new__(cls, file.getvalue())
        made.frames, made.seed, made.fps = frames, seed, fps
        return made


def frames_of(result: Any) -> "List[Any]":
    """The pictures of a pipeline's output, whose output_type was "pil"."""
    made = getattr(result, "frames", None)
    if made is None:
        return list(result.images)
    return list(made[0]) if isinstance(made[0], (list, tuple)) else list(made)


class Count(int):
    """A number of requests. A share of none is n/a, not a division by zero."""

    def __add__(self, other: Any) -> Any:
        return Count(int(self) + other) if isinstance(other, int) else int(self) + other

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, int) and other == 0:
            from .._benchmark import Absent
            return Absent("no request yet")
        return int(self) / other


def seed_of(seed: Optional[int]) -> int:
    """A fresh one for None."""
    if seed is not None:
        return int(seed)
    import secrets
    return secrets.randbits(63)
