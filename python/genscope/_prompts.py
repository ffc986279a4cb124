"""Prompts in a run: only their hash, unless GENSCOPE_KEEP_PROMPTS=1 asks for the text."""
from __future__ import annotations

import hashlib
import os


def recorded(text: str) -> str:
    """A hash, by which a repeat can be told and the prompt cannot; the text if asked."""
    if os.environ.get("GENSCOPE_KEEP_PROMPTS", "0") not in ("", "0"):
        return text
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
