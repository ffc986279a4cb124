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


class _Untold(Exception):
    """A route fits, but does not say its pattern."""


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


def _pattern(route: Any, scope: Any, depth: int) -> str:
    path = getattr(route, "path", None)
    inner = getattr(route, "routes", None)
    if inner and depth > 0:  # a mount
        return (path or "") + (_search(inner, scope, depth - 1) or "/unmatched")
    if not path and depth > 0:
        return _included(route, scope, depth)
    return _told(path)


def _included(route: Any, scope: Any, depth: int) -> str:
    """Of a router that FastAPI includes as it is,: its own search gives the route and
    what including it made of its path."""
    find = getattr(route, "_match", None)
    if find is None:
        raise _Untold
    _, child, found, context = find(scope)
    path = getattr(context, "path", None) or getattr(found, "path", None)
    if not path and found is not None:
        return _pattern(found, {**scope, **child}, depth - 1)
    return _told(path)


def _told(path: Any) -> str:
    if not isinstance(path, str) or not path:
        raise _Untold
    return path
