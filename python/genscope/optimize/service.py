"""A generation service in one object: admission, batches, a cache of answers, and an order to end in.

    service = optimize.Service(run, most=4, slo=5.0)       # run(items) -> outputs, on a thread of its own
    image = await service(ask, key={"prompt": ...}, alike="1024x1024", timeout=2.0)

Over Admission, Batcher and Cache, which each work alone. `genscope.asgi.Service` puts it behind HTTP.
"""
from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping, Optional, Union

from .batch import Admission, Batcher
from .cache import Cache, key as make_key


class Service:
    """Answers items with `run(items) -> outputs`.

    An item waits for its turn in its class, or is refused (Rejected) if it would end after its timeout. Items with the
    same `alike` share a call of `run` where that is faster. Equal ones are made once and kept.

    most: items in one call. slo: seconds that an item may take, if it gives no timeout. classes: names and queue
    lengths in order of priority. cache: bytes, a Cache, or None. concurrency: items that are admitted at once; by
    default `most`. closes: what is closed after the last item, such as a ModelManager.
    """

    def __init__(self, run: Callable[[list], Any], *, most: int = 4, slo: float = 5.0,
                 classes: Optional[Mapping[str, int]] = None, cache: Union[str, int, Cache, None] = "256MB",
                 concurrency: Optional[int] = None, closes: Iterable[Any] = (), name: str = "service") -> None:
        self.name, self.slo = name, slo
        self.cache = Cache(cache) if isinstance(cache, (str, int)) else cache
        self.admission = Admission(concurrency=concurrency or most, name=f"{name}/admission",
                                   classes=dict(classes or {"interactive": 64, "bulk": 256}))
        self.batcher = Batcher(run, most=most, slo=slo, name=f"{name}/batcher")
        self._closes = list(closes)

    async def __call__(self, item: Any, *, key: Optional[Mapping[str, Any]] = None, alike: str = "",
                       priority: Union[str, int] = 0, cost: float = 1.0, timeout: Optional[float] = None,
                       tenant: str = "") -> Any:
        """The output. `key`: everything that goes into it; None: it is not kept. Cancelled, it leaves the queue; equal
        items that others wait for go on."""
        within = self.slo if timeout is None else timeout

        async def make() -> Any:
            async with self.admission.enter(priority, cost=cost, timeout=within, tenant=tenant):
                return await self.batcher.asubmit(item, key=alike, cost=cost, timeout=within)

        if key is None or self.cache is None:
            return await make()
        return await self.cache.aget_or_load(make_key(self.name, **key), make)

    def stats(self) -> "dict[str, Any]":
        return {"admission": self.admission.stats(), "batcher": self.batcher.stats(),
                "cache": None if self.cache is None else self.cache.stats()}

    def prometheus_text(self) -> str:
        return self.admission.prometheus_text() + self.batcher.prometheus_text()

    def refuse(self) -> None:
        """From now on: what waits and what comes is refused, what runs goes on."""
        self.admission.close()

    def drain(self, timeout: Optional[float] = 30.0) -> bool:
        """refuse(), then waits for what runs and closes the parts; False: something still runs."""
        if not self.admission.drain(timeout):
            return False
        self.batcher.close()
        for part in self._closes:
            part.close()
        return True
