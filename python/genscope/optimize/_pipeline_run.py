"""How a wrapped pipeline is called: key, flight, lane, run, copy.

    call ── key of inputs ──> kept? ────────────────────────────────> copy
                     │        in flight? ── wait for it ────────────> copy
                     └── lane ── key again, now exact ── kept? ─────> copy
                                        └── run ── keep, if certain ─> result

The state of a pipeline is exact only in its lane, where nothing else runs. If the lane is in use, it
is read outside as well, so that a hit need not wait for the work of others: if it differs there, the
call goes to the lane.

Invariants:
1. `pipe` runs at most once at a time, also if it moves to another device's lane meanwhile.
2. A result is kept only if the run drew no random numbers but from the call's generators, left its
   inputs and the model as they were, and was not interrupted.
3. Who waits for a flight that fails, or whose result may not be shared, runs on its own.
4. A flight that its leader gives up goes on while anybody waits for it.
"""
from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import functools
import inspect
import threading
import time
from typing import Any, Callable, Optional

from .. import _core
from . import _pipeline_values as values
from ._pipeline_state import Reader
from ._torch_thread import carried

_lanes: "dict[str, Any]" = {}
_lanes_mutex = threading.Lock()


def lane_of(device: str) -> Any:
    """The lane of a device, one for all wrapped pipelines of the process."""
    from .lanes import Lane
    with _lanes_mutex:
        if device not in _lanes:
            _lanes[device] = Lane(device, width=1)
        return _lanes[device]


_thread = threading.local()


def _held() -> "list[Any]":
    """Lanes in whose bodies this thread is."""
    if not hasattr(_thread, "lanes"):
        _thread.lanes = []
    return _thread.lanes


def _marked(lane: Any, body: Callable[[], Any]) -> Callable[[], Any]:
    """The body as the caller's thread would run it, which knows that it is in the lane."""
    def run() -> Any:
        _held().append(lane)
        try:
            return body()
        finally:
            _held().pop()
    return carried(run)


class _Using:
    """Counts who uses or waits for a lane."""
    _counts: "collections.Counter[int]" = collections.Counter()

    def __init__(self, lane: Any) -> None:
        self._lane = id(lane)

    def __enter__(self) -> None:
        with _lanes_mutex:
            self._counts[self._lane] += 1

    def __exit__(self, *_: Any) -> None:
        with _lanes_mutex:
            self._counts[self._lane] -= 1

    @classmethod
    def nobody(cls, lane: Any) -> bool:
        with _lanes_mutex:
            return cls._counts[id(lane)] <= 0


def _turn(lane: Any, body: Callable[[], Any], place: "dict[str, Any]") -> Any:
    with _Using(lane):
        return lane.run(_marked(lane, body), **place)


class _Kept:
    """A result in the cache."""

    def __init__(self, frozen: Any, ends: "list[Any]", seconds: float) -> None:
        self.frozen = frozen
        self.ends = ends  # states of the generators after the run
        self.seconds = seconds


class _Flight:
    """A run that others may wait for."""

    def __init__(self, key: Any) -> None:
        self.key = key
        self.waiters = 1
        self.future: "concurrent.futures.Future[Optional[_Kept]]" = concurrent.futures.Future()

    def land(self, kept: Optional[_Kept]) -> None:
        if not self.future.done():
            self.future.set_result(kept)


class _Request:
    """A call's inputs. `reason`: why its result cannot be kept."""

    def __init__(self, signature: Any, args: tuple, kwargs: "dict[str, Any]") -> None:
        self.args, self.kwargs = args, kwargs
        self._signature = signature
        self.reason: Optional[str] = None
        self.generators: "list[Any]" = []
        try:
            self.inputs = self._inputs()
        except values.Unkeyable as error:
            self.reason = error.reason

    def _inputs(self) -> Any:
        if self._signature is None:
            raise values.Unkeyable("no_diffusers_pipeline")
        try:
            bound = self._signature.bind(*self.args, **self.kwargs)
        except TypeError:  # the pipeline will say it better
            raise values.Unkeyable("arguments") from None
        bound.apply_defaults()
        given = dict(bound.arguments)
        if "generator" not in given:
            raise values.Unkeyable("no_generator")
        self.generators = values.generators_in(given.pop("generator"))
        return values.digest([(name, values.canonical(value)) for name, value in given.items()],
                             isinstance(bound.arguments["generator"], (list, tuple)))

    def key(self, state: bytes, starts: Any) -> Any:
        return _key("image", state, self.inputs, values.digest(starts))

    def unchanged(self) -> bool:
        try:
            return self.inputs == self._inputs()
        except values.Unkeyable:
            return False


def _key(kind: str, *parts: bytes) -> Any:
    from .cache import key
    return key(kind, *parts)


def _is_diffusers(pipe: Any) -> bool:
    return any(base.__name__ == "DiffusionPipeline" and base.__module__.startswith("diffusers.")
               for base in type(pipe).__mro__)


class Runner:
    def __init__(self, pipe: Any, cache: Any, lane: Any, embeddings: bool, results: bool,
                 name: str) -> None:
        self.pipe, self.cache, self.name = pipe, cache, name
        self._lane = lane
        known = cache is not None and _is_diffusers(pipe)
        self._signature = inspect.signature(pipe.__call__) if known and results else None
        self._why_not = "no_diffusers_pipeline" if cache is not None and not known else None
        self._reader = Reader(pipe)
        self._text = Reader(pipe)
        self._embeds = known and embeddings and hasattr(type(pipe), "encode_prompt")
        self._alone = threading.RLock()
        self._mutex = threading.Lock()
        self._flights: "dict[Any, _Flight]" = {}
        self._drawn_from: "set[int]" = set()  # ids of generators of flights
        self._running: Optional[_Flight] = None
        self._revision = 0
        self._counts: "collections.Counter[str]" = collections.Counter()
        self._bypassed: "collections.Counter[str]" = collections.Counter()
        self._saved = 0.0

    # --- what the wrapper offers

    def lane(self) -> Any:
        if self._lane is not None:
            return self._lane
        device = getattr(self.pipe, "_execution_device", None) or getattr(self.pipe, "device", "cpu")
        return lane_of(str(device))

    def changed(self) -> None:
        with self._mutex:
            self._revision += 1

    def stats(self) -> "dict[str, Any]":
        with self._mutex:
            counts = {name: self._counts[name] for name in ("calls", "runs", "hits", "shared")}
            found = {**counts, "embeddings": {"hits": self._counts["embedding_hits"],
                                              "misses": self._counts["embedding_misses"]},
                     "seconds_saved": self._saved, "bypassed": dict(self._bypassed)}
        found["cache"] = self.cache.stats() if self.cache is not None else None
        return found

    def exclusively(self, function: Callable[[], Any], changes: bool) -> Any:
        """In turn with calls. Inside of a call, at once."""
        def body() -> Any:
            with self._alone:
                try:
                    return function()
                finally:
                    if changes:
                        self.changed()
        return body() if self._inside() else _turn(self.lane(), body, {})

    def _inside(self) -> bool:
        """Whether this thread is in a body of the lane: it would wait for itself."""
        return self._alone._is_owned() or self.lane() in _held()  # type: ignore[attr-defined]

    # --- calls

    def call(self, args: tuple, kwargs: "dict[str, Any]", place: "dict[str, Any]") -> Any:
        if self._inside():  # from a callback, or from another pipeline of the device
            with self._alone:
                return self.pipe(*args, **kwargs)
        request = self._request(args, kwargs)
        while True:
            kept, flight, leads = self._look(request)
            if kept is not None:
                return self._copy(request, kept, "hits")
            if flight is None or leads:
                try:
                    return _turn(self.lane(), functools.partial(self._body, request, flight), place)
                finally:
                    self._end(flight, request)
            kept = flight.future.result()
            if kept is not None:
                return self._copy(request, kept, "shared")

    async def acall(self, args: tuple, kwargs: "dict[str, Any]", place: "dict[str, Any]") -> Any:
        """What reads or copies is done on threads: the loop goes on."""
        request = await asyncio.to_thread(self._request, args, kwargs)
        while True:
            looking = asyncio.ensure_future(asyncio.to_thread(self._look, request))
            try:
                kept, flight, leads = await asyncio.shield(looking)
            except asyncio.CancelledError:
                looking.add_done_callback(functools.partial(self._leave, request))
                raise
            if kept is not None:
                return await asyncio.to_thread(self._copy, request, kept, "hits")
            task = None
            if flight is None or leads:
                flight = flight or _Flight(None)  # nobody joins this one, but it can be stopped
                task = asyncio.ensure_future(self._lead(request, flight, place))
            try:
                if task is not None:
                    return await asyncio.shield(task)
                kept = await asyncio.shield(asyncio.wrap_future(flight.future))
            except asyncio.CancelledError:
                self._give_up(request, flight, task)
                raise
            if kept is not None:
                return await asyncio.to_thread(self._copy, request, kept, "shared")

    async def _lead(self, request: _Request, flight: _Flight, place: "dict[str, Any]") -> Any:
        try:
            lane = self.lane()
            with _Using(lane):
                return await lane.arun(_marked(lane, functools.partial(self._body, request, flight)), **place)
        finally:
            self._end(flight, request)

    def _leave(self, request: _Request, looked: "asyncio.Future[Any]") -> None:
        """A call that was cancelled while it looked."""
        if looked.cancelled() or looked.exception() is not None:
            return
        _, flight, leads = looked.result()
        if leads:
            self._end(flight, request)  # who joined meanwhile looks again
        elif flight is not None:
            self._give_up(request, flight, None)

    def _give_up(self, request: _Request, flight: _Flight, task: "Optional[asyncio.Future[Any]]") -> None:
        with self._mutex:
            flight.waiters -= 1
            last = flight.waiters == 0
            if last:
                if self._flights.get(flight.key) is flight:
                    del self._flights[flight.key]
                if self._running is flight and hasattr(type(self.pipe), "interrupt"):
                    self.pipe._interrupt = True  # looked at before each step
        if task is not None:
            task.add_done_callback(lambda done: (done.cancelled() or done.exception(),  # of nobody
                                                 self._end(flight, request)))
            if last:
                task.cancel()

    def _request(self, args: tuple, kwargs: "dict[str, Any]") -> _Request:
        request = _Request(self._signature, args, kwargs)
        with self._mutex:
            self._counts["calls"] += 1
        if request.reason is not None and self.cache is not None:
            self._bypass(self._why_not or request.reason)
        return request

    def _bypass(self, reason: str) -> None:
        with self._mutex:
            self._bypassed[reason] += 1
            count = self._bypassed[reason]
        _core.counter(f"{self.name}/bypassed/{reason}", count)

    def _look(self, request: _Request) -> "tuple[Optional[_Kept], Optional[_Flight], bool]":
        """(kept, flight, whether this call leads it), from outside of the lane."""
        if request.reason is not None:
            return None, None, False
        if _Using.nobody(self.lane()):  # the lane is free: read there, once
            return None, _Flight(None), True
        try:
            with self._mutex:
                busy = any(id(each) in self._drawn_from for each in request.generators)
            if busy:
                return None, None, False  # its state is not known before the run that draws from it ends
            key = request.key(self._state(self._reader.read()), values.states_of(request.generators))
        except Exception:  # the pipeline is being changed at this moment: in the lane it is not
            return None, None, False
        kept = self.cache.get(key)
        if kept is not None:
            return kept, None, False
        with self._mutex:
            flight = self._flights.get(key)
            if flight is not None:
                flight.waiters += 1
                return None, flight, False
            flight = self._flights[key] = _Flight(key)
            self._drawn_from.update(map(id, request.generators))
            return None, flight, True

    def _end(self, flight: Optional[_Flight], request: _Request) -> None:
        if flight is None:
            return
        with self._mutex:
            if self._flights.get(flight.key) is flight:
                del self._flights[flight.key]
            self._drawn_from.difference_update(map(id, request.generators))
        flight.land(None)

    def _state(self, state: "dict[str, Any]") -> bytes:
        return values.digest(self._reader.digest(state), self._revision)

    def _copy(self, request: _Request, kept: _Kept, counted: str) -> Any:
        values.set_states(request.generators, kept.ends)
        with self._mutex:
            self._counts[counted] += 1
            self._saved += kept.seconds
            count, saved = self._counts[counted], self._saved
        _core.counter(f"{self.name}/{counted}", count)
        _core.counter(f"{self.name}/seconds_saved", saved)
        return values.thawed(kept.frozen)

    # --- in the lane

    def _body(self, request: _Request, flight: Optional[_Flight]) -> Any:
        with self._alone:
            with self._mutex:
                if flight is not None and flight.waiters == 0:
                    raise asyncio.CancelledError
                self._running = flight
            try:
                return self._run(request, flight)
            finally:
                self._running = None

    def _run(self, request: _Request, flight: Optional[_Flight]) -> Any:
        before: "dict[str, Any]" = {}
        if request.reason is None:
            before = self._reader.read()
            starts = values.states_of(request.generators)
            key = request.key(self._state(before), starts)
            kept = self.cache.get(key)
            if kept is not None:
                if flight is not None:
                    flight.land(kept)
                return self._copy(request, kept, "hits")
            self._show(request, flight, key)
            drawn = values.random_state()
        began = time.perf_counter()
        with self._count_run(), self._encoding():
            result = self.pipe(*request.args, **request.kwargs)
        seconds = time.perf_counter() - began
        if request.reason is None:
            try:
                kept = self._keep(request, result, before, drawn, seconds)
                self.cache.put(request.key(self._state(before), starts), kept[0],
                               bytes=kept[1], cost=seconds)
                if flight is not None:
                    flight.land(kept[0])
            except values.Unkeyable as error:
                self._bypass(error.reason)
        return result

    def _show(self, request: _Request, flight: Optional[_Flight], key: Any) -> None:
        """From now on others can join."""
        with self._mutex:
            if flight is not None and flight.key is None:
                flight.key = key
                self._flights.setdefault(key, flight)
                self._drawn_from.update(map(id, request.generators))

    def _count_run(self) -> Any:
        with self._mutex:
            self._counts["runs"] += 1
            count = self._counts["runs"]
        _core.counter(f"{self.name}/runs", count)
        return _core.span(self.name, "stage")

    def _keep(self, request: _Request, result: Any, before: "dict[str, Any]", drawn: "list[Any]",
              seconds: float) -> "tuple[_Kept, int]":
        if getattr(self.pipe, "_interrupt", False):
            raise values.Unkeyable("interrupted")
        if drawn != values.random_state():
            raise values.Unkeyable("global_random_numbers")
        if not request.unchanged():
            raise values.Unkeyable("run_changed_its_input")
        reason = self._reader.learn(before, self._reader.read())
        if reason is not None:
            raise values.Unkeyable(reason)
        frozen, size = values.frozen(result)
        ends = [each.get_state() for each in request.generators]
        return _Kept(frozen, ends, seconds), size + sum(end.nbytes for end in ends)

    # --- prompts

    def _encoding(self) -> Any:
        return _Encoding(self) if self._embeds else _NOTHING

    def encode(self, original: Callable[..., Any], args: tuple, kwargs: "dict[str, Any]") -> Any:
        try:
            key, before = self._embedding_key(original, args, kwargs)
        except values.Unkeyable as error:
            self._bypass("embedding_" + error.reason)
            return original(*args, **kwargs)
        kept = self.cache.get(key)
        if kept is not None:
            with self._mutex:
                self._counts["embedding_hits"] += 1
                self._saved += kept.seconds
                count = self._counts["embedding_hits"]
            _core.counter(f"{self.name}/embedding_hits", count)
            return values.thawed(kept.frozen)
        with self._mutex:
            self._counts["embedding_misses"] += 1
        drawn = values.random_state()
        began = time.perf_counter()
        result = original(*args, **kwargs)
        seconds = time.perf_counter() - began
        try:
            if drawn != values.random_state():
                raise values.Unkeyable("global_random_numbers")
            reason = self._text.learn(before, self._text.read(text_only=True))
            if reason is not None:
                raise values.Unkeyable(reason)
            frozen, size = values.frozen(result)
            key, _ = self._embedding_key(original, args, kwargs, before)
            self.cache.put(key, _Kept(frozen, [], seconds), bytes=size, cost=seconds)
        except values.Unkeyable as error:
            self._bypass("embedding_" + error.reason)
        return result

    def _embedding_key(self, original: Callable[..., Any], args: tuple, kwargs: "dict[str, Any]",
                       before: "Optional[dict[str, Any]]" = None) -> "tuple[Any, dict[str, Any]]":
        bound = inspect.signature(original).bind(*args, **kwargs)
        bound.apply_defaults()
        for value in bound.arguments.values():
            if type(value).__module__ == "torch" and type(value).__name__ == "Tensor":
                raise values.Unkeyable("given_as_tensor")
        inputs = values.digest([(name, values.canonical(value)) for name, value in bound.arguments.items()])
        if before is None:
            before = self._text.read(text_only=True)
        state = values.digest(self._text.digest(before), self._revision)
        return _key("embedding", state, inputs), before


class _Encoding:
    """The pipeline's encode_prompt goes through the cache while a call runs; the class stays as it is."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def __enter__(self) -> None:
        pipe = self._runner.pipe
        self._own = vars(pipe).get("encode_prompt")
        original = pipe.encode_prompt

        @functools.wraps(original)
        def encode_prompt(*args: Any, **kwargs: Any) -> Any:
            return self._runner.encode(original, args, kwargs)
        encode_prompt._genscope = True  # type: ignore[attr-defined]
        vars(pipe)["encode_prompt"] = encode_prompt

    def __exit__(self, *_: Any) -> None:
        if self._own is None:
            vars(self._runner.pipe).pop("encode_prompt", None)
        else:
            vars(self._runner.pipe)["encode_prompt"] = self._own


class _Nothing:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        pass


_NOTHING = _Nothing()
