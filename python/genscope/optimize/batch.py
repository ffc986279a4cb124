"""Batches, admission and the size of a batch. For threads and for asyncio.

    from genscope import optimize

    with optimize.Batcher(lambda prompts: pipe(prompts).images, most=8, slo=5.0) as batcher:
        image = batcher("a cat", key="1024x1024")              # blocks this thread
        image = await batcher.asubmit("a cat", key="1024x1024")    # in a coroutine

    admission = optimize.Admission(concurrency=1, classes={"interactive": 32, "bulk": 256})
    with admission.enter("interactive", timeout=5.0):          # or `async with`
        ...

The decisions are the C++ core's (docs/optimize-flow.md).
"""
from __future__ import annotations

import asyncio
import inspect
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Callable, MutableMapping, Optional, Sequence, Union

from .. import _core
from .retry import Failed, classify


class Rejected(Failed):
    """Refused before it began: `why` says for what reason, `retry_after` when to come again (None: not known)."""

    def __init__(self, why: str, retry_after: Optional[float] = None) -> None:
        words = {"queue_full": "too many wait already", "deadline": "it would end after its deadline",
                 "overdue": "its deadline passed, or came too close, while it waited",
                 "closed": "the service is closing", "cancelled": "the caller left"}
        super().__init__("rejected", f"refused: {words.get(why, why)}", retry_after)
        self.why = why


# --- batches

class _Work:
    """What the batcher's thread needs; it keeps no Batcher alive."""

    def __init__(self, core: _core.BatchQueue, fn: Callable[[list], Any]) -> None:
        self.core, self.fn = core, fn
        self.lock = threading.Lock()
        self.items: dict[int, list] = {}  # id -> [input, future, begun]
        self.loop: Optional[asyncio.AbstractEventLoop] = None

    def take(self, number: int) -> Optional[list]:
        with self.lock:
            return self.items.pop(number, None)

    def fail(self, number: int, error: BaseException) -> None:
        entry = self.take(number)
        if entry is None:
            return
        _, future, begun = entry
        if begun or future.set_running_or_notify_cancel():
            future.set_exception(error)

    def call(self, inputs: list) -> list:
        outputs = self.fn(inputs)
        if inspect.isawaitable(outputs):
            if self.loop is None:
                self.loop = asyncio.new_event_loop()
            outputs = self.loop.run_until_complete(_awaited(outputs))
        outputs = list(outputs)
        if len(outputs) != len(inputs):
            raise ValueError(f"the batch function gave {len(outputs)} outputs for {len(inputs)} inputs")
        return outputs

    def run(self, batch: list) -> None:
        wanted, left = [], []
        with self.lock:
            entries = [(number, self.items[number]) for number in batch]
        for number, entry in entries:
            if entry[2] or entry[1].set_running_or_notify_cancel():
                entry[2] = True
                wanted.append((number, entry))
            else:
                left.append(number)
        if left:
            self.core.finish(left, "cancelled", 0.0)
            for number in left:
                self.take(number)
        if not wanted:
            return
        ids, began = [number for number, _ in wanted], time.perf_counter()
        try:
            outputs = self.call([entry[0] for _, entry in wanted])
        except Exception as error:
            for number in self.core.finish(ids, _kind(error), time.perf_counter() - began):
                self.fail(number, error)
            return
        self.core.finish(ids, None, time.perf_counter() - began)
        for number, output in zip(ids, outputs):
            entry = self.take(number)
            if entry is not None:
                entry[1].set_result(output)

    def loop_until_closed(self) -> None:
        while True:
            batch, expired, closed = self.core.take_waiting()
            for number in expired:
                self.fail(number, TimeoutError("the deadline passed before it began"))
            if batch:
                self.run(batch)
            if closed:
                if self.loop is not None:
                    self.loop.close()
                return


async def _awaited(result: Any) -> Any:
    return await result


def _kind(error: BaseException) -> str:
    kind = classify(error)[0]
    return "transient" if kind == "cancelled" else kind  # the function's, not the caller's


class Batcher:
    """Calls `fn(inputs) -> outputs` with several inputs at once where that is faster.

    It learns for each key what a batch costs and batches only if two at once are `least_gain` times as fast as one
    after the other. Inputs wait at most `max_delay` seconds for others, and never so long that a timeout suffers.
    If a batch fails its halves are tried apart, so that only the inputs that fail alone fail. `fn` may be a
    coroutine function; it runs on the batcher's thread.
    """

    def __init__(self, fn: Callable[[list], Any], *, most: int = 8, max_delay: float = 0.01,
                 least_gain: float = 1.15, slo: float = 0.0, most_cost: float = 0.0, look_again_every: int = 256,
                 most_waiting: int = 10_000, name: str = "batcher") -> None:
        self._core = _core.BatchQueue(name=name, most=most, most_cost=most_cost, max_delay=max_delay,
                                      least_gain=least_gain, slo_seconds=slo, look_again_every=look_again_every,
                                      most_waiting=most_waiting)
        self._work = _Work(self._core, fn)
        self._thread = threading.Thread(target=self._work.loop_until_closed, name=name, daemon=True)
        self._thread.start()

    def submit(self, item: Any, *, key: str = "", cost: float = 1.0, timeout: Optional[float] = None) -> Future:
        """A future of its output. `timeout`: an input that has not begun by then fails with TimeoutError."""
        future: Future = Future()
        with self._work.lock:
            number = self._core.push(key, cost, timeout)
            if number is not None:
                self._work.items[number] = [item, future, False]
        if number is None:
            raise Rejected("queue_full" if self._thread.is_alive() else "closed")
        return future

    def __call__(self, item: Any, *, key: str = "", cost: float = 1.0, timeout: Optional[float] = None) -> Any:
        return self.submit(item, key=key, cost=cost, timeout=timeout).result()

    async def asubmit(self, item: Any, *, key: str = "", cost: float = 1.0, timeout: Optional[float] = None) -> Any:
        """The output. If the task is cancelled, an input that has not begun is not run."""
        return await asyncio.wrap_future(self.submit(item, key=key, cost=cost, timeout=timeout))

    def gain(self, key: str = "", b: int = 2) -> Optional[float]:
        """How many times as fast `b` at once are; None: not known yet."""
        return self._core.gain(key, b)

    @property
    def waiting(self) -> int:
        return self._core.waiting

    def stats(self) -> dict[str, Any]:
        """requests, batches, expired, splits, waiting, running; `queue`: the waits, a histogram for each key."""
        return self._core.stats()

    def prometheus_text(self) -> str:
        return self._core.prometheus_text()

    def close(self, *, cancel: bool = False) -> None:
        """Runs what waits (or cancels it), then ends the thread."""
        if cancel:
            for number in self._core.cancel_all():
                self._work.fail(number, Rejected("closed"))
        self._core.close()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> "Batcher":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is not None:
            core.close()


# --- admission

class _Entry:
    """A request that asks to be let in: a context manager of both kinds, to be entered once."""

    def __init__(self, admission: "Admission", in_class: int, cost: float, timeout: Optional[float],
                 tenant: str) -> None:
        self._admission, self._asked = admission, (in_class, cost, timeout, tenant)
        self._timeout = timeout
        self._id = 0
        self.queue_seconds = 0.0

    def _ask(self, tell: Callable[[tuple], None]) -> bool:
        """Whether it runs at once; False: `tell` will be called. Raises Rejected."""
        with self._admission._lock:
            number, state, why, after = self._admission._core.enter(*self._asked)
            if state == "refused":
                raise Rejected(why, after)
            self._id = number
            if state == "wait":
                self._admission._waiters[number] = tell
            return state == "run"

    def _leave(self) -> bool:
        """Leaves the queue; False: it was decided meanwhile."""
        with self._admission._lock:
            self._admission._waiters.pop(self._id, None)
            return self._admission._core.cancel(self._id)

    def _decide(self, decided: tuple, began: float) -> None:
        _, run, why, after = decided
        if not run:
            self._id = 0
            raise Rejected(why, after)
        self.queue_seconds = time.perf_counter() - began

    def _end(self, error: Optional[BaseException]) -> None:
        number, self._id = self._id, 0
        if number:
            overloaded = error is not None and classify(error)[0] in ("timeout", "out_of_memory")
            self._admission._finished(number, error is None, overloaded)

    def __enter__(self) -> "_Entry":
        began, decided = time.perf_counter(), threading.Event()
        box: list[tuple] = []

        def tell(what: tuple) -> None:
            box.append(what)
            decided.set()

        if self._ask(tell):
            return self
        try:
            decided.wait(self._timeout)
        except BaseException:  # KeyboardInterrupt: a permit must not be lost
            if not self._leave() and box and box[0][1]:
                self._admission._finished(self._id, False, False)
            raise
        if not box and self._leave():
            raise Rejected("overdue")
        self._decide(box[0], began)
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        self._end(error)

    async def __aenter__(self) -> "_Entry":
        began, loop = time.perf_counter(), asyncio.get_running_loop()
        turn: asyncio.Future = loop.create_future()

        def set_turn(what: tuple) -> None:
            if not turn.done():
                turn.set_result(what)
            elif what[1]:  # its task was cancelled, and the permit came too late
                self._admission._finished(what[0], False, False)

        if self._ask(lambda what: loop.call_soon_threadsafe(set_turn, what)):
            return self
        try:
            done, _ = await asyncio.wait({turn}, timeout=self._timeout)
        except asyncio.CancelledError:
            if turn.done():
                if turn.result()[1]:
                    self._admission._finished(self._id, False, False)
            else:
                turn.cancel()
                self._leave()
            raise
        if not done:
            if self._leave():
                raise Rejected("overdue")
            await turn
        self._decide(turn.result(), began)
        return self

    async def __aexit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        self._end(error)


class Admission:
    """Which requests run, which wait, which are refused in time (Rejected, with `retry_after`).

    `classes` are names and queue lengths in order of priority. A request with a timeout is refused when it comes if
    it would, by what was measured, end too late. With `most_concurrency` the number that run at once adapts itself.
    """

    def __init__(self, *, concurrency: float = 1, classes: Optional[dict[str, int]] = None,
                 most_concurrency: float = 0, seconds_per_cost: float = 0.0, safety: float = 2.33,
                 queue_target: float = 0.0, queue_interval: float = 10.0, down_after: float = 300.0,
                 name: str = "admission") -> None:
        self._classes = list(classes or {"default": 64})
        self._core = _core.AdmissionQueue(name=name, classes=classes, concurrency=concurrency,
                                          most_concurrency=most_concurrency, seconds_per_cost=seconds_per_cost,
                                          safety=safety, queue_target=queue_target, queue_interval=queue_interval,
                                          down_after=down_after)
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._waiters: dict[int, Callable[[tuple], None]] = {}

    def enter(self, in_class: Union[str, int] = 0, *, cost: float = 1.0, timeout: Optional[float] = None,
              tenant: str = "") -> _Entry:
        """For `with` or `async with`. `timeout`: seconds in which the whole request should be done. `tenant`: who asks,
        for the histograms of waits."""
        if isinstance(in_class, str):
            if in_class not in self._classes:
                raise ValueError(f"no class {in_class!r}; there are {', '.join(self._classes)}")
            in_class = self._classes.index(in_class)
        return _Entry(self, in_class, cost, timeout, tenant)

    def _tell(self, decided: Sequence[tuple]) -> None:  # with the lock
        pending = list(decided)
        while pending:
            one = pending.pop(0)
            tell = self._waiters.pop(one[0], None)
            try:
                if tell is not None:
                    tell(one)
            except RuntimeError:  # its event loop is closed: the next one's turn
                if one[1]:
                    pending += self._core.finished(one[0], False, False)
        self._idle.notify_all()

    def _finished(self, number: int, ok: bool, overloaded: bool) -> None:
        with self._lock:
            self._tell(self._core.finished(number, ok, overloaded))

    def stats(self) -> dict[str, Any]:
        """admitted, rejected, overdue, waiting, running, limit, desired_replicas, ...; None: not known. `queue`: the waits
        of those that began, a histogram for each class and tenant."""
        return self._core.stats()

    def prometheus_text(self) -> str:
        return self._core.prometheus_text()

    def close(self) -> None:
        """Refuses what waits and what comes; what runs goes on."""
        with self._lock:
            self._tell(self._core.close())

    def drain(self, timeout: Optional[float] = None) -> bool:
        """close(), then waits until nothing runs; False: something still does."""
        self.close()
        with self._lock:
            return self._idle.wait_for(lambda: self._core.stats()["running"] == 0, timeout)


# --- the size of a batch

@dataclass(frozen=True)
class Probe:
    batch: int
    fits: bool
    bytes: Optional[float]
    seconds: Optional[float]


@dataclass(frozen=True)
class BatchSearch:
    """`batch` is the advice; 0: not even one fits. What was not measured is None."""
    batch: int
    largest_fit: int
    smallest_out: Optional[int]
    base_bytes: Optional[float]
    bytes_per_item: Optional[float]
    out_of_memory: int
    reason: str
    probes: list[Probe] = field(default_factory=list)


def optimal_batch(probe: Callable[[int], Any], budget: float = 0, *, most: int = 1024, most_probes: int = 8,
                  most_out_of_memory: int = 2, least_gain: float = 0.03,
                  ceilings: Optional[MutableMapping[str, int]] = None, key: str = "") -> BatchSearch:
    """The largest batch that fits `budget` bytes and still pays, in few tries.

    `probe(b)` runs a batch of b and gives its peak of memory in bytes, or (bytes, seconds), or None if nothing was
    measured. MemoryError, or torch's OutOfMemoryError, says that it does not fit: that is a measurement. Anything
    else that it raises ends the search. Sizes that ran out are kept in `ceilings[key]` and not tried again.
    """
    def measured(b: int) -> tuple[bool, Optional[float], Optional[float]]:
        try:
            seen = probe(b)
        except Exception as error:
            if classify(error)[0] == "out_of_memory":
                return False, None, None
            raise
        if isinstance(seen, tuple):
            return True, seen[0], seen[1]
        return True, (None if seen is None or isinstance(seen, bool) else float(seen)), None

    known = ceilings.get(key, 0) if ceilings is not None else 0
    found = _core.optimal_batch(measured, float(budget), most, most_probes, most_out_of_memory, least_gain, known)
    if ceilings is not None and found["smallest_out"] is not None:
        ceilings[key] = found["smallest_out"]
    found["probes"] = [Probe(*one) for one in found["probes"]]
    return BatchSearch(**found)


def desired_replicas(arriving_cost_per_second: float, capacity_per_second: float) -> Optional[int]:
    """How many replicas the arriving work needs; None if the capacity is not known. Admission.stats() has it with
    hysteresis, for an autoscaler."""
    return _core.desired_replicas(arriving_cost_per_second, capacity_per_second)
