"""Whether the calling task or thread serves a request already.

What generates inside of a request is a stage of it, as in monitor.h; on its own it is
the request. A context variable, so that it goes with asyncio tasks and into a server's threads.
"""
from __future__ import annotations

from contextvars import ContextVar

serving: "ContextVar[bool]" = ContextVar("genscope_serving", default=False)


def kind_of_generation() -> str:
    """"stage" inside of a request, else "request"."""
    return "stage" if serving.get() else "request"
