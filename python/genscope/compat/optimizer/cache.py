"""PerformanceCache: entries that expire, over genscope.optimize.Cache."""
from __future__ import annotations

from typing import Any

from ...optimize.cache import Cache, key as make_key


class PerformanceCache:
    """At most `max_size` entries, each for `ttl` seconds, from any thread or task. None is a value like
    any other: get() tells a miss by `default`."""

    def __init__(self, max_size: int = 1000, ttl: float = 3600) -> None:
        if max_size < 1 or ttl <= 0:
            raise ValueError(f"max_size must be at least 1 and ttl above 0; got {max_size}, {ttl}")
        self.max_size, self.ttl = max_size, ttl
        self.core = Cache(capacity=max_size, ttl=ttl, largest_share=1.0)

    def of_results(self) -> "_Entries":
        """For genscope.optimize.wrap: each result is one entry, however large."""
        return _Entries(self.core)

    async def get(self, key: Any, default: Any = None) -> Any:
        found = self.core.get(make_key("value", key))
        return default if found is None else found[0]

    async def set(self, key: Any, value: Any) -> None:
        self.core.put(make_key("value", key), (value,), bytes=1)

    async def clear(self) -> None:
        self.core.clear()

    async def size(self) -> int:
        return int(self.core.stats()["entries"])


class _Entries:
    def __init__(self, core: Cache) -> None:
        self.get, self.stats = core.get, core.stats
        self._core = core

    def put(self, key: Any, value: Any, *, bytes: int, cost: float) -> None:
        self._core.put(key, value, bytes=1, cost=cost)
