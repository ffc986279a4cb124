"""Models in memory for those who use them: leases, a budget of bytes, eviction by what it costs.

    from genscope.optimize import ModelManager, diffusers_pipeline

    manager = ModelManager(budget="20GB", device="cuda:0")
    manager.register("sdxl", diffusers_pipeline("models/sdxl", dtype="float16"))
    manager.register("upscaler", lambda: load_upscaler(), bytes="2GB")

    with manager.lease("sdxl", timeout=30) as pipe:
        image = pipe("a cat").images[0]

A model that is leased stays. When room is needed, the one goes whose bytes save the least time.
docs/optimize-models.md has the rules. All of it may be called from any thread; nothing waits with
the GIL held.
"""
from __future__ import annotations

import asyncio
import contextlib
import inspect
import weakref
from typing import Any, AsyncIterator, Callable, Iterator, Mapping, NamedTuple, Optional, Union

from .. import _core
from .cache import size_in_bytes

Bytes = Union[int, str]


def parse_bytes(size: Bytes) -> int:
    return 0 if size == 0 else size_in_bytes(size)


class ModelError(RuntimeError):
    """A model cannot be had. `refusal` says why: broken, no_room, cancelled, closed. The exception of
    a load that failed is its `__cause__`."""

    def __init__(self, message: str, refusal: str) -> None:
        super().__init__(message)
        self.refusal = refusal


class Adapter:
    """How a model is loaded, and the rest; what is None is not there. Give it to `register`."""

    def __init__(self, load: Callable[..., Any], unload: Optional[Callable[[Any], None]] = None,
                 bytes: Optional[int] = None, sleep: Optional[Callable[[Any], None]] = None,
                 wake: Optional[Callable[[Any], None]] = None,
                 size: Optional[Callable[[Any], int]] = None) -> None:
        self.load, self.unload, self.bytes = load, unload, bytes
        self.sleep, self.wake, self.size = sleep, wake, size


class Device(NamedTuple):
    """A device as the probes see it. What could not be read is None, and `reason` says why."""
    id: str
    name: str
    vendor: str
    gpu: bool
    total_bytes: Optional[int]
    used_bytes: Optional[int]
    free_bytes: Optional[int]
    reason: str


class DeviceManager:
    """What devices there are, and how full they are: GPUs first, then the CPU with its RAM."""

    def __init__(self) -> None:
        self._core = _core.DeviceManager()

    def devices(self) -> list[Device]:
        return [Device(**row) for row in self._core.devices()]

    def device(self, id: str) -> Device:
        """By id, or "gpu0", "gpu1", ... in the order of devices(), or "cpu"."""
        devices = self.devices()
        for at, device in enumerate(devices):
            if device.id == id or (device.gpu and id == f"gpu{at}"):
                return device
        known = ", ".join(f"gpu{at}" if d.gpu else d.id for at, d in enumerate(devices))
        raise LookupError(f"there is no device {id}; there are {known}")

    def absent(self) -> list[dict[str, str]]:
        """Sources that do not work here: source, reason, remedy."""
        return self._core.absent()


def _wants_device(load: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(load).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL) and
               p.default is p.empty for p in parameters)


def _budgets(budget: Union[Bytes, Mapping[str, Bytes], None], device: Optional[str]) -> dict[str, int]:
    if isinstance(budget, Mapping):
        if device is not None:
            raise ValueError("give the devices as keys of budget, or one device; not both")
        return {name: parse_bytes(size) for name, size in budget.items()}
    if budget is not None:
        return {device or "cpu": parse_bytes(budget)}
    seen = DeviceManager().devices()
    found: dict[str, int] = {}
    for one in seen:
        if one.gpu and one.total_bytes is not None:
            kind = "xpu" if one.vendor == "intel" else "cuda"
            found[f"{kind}:{len(found)}"] = int(one.total_bytes * 0.9)
    if not found and seen[-1].free_bytes is not None:
        found["cpu"] = int(seen[-1].free_bytes * 0.9)
    if device is not None:
        found = {name: size for name, size in found.items() if name == device}
    if not found:
        raise ValueError(f"the memory of {device or 'this machine'} could not be read; give a budget, "
                         "for example budget=\"20GB\"")
    return found


class ModelManager:
    """Keeps models in memory within a budget. Close it, or use it as a context manager.

    budget         bytes, or a text like "20GB"; for several devices a dict {"cuda:0": "20GB", ...}.
                   Without one: nine tenths of each GPU, else of the RAM that is free.
    device         the name of the one device, as `load` gets it; "cpu" if nothing else is said
    slots          leases on a device at a time; None: no limit
    reserve        bytes kept free on each device for the work itself
    host_budget    bytes of RAM for models that sleep
    measure        f(device) -> bytes in use there, read around each transfer: to learn what a model
                   takes where nobody says, and to find leaks
    residency      a model in demand stays for this many times its load time
    patience       seconds after which a request that waits may have what is past its residency;
                   None: `residency` times the longest load
    group_limit    models of a group on a device at a time
    backoff        seconds until a model that failed to load is tried again; doubles each time
    """

    def __init__(self, budget: Union[Bytes, Mapping[str, Bytes], None] = None, *,
                 device: Optional[str] = None, slots: Optional[int] = None, reserve: Bytes = 0,
                 host_budget: Bytes = 0, measure: Optional[Callable[[str], Optional[int]]] = None,
                 residency: float = 4, patience: Optional[float] = None, group_limit: int = 1,
                 backoff: float = 1, load_stops_work: bool = False) -> None:
        self._errors: dict[str, BaseException] = {}
        self._core = _core.ModelManager({
            "host_bytes": parse_bytes(host_budget), "measure": measure, "residency_factor": residency,
            "patience": patience, "group_limit": group_limit, "backoff": backoff})
        # Its threads call Python: they must end before Python does.
        self._finalizer = weakref.finalize(self, self._core.close)
        for name, size in _budgets(budget, device).items():
            self._core.add_device({"name": name, "bytes": size, "slots": slots or 0,
                                   "activation_bytes": parse_bytes(reserve),
                                   "load_stops_work": load_stops_work})

    def register(self, name: str, load: Union[Callable[..., Any], Adapter],
                 unload: Optional[Callable[[Any], None]] = None, bytes: Optional[Bytes] = None,
                 sleep: Optional[Callable[[Any], None]] = None,
                 wake: Optional[Callable[[Any], None]] = None, group: Optional[str] = None, *,
                 size: Optional[Callable[[Any], int]] = None,
                 warmup: Optional[Callable[[Any], None]] = None, priority: int = 0,
                 keep_alive: Optional[float] = None, then: Optional[str] = None,
                 sleep_bytes: Bytes = 0) -> None:
        """Makes a model known. `load()` or `load(device)` gives it. `bytes`: what it takes, if known
        beforehand. `keep_alive`: unloaded after as many seconds without use. `then`: the model that
        is wanted next, prefetched while this one is leased. `sleep` and `wake` move it out of the
        device's memory and back; `sleep_bytes` stay there."""
        if isinstance(load, Adapter):
            unload, sleep, wake = unload or load.unload, sleep or load.sleep, wake or load.wake
            size = size or load.size
            bytes = load.bytes if bytes is None else bytes
            load = load.load
        make, errors, with_device = load, self._errors, _wants_device(load)

        def loaded(device: str) -> Any:
            try:
                model = make(device) if with_device else make()
            except BaseException as error:
                errors[name] = error
                raise
            errors.pop(name, None)
            return model

        spec: dict[str, Any] = {
            "name": name, "load": loaded, "size": size, "warmup": warmup, "group": group or "",
            "bytes": 0 if bytes is None else parse_bytes(bytes), "priority": priority,
            "keep_alive": keep_alive, "then": then or "", "sleep_bytes": parse_bytes(sleep_bytes)}
        if unload is not None:
            drop = unload
            spec["unload"] = lambda model, device: drop(model)
        if (sleep is None) != (wake is None):
            raise ValueError(f"model {name}: sleep and wake come together; give both or neither")
        if sleep is not None and wake is not None:
            down, up = sleep, wake
            spec["sleep"] = lambda model, level: down(model)
            spec["wake"] = lambda model, level: up(model)
        self._core.add(spec)

    def _refused(self, name: str, refusal: str, message: str) -> BaseException:
        if refusal == "deadline":
            return TimeoutError(message)
        if message.startswith("there is no "):
            return LookupError(message)
        error = ModelError(message, refusal)
        error.__cause__ = self._errors.get(name)
        return error

    @contextlib.contextmanager
    def lease(self, name: str, timeout: Optional[float] = None, *, priority: int = 0,
              device: Optional[str] = None) -> Iterator[Any]:
        """The model, which stays in memory within the `with` block. TimeoutError if it is not there
        after `timeout` seconds; ModelError if it cannot be had."""
        lease = self.take(name, timeout, priority=priority, device=device)
        try:
            yield lease.model
        finally:
            lease.release()

    def take(self, name: str, timeout: Optional[float] = None, *, priority: int = 0,
             device: Optional[str] = None) -> _core.ModelLease:
        """The lease itself: `.model`, `.device`, `.waited_seconds`, `.release()`, and
        `.out_of_memory()`, which evicts what is not in use and says whether to try again."""
        lease, refusal, message = self._core.lease(name, timeout, priority, device)
        if lease is None:
            raise self._refused(name, refusal, message)
        return lease

    @contextlib.asynccontextmanager
    async def alease(self, name: str, timeout: Optional[float] = None, *, priority: int = 0,
                     device: Optional[str] = None) -> AsyncIterator[Any]:
        """As lease(), for asyncio: waiting blocks neither the loop nor a thread."""
        loop = asyncio.get_running_loop()
        come: asyncio.Future[tuple[Any, Any, Any]] = loop.create_future()

        def settle(*answer: Any) -> None:
            if not come.done():
                come.set_result(answer)
            elif answer[0] is not None:
                answer[0].release()

        def answered(*answer: Any) -> None:
            try:
                loop.call_soon_threadsafe(settle, *answer)
            except RuntimeError:  # the loop has closed
                if answer[0] is not None:
                    answer[0].release()

        request = self._core.request(name, timeout, priority, device, answered)
        try:
            lease, refusal, message = await come
        except asyncio.CancelledError:
            self._core.cancel(request)
            if come.done() and not come.cancelled() and come.result()[0] is not None:
                come.result()[0].release()
            raise
        if lease is None:
            raise self._refused(name, refusal, message)
        try:
            yield lease.model
        finally:
            lease.release()

    def pin(self, name: str, pinned: bool = True) -> None:
        """A pinned model is loaded when there is room, and never evicted."""
        self._core.pin(name, pinned)

    def prefetch(self, name: str, device: Optional[str] = None) -> None:
        """A hint: loads it when that harms nobody who waits."""
        self._core.prefetch(name, device)

    def unload(self, name: str) -> None:
        """Unloads it as soon as it is not leased."""
        self._core.unload(name)

    def reconcile(self, device: str, free_bytes: int) -> dict[str, Any]:
        """Tells what is free on the device by its own word: memory that is neither free nor ours
        belongs to others and lowers the budget. The figures before and after."""
        return self._core.reconcile(device, free_bytes)

    def ledger(self) -> dict[str, Any]:
        """Who takes how much: `devices`, `models`, and `text` for a person."""
        return self._core.ledger()

    def why(self) -> list[dict[str, Any]]:
        """Why models left, oldest first; bounded."""
        return self._core.why()

    def stats(self) -> dict[str, Any]:
        """Counts of requests, loads, evictions and failures, and seconds of loading and waiting."""
        return self._core.stats()

    def transfers(self) -> list[dict[str, Any]]:
        """Loads, unloads, sleeps and wakes, with `measure`'s figures before and after."""
        return self._core.transfers()

    def leaks(self) -> list[dict[str, Any]]:
        """Models whose unload freed less than their load took, as `measure` saw it."""
        return self._core.leaks()

    def settle(self) -> None:
        """Waits until no transfer is under way."""
        self._core.settle()

    def close(self) -> None:
        """Refuses who waits, and unloads what is not leased; the rest goes with its lease."""
        self._finalizer()

    def __enter__(self) -> "ModelManager":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
