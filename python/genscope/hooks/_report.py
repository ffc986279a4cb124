"""What was hooked and what was not, with the reason: the report lists it (event `instrument`)."""
from __future__ import annotations

from .. import _core

_said: "set[tuple[str, str]]" = set()


def done(target: str, what: str = "") -> None:
    """`target` ("diffusers", "diffusers.FluxPipeline") is being recorded. Once for each."""
    _say(target, "hooked", what)


def problem(target: str, reason: str) -> None:
    """`target` could not be hooked, and why. Once for each reason."""
    _say(target, "failed", reason)


def _say(target: str, status: str, reason: str) -> None:
    key = (target, status + reason)
    if key in _said or len(_said) > 500:
        return
    _said.add(key)
    _core.event("instrument", target=target, status=status, reason=reason or None)
