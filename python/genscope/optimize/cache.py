"""A cache for what a generation service makes again and again.

    cache = Cache("2GB")
    embedding = cache.get_or_load(key("embedding", model_id, revision, prompt), lambda: encode(prompt))

One load runs however many threads and tasks ask for a key at once."""
import asyncio
import collections
import os
import queue
import re
import threading
from typing import Any, Awaitable, Callable, Optional, Union

from .. import _core
from . import _plain

_core.cache_key_convert(_plain.for_key)
CacheKey = _core.CacheKey
_MISSING = object()
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def key(kind: str, /, *parts: Any, **named: Any) -> CacheKey:
    """A canonical key. Put everything in that goes into the result: model, revision, dtype, quantization, LoRAs
    with their scales, prompt, seed, steps, size. Types count: 1, 1.0, "1" and True differ. Parts may be str,
    bytes, int, float, bool, None, lists, dicts with names of type str, numpy arrays and torch tensors (by their
    content; one on a GPU is waited for). Anything else is a TypeError."""
    return _core.cache_key(kind, parts, named)


def size_in_bytes(size: Union[int, float, str]) -> int:
    """`2GB` is 2 * 10**9, `2GiB` is 2 * 2**30, a number is bytes."""
    if isinstance(size, (int, float)) and not isinstance(size, bool) and size > 0:
        return int(size)
    match = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", size) if isinstance(size, str) else None
    try:
        count = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    except (KeyError, ValueError):
        count = 0
    if count <= 0:
        raise ValueError(f"capacity is a number of bytes or text like \"2GB\" or \"512MiB\", and not {size!r}")
    return count


class Cache:
    """Keeps Python objects within a number of bytes; all methods may be called from any thread.

    capacity      bytes, or text like "2GB"
    policy        "auto": adaptive W-TinyLFU, or GDSF where bytes or costs differ by more than 4 times;
                  "adaptive", "s3", "gdsf"
    ttl           seconds until an entry is gone, spread by 10 %; None: never
    soft_ttl      seconds after which an entry is served while one call makes it anew
    early_refresh   makes entries in use anew before their soft_ttl or ttl ends, dear ones earlier, so that nobody
                  waits for them: 1 is usual, larger is earlier, 0 is never
    stale_on_error  seconds after its ttl in which an entry answers for a loader that raises
    largest_share   an entry above this share of the capacity is refused
    floors        {kind: share of the capacity} that other kinds of keys cannot take from a kind
    disk          a folder in which values outlive the process; disk_capacity bounds it
    redis         "redis://host:6379": values that several machines share, up to 8 MiB each. A Redis that is gone is
                  left alone for a while; the cache goes on without it

    Disk and Redis keep what can be read back without running code: None, bool, int, float, str, bytes, numpy arrays,
    torch tensors, and lists, tuples and dicts of them. Anything else stays in memory and is counted in
    stats()["local_only"], unless you pass your own `dumps(value) -> bytes` and `loads(bytes) -> value`.
    """

    def __init__(self, capacity: Union[int, str] = "256MB", policy: str = "auto", ttl: Optional[float] = None,
                 soft_ttl: Optional[float] = None, disk: Optional[str] = None, redis: Optional[str] = None, *,
                 early_refresh: float = 0, stale_on_error: Optional[float] = None, largest_share: float = 0.1,
                 floors: Optional[dict[str, float]] = None, disk_capacity: Union[int, str] = "10GB",
                 redis_prefix: str = "genscope:1:", dumps: Callable[[Any], bytes] = _plain.dumps,
                 loads: Callable[[bytes], Any] = _plain.loads):
        for name, seconds in (("ttl", ttl), ("soft_ttl", soft_ttl), ("stale_on_error", stale_on_error)):
            if seconds is not None and not seconds > 0:
                raise ValueError(f"{name} is a number of seconds above 0, or None, and not {seconds!r}")
        self._cache = _core.memory_cache(size_in_bytes(capacity), policy, ttl or 0, soft_ttl or 0, stale_on_error or 0,
                                         largest_share, early_refresh, floors or {})
        self._refreshes = set()
        self._ttl = ttl or 0
        self._dumps, self._loads = dumps, loads
        self._local_only = collections.Counter()
        self._disk = _core.disk_tier(os.fspath(disk), size_in_bytes(disk_capacity)) if disk is not None else None
        self._redis = _core.redis_tier(redis, redis_prefix, 0.25, 1.0) if redis is not None else None
        self._tiers = [tier for tier in (self._disk, self._redis) if tier is not None]

    def get(self, key: Any, default: Any = None) -> Any:
        """The value, or `default`. `key` is one of genscope.optimize.key(), or a value that could be a part of one."""
        if not self._tiers:
            return self._cache.get(key, default)
        value = self._cache.get(key, _MISSING)
        if value is _MISSING:
            value = self._from_tiers(key, None)
            if value is not _MISSING:
                self._cache.put(key, value, *self._options(value, None, None, None, None))
        return default if value is _MISSING else value

    def put(self, key: Any, value: Any, *, bytes: Optional[int] = None, cost: Optional[float] = None,
            ttl: Optional[float] = None, soft_ttl: Optional[float] = None) -> bool:
        """False if it is refused: above `largest_share` of the capacity. `bytes`: its weight, measured if None; `cost`:
        seconds that making it took; `ttl`: 0 is never, None the cache's."""
        kept = self._cache.put(key, value, *self._options(value, bytes, cost, ttl, soft_ttl))
        self._to_tiers(key, value, ttl)
        return kept

    def get_or_load(self, key: Any, loader: Callable[[], Any], *, timeout: Optional[float] = None,
                    bytes: Optional[int] = None, cost: Optional[float] = None, ttl: Optional[float] = None,
                    soft_ttl: Optional[float] = None) -> Any:
        """The value from the cache, or from `loader()`, which runs once for all who ask meanwhile. An exception of
        the loader's is raised for all of them. If the thread that loads is interrupted (KeyboardInterrupt,
        SystemExit), the next one loads. TimeoutError if another's load takes longer than `timeout` seconds."""
        mail = queue.SimpleQueue()
        outcome, value, lead, waiting = self._cache.begin(key, mail.put)
        if outcome == "hit" and lead is None:
            return value
        if outcome == "wait":
            try:
                outcome, value, lead = mail.get(timeout=timeout)
            except BaseException as raised:
                if waiting.cancel() and isinstance(raised, queue.Empty):
                    raise TimeoutError(f"the load of {key!r} by another thread took longer than {timeout} s") from None
                outcome, value, lead = mail.get()  # it came meanwhile
                if not isinstance(raised, queue.Empty):
                    if lead is not None:
                        lead.abandon()
                    raise
        options = (bytes, cost, ttl, soft_ttl)
        if outcome in ("hit", "stale") and lead is not None:  # others get what is there meanwhile
            threading.Thread(target=self._refresh, args=(key, lead, loader, options), daemon=True,
                             name="genscope-refresh").start()
            return value
        return self._lead(key, lead, loader, options) if outcome == "lead" else _answer(outcome, value)

    async def aget_or_load(self, key: Any, loader: Callable[[], Awaitable[Any]], *, bytes: Optional[int] = None,
                           cost: Optional[float] = None, ttl: Optional[float] = None,
                           soft_ttl: Optional[float] = None) -> Any:
        """The same for asyncio: `await loader()` runs in the first task that asks. If that task is cancelled, the
        next one loads, and no other notices. Tasks of other loops and threads share the load."""
        loop = asyncio.get_running_loop()
        arrived = loop.create_future()

        def deliver(mail):
            try:
                loop.call_soon_threadsafe(_set, arrived, mail)
            except RuntimeError:  # that loop has been closed
                if mail[2] is not None:
                    mail[2].abandon()

        outcome, value, lead, waiting = self._cache.begin(key, deliver)
        if outcome == "hit" and lead is None:
            return value
        if outcome == "wait":
            try:
                outcome, value, lead = await arrived
            except BaseException:
                if not waiting.cancel() and arrived.done() and not arrived.cancelled():
                    lead = arrived.result()[2]
                    if lead is not None:
                        lead.abandon()
                raise
        options = (bytes, cost, ttl, soft_ttl)
        if outcome in ("hit", "stale") and lead is not None:  # others get what is there meanwhile
            task = loop.create_task(self._arefresh(key, lead, loader, options))
            self._refreshes.add(task)
            task.add_done_callback(self._refreshes.discard)
            return value
        return await self._alead(key, lead, loader, options) if outcome == "lead" else _answer(outcome, value)

    def erase(self, key: Any) -> bool:
        """Whether it was there, in memory or in a tier."""
        return any([self._cache.erase(key), *(tier.erase(key) for tier in self._tiers)])

    def clear(self) -> None:
        """Memory and disk. What is in Redis is others', too, and stays."""
        self._cache.clear()
        if self._disk is not None:
            self._disk.clear()

    def resize(self, capacity: Union[int, str]) -> None:
        """Evicts at once what no longer fits."""
        self._cache.resize(size_in_bytes(capacity))

    def stats(self) -> dict[str, Any]:
        """Figures of all kinds of keys, and by kind under `kinds`: hits, misses, coalesced, stale, loads, evicted,
        expired, rejected, entries, bytes, cost_saved_s, load_p50_s, load_p99_s (None before the first load), ...
        With tiers, also `disk` and `redis`, and `local_only`: values that no tier can keep, by type."""
        stats = self._cache.stats()
        if self._disk is not None:
            stats["disk"] = self._disk.stats()
        if self._redis is not None:
            stats["redis"] = self._redis.stats()
        if self._tiers:
            stats["local_only"] = dict(self._local_only)
        return stats

    def __contains__(self, key: Any) -> bool:
        return self._cache.contains(key)

    def __len__(self) -> int:
        return self._cache.size()

    def __repr__(self) -> str:
        stats = self._cache.stats()
        return (f"<genscope.optimize.Cache {stats['policy']}: {stats['entries']} entries, {stats['bytes']} of "
                f"{stats['capacity_bytes']} bytes, {stats['hits']} hits, {stats['misses']} misses>")

    @staticmethod
    def _options(value, bytes, cost, ttl, soft_ttl):
        return (_plain.size_of(value) if bytes is None else bytes, cost or 0.0, -1.0 if ttl is None else ttl,
                -1.0 if soft_ttl is None else soft_ttl)

    def _from_tiers(self, key, ttl):
        """From the nearest tier that has it, or _MISSING."""
        for at, tier in enumerate(self._tiers):
            data = tier.get(key)
            if data is None:
                continue
            try:
                value = self._loads(data)
            except Exception:  # of another version, or damaged: as if it were not there
                tier.erase(key)
                continue
            for nearer in self._tiers[:at]:
                nearer.put(key, data, self._ttl if ttl is None else ttl)
            return value
        return _MISSING

    def _to_tiers(self, key, value, ttl):
        if not self._tiers:
            return
        try:
            data = self._dumps(value)
        except _plain.Unsafe as unsafe:
            self._local_only[str(unsafe)] += 1
            return
        except Exception:  # of the user's own dumps: the value is there all the same
            self._local_only[type(value).__qualname__] += 1
            return
        for tier in self._tiers:
            tier.put(key, data, self._ttl if ttl is None else ttl)

    def _lead(self, key, lead, loader, options, refresh=False):
        try:
            found = _MISSING if refresh or not self._tiers else self._from_tiers(key, options[2])
            value = loader() if found is _MISSING else found
        except Exception as raised:
            return _instead(lead, raised)
        except BaseException:
            lead.abandon()
            raise
        lead.finish(value, *self._options(value, *options))
        if found is _MISSING:
            self._to_tiers(key, value, options[2])
        return value

    async def _alead(self, key, lead, loader, options, refresh=False):
        aside = asyncio.get_running_loop().run_in_executor
        try:
            found = _MISSING if refresh or not self._tiers else await aside(None, self._from_tiers, key, options[2])
            value = await loader() if found is _MISSING else found
        except Exception as raised:
            return _instead(lead, raised)
        except BaseException:  # cancelled
            lead.abandon()
            raise
        lead.finish(value, *self._options(value, *options))
        if found is _MISSING and self._tiers:
            await aside(None, self._to_tiers, key, value, options[2])
        return value

    def _refresh(self, key, lead, loader, options):
        try:
            self._lead(key, lead, loader, options, refresh=True)
        except Exception:  # counted as a failed load; the old value is served on
            pass

    async def _arefresh(self, key, lead, loader, options):
        try:
            await self._alead(key, lead, loader, options, refresh=True)
        except Exception:
            pass


def _set(arrived, mail):
    """The mail of a load to a task; one that does not wait any more must not keep a lead."""
    if not arrived.done():
        arrived.set_result(mail)
    elif mail[2] is not None:
        mail[2].abandon()


def _instead(lead, raised):
    """An old value if one may answer for the failed load, else the exception."""
    answered, value = lead.fail(raised)
    if answered:
        return value
    raise raised


def _answer(outcome, value):
    if outcome == "failed":
        raise value
    return value
