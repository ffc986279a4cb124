"""The parts of a program that is measured in every way. Each adds to `made` what it makes for itself:
the same, whatever becomes of the recording."""
import asyncio
import contextlib
import io
import threading

import genscope as gs
from genscope import _core
from genscope.asgi import RequestMonitor
from genscope.compat import generation, training
from genscope.compat.inferix.session import ProfilingSession


class Odd:
    """No value that a recorder may look at."""


def spans(number, made):
    for turn in range(3):
        with gs.stage(f"stage {number} {turn}"), gs.stage("again", turn=turn, odd=Odd(), none=None):
            made.append(turn)
        with gs.forward("x" * 300), gs.span(f"span {number}", "load") as span:
            span.arg(f"key {number} {turn}", "text")
    same = gs.task(f"shared {number}")
    with same, same, same, same:
        made.append("deep")
    for item in gs.steps("abc"):
        with gs.block(len(made), frames=3):
            made.append(item)
    try:
        with gs.batch("fails"):
            raise KeyError("its own")
    except KeyError as error:
        made.append(str(error))


def calls(number, made):
    double = gs.wrap(lambda x: 2 * x, f"double {number}")
    made.append(double(21))

    @gs.profile(name=f"profiled {number}")
    def triple(x):
        return 3 * x

    @gs.profile
    def count(n):
        yield from range(n)

    made.append(triple(5))
    made.extend(count(3))
    try:
        gs.wrap(lambda: {}["its own"])()
    except KeyError as error:
        made.append(str(error))


def by_hand(number, made):
    outer = gs.begin(f"by hand {number}", "stage", a=1, b=2.5)
    inner = _core.begin_detached("request", f"detached {number}", outer, _core.track(f"t {number}"))
    _core.args(inner, x=1, y="text")
    _core.end_detached(inner, True)
    gs.end(outer)
    gs.event(f"event {number}", a=1, b=True, c="c", d=0.5, e=Odd(), f=[], g=None)
    gs.counter(f"counter {number}", number)
    gs.name_thread("main")
    _core.allocator_stats("cuda:0", {"allocated_bytes": 5})
    _core.device_time(outer, 100)
    made.append(isinstance(outer, int) and isinstance(inner, int) and isinstance(gs.current(), int))


def in_tasks(number, made):
    async def one(turn):
        with gs.stage(f"task {number}", turn=turn):
            span = gs.begin(f"by hand in {number}")
            await asyncio.sleep(0)
            gs.end(span)
        return turn

    async def all_of_them():
        return await asyncio.gather(*(one(turn) for turn in range(3)))

    made.append(asyncio.run(all_of_them()))


def in_thread(number, made):
    def run():
        with gs.stage(f"thread {number}"):
            made.append("thread")
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def served(number, made):
    sent = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 503, "headers": []})
        await send({"type": "http.response.body", "body": b"answer"})

    async def receive():
        return {"type": "http.request"}

    async def send(message):
        sent.append(message.get("body"))

    monitor = RequestMonitor(app, name=f"service {number}", publish_seconds=1e-9)
    asyncio.run(monitor({"type": "http", "path": "/a long path of " + "x" * 40, "method": "GET"},
                        receive, send))
    made.append(sent)
    request = monitor._core.enqueue("/queued" + "y" * 40)
    request.started()
    request.fail("an error class that is long enough")


def compat(number, made):
    monitor = generation.PerformanceMonitor(5.0)
    with monitor.monitor_generation(num_steps=2, device="a device of a long name") as running:
        for _ in range(70):
            running.start_step_timing()
            running.end_step_timing()
        made.append("generated")
    made.append(monitor.measure_model_load_time(lambda: "loaded")[0])
    operations = training.PerformanceMonitor()
    for _ in range(2):
        with operations.track(f"an operation of a long name {number}"):
            with operations.track("inner", True):
                made.append("operation")
    with training.track_performance("once", print_result=False):
        made.append("once")
    with contextlib.redirect_stdout(io.StringIO()):
        epochs = training.EpochPerformanceMonitor()
        for batch in range(2):
            epochs.on_epoch_start()
            epochs.on_batch_start(batch)
            epochs.on_batch_end(batch, 0.5)
            epochs.on_epoch_end()
    book = ProfilingSession("s", {}, 2)
    for turn in range(3):
        with book.stage(f"of the book {number}", {"turn": turn, "odd": Odd()}):
            book.add_step(turn, 1, 4, 2.5, 7.5, True)
            book.add_event(f"told {number}", {"turn": turn}, True)
            made.append("book")


def session(number, made):
    with gs.session("another", tags={"number": number}, buffer_bytes=1 << 16) as opened:
        with gs.stage("inside"):
            made.append("inside")
        gs.flush()
        made.append(isinstance(opened.run_dir, str) and isinstance(opened.error, str))
    made.append(opened.active)


PARTS = (spans, calls, by_hand, in_tasks, in_thread, served, compat)
