"""The pattern of a request's route: "/images/{id}", never "/images/17".

Starlette and FastAPI put their application into the scope before any middleware runs; its routes
are asked as the router will ask them. Other frameworks tell afterwards, or not at all.
"""
from __future__ import annotations

from typing import Any, Iterable, Optional

_DEPTH = 8  # mounts in mounts


def route_before(scope: Any) -> Optional[str]:
    """The pattern, before the request is routed; "unmatched" where no route fits it; None if the
    framework does not tell."""
    routes = getattr(scope.get("app"), "routes", None)
    if not routes:
        return None
    try:
        return _search(routes, dict(scope), _DEPTH) or "unmatched"
    except Exception:  # a framework that only looks alike
        return None


def route_of(scope: Any) -> Optional[str]:
    """The pattern, after the request was routed: of scope["route"], else the endpoint's name."""
    path = getattr(scope.get("route"), "path", None)
    if isinstance(path, str):
        return path
    endpoint = scope.get("endpoint")
    name = getattr(endpoint, "__qualname__", None) or getattr(type(endpoint), "__qualname__", None)
    return name if endpoint is not None else None


def _search(routes: Iterable[Any], scope: Any, depth: int) -> Optional[str]:
    partial = None
    for route in routes:
        match, child = route.matches(scope)
        value = getattr(match, "value", match)  # 0 none, 1 the path but not the method, 2 full
        if value == 0:
            continue
        pattern = _pattern(route, {**scope, **child}, depth)
        if value == 2:
            return pattern
        partial = partial or pattern
    return partial


def _pattern(route: Any, scope: Any, depth: int) -> Optional[str]:
    path = getattr(route, "path", None)
    inner = getattr(route, "routes", None)
    if not inner or depth == 0:
        return path or type(route).__name__
    below = _search(inner, scope, depth - 1)
    return (path or "") + (below or "/unmatched")
