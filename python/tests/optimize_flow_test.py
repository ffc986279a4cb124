"""genscope.optimize: retries, breakers, hedged calls, batches, admission, on threads and on asyncio."""
from __future__ import annotations

import asyncio
import threading
import unittest

import genscope as gs
from genscope.optimize import (Admission, Batcher, Breaker, BreakerOpen, Failed, Rejected, RetryBudget, classify,
                               desired_replicas, hedge, optimal_batch, retry)


class Flaky:
    """Fails a few times, then gives what it got."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors, self.calls = list(errors), 0

    def __call__(self, value):
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return value

    async def later(self, value):
        return self(value)


class Retry(unittest.TestCase):
    def test_calls_again_what_may_help(self) -> None:
        flaky = Flaky(ConnectionError(), Failed("lost_worker"))
        self.assertEqual(retry(flaky, base=0)("x"), "x")
        self.assertEqual(flaky.calls, 3)

    def test_does_not_repeat_mistakes(self) -> None:
        flaky = Flaky(ValueError("no"))
        with self.assertRaises(ValueError):
            retry(flaky)("x")
        self.assertEqual(flaky.calls, 1)

    def test_gives_up_with_the_last_exception(self) -> None:
        flaky = Flaky(*(ConnectionError(i) for i in range(9)))
        with self.assertRaises(ConnectionError) as raised:
            retry(flaky, attempts=4, base=0)("x")
        self.assertEqual((flaky.calls, raised.exception.args), (4, (3,)))

    def test_is_a_decorator_and_takes_coroutines(self) -> None:
        errors = [ConnectionError()]

        @retry(base=0)
        async def fetch(value: str) -> str:
            """Its own text."""
            if errors:
                raise errors.pop()
            return value
        self.assertEqual(asyncio.run(fetch("y")), "y")
        self.assertEqual(fetch.__doc__, "Its own text.")

        @retry
        def plain() -> int:
            return 1
        self.assertEqual(plain(), 1)

    def test_a_timeout_of_an_attempt_is_tried_again(self) -> None:
        calls = []

        @retry(base=0, attempt_timeout=0.01)
        async def hangs_once() -> str:
            calls.append(1)
            if len(calls) == 1:
                await asyncio.Event().wait()
            return "ok"
        self.assertEqual(asyncio.run(hangs_once()), "ok")
        with self.assertRaises(ValueError):
            retry(lambda: 1, attempt_timeout=1)

    def test_never_waits_past_the_timeout(self) -> None:
        flaky = Flaky(Failed("throttled", "slow down", retry_after=3600))
        with self.assertRaises(Failed):
            retry(flaky, timeout=10)("x")
        self.assertEqual(flaky.calls, 1)

    def test_evicts_once_after_out_of_memory(self) -> None:
        evicted = []
        flaky = Flaky(MemoryError())
        self.assertEqual(retry(flaky, evict=lambda: evicted.append(1))("x"), "x")
        self.assertEqual(evicted, [1])
        with self.assertRaises(MemoryError):
            retry(Flaky(MemoryError()))("x")
        with self.assertRaises(MemoryError):
            retry(Flaky(MemoryError(), MemoryError()), evict=lambda: None, attempts=5)("x")

    def test_a_budget_ends_retries_of_all_who_share_it(self) -> None:
        budget = RetryBudget(tokens=4)
        calls = 0
        for _ in range(50):
            flaky = Flaky(*(ConnectionError() for _ in range(5)))
            with self.assertRaises(ConnectionError):
                retry(flaky, base=0, budget=budget)("x")
            calls += flaky.calls
        self.assertLessEqual(calls, 52)
        self.assertEqual(budget.tokens, 0)

    def test_knows_the_errors_of_http_clients(self) -> None:
        class Response:
            status_code, headers = 429, {"Retry-After": "7"}

        class HTTPError(Exception):
            response = Response()
        self.assertEqual(classify(HTTPError()), ("throttled", 7.0))
        Response.status_code = 404
        self.assertEqual(classify(HTTPError())[0], "validation")
        Response.status_code = 502
        self.assertEqual(classify(HTTPError())[0], "transient")
        self.assertEqual(classify(FileNotFoundError())[0], "deterministic")
        self.assertEqual(classify(RuntimeError("cuda kernel"))[0], "deterministic")
        with self.assertRaises(ValueError):
            Failed("nonsense")


class Breaking(unittest.TestCase):
    def test_opens_refuses_and_says_when_to_come_back(self) -> None:
        breaker = Breaker(name="upscaler")

        @breaker
        def call() -> None:
            raise ConnectionError
        for _ in range(20):
            with self.assertRaises(ConnectionError):
                call()
        with self.assertRaises(BreakerOpen) as raised:
            call()
        self.assertEqual(breaker.state, "open")
        self.assertTrue(0 < raised.exception.retry_after <= 5)
        self.assertIn("upscaler is open", str(raised.exception))

    def test_mistakes_of_the_caller_do_not_open_it(self) -> None:
        breaker = Breaker()

        async def wrong() -> None:
            raise ValueError
        for _ in range(50):
            with self.assertRaises(ValueError):
                asyncio.run(breaker.acall(wrong)) if _ == 0 else breaker.call(int, "x")
        self.assertEqual(breaker.state, "closed")

    def test_closes_after_its_probes(self) -> None:
        breaker = Breaker(open_seconds=0)
        for _ in range(20):
            breaker.tell(breaker.ask(), False, 0.0)
        for _ in range(5):
            breaker.call(lambda: 1)
        self.assertEqual(breaker.state, "closed")


class Hedging(unittest.TestCase):
    def test_the_other_device_answers_for_a_slow_one(self) -> None:
        slow, used = threading.Event(), []

        @hedge(devices=["a", "b"], extra_ratio=1.0)
        def encode(device: str, text: str) -> str:
            used.append(device)
            if text == "slow" and device == used[-1] and len(used) == 41:
                slow.wait()
            return device + text
        for _ in range(40):
            encode("x")
        self.assertEqual(encode.hedge.copies, 0)
        self.assertIn(encode("slow"), ("aslow", "bslow"))
        slow.set()
        self.assertEqual(encode.hedge.copies, 1)
        self.assertEqual(sorted(used[40:]), ["a", "b"])

    def test_a_coroutine_that_lost_is_cancelled(self) -> None:
        async def go() -> tuple[str, int]:
            cancelled, calls = [], []

            @hedge(devices=[0, 1], extra_ratio=1.0)
            async def encode(device: int) -> str:
                calls.append(device)
                if len(calls) == 41:
                    try:
                        await asyncio.Event().wait()
                    except asyncio.CancelledError:
                        cancelled.append(device)
                        raise
                return "answer"
            for _ in range(40):
                await encode()
            got = await encode()
            await asyncio.sleep(0)
            return got, len(cancelled)
        self.assertEqual(asyncio.run(go()), ("answer", 1))


class Batches(unittest.TestCase):
    def test_answers_each_with_its_own(self) -> None:
        with Batcher(lambda xs: [x * 10 for x in xs], least_gain=0.0, max_delay=0.0) as batcher:
            futures = [batcher.submit(i, key="k") for i in range(200)]
            self.assertEqual([f.result() for f in futures], [i * 10 for i in range(200)])
            self.assertEqual(batcher(5), 50)

    def test_one_bad_input_fails_alone(self) -> None:
        sizes = []

        def run(xs: list) -> list:
            sizes.append(len(xs))
            if 13 in xs:
                raise RuntimeError("thirteen")
            return xs
        with Batcher(run, least_gain=0.0) as batcher:
            futures = [batcher.submit(i) for i in range(60)]
            for i, future in enumerate(futures):
                if i == 13:
                    self.assertRaisesRegex(RuntimeError, "thirteen", future.result)
                else:
                    self.assertEqual(future.result(), i)
        self.assertGreater(max(sizes), 1)

    def test_serves_tasks_and_takes_a_coroutine_function(self) -> None:
        async def run(xs: list) -> list:
            await asyncio.sleep(0)
            return [-x for x in xs]

        async def go(batcher: Batcher) -> list:
            return await asyncio.gather(*(batcher.asubmit(i) for i in range(30)))
        with Batcher(run) as batcher:
            self.assertEqual(asyncio.run(go(batcher)), [-i for i in range(30)])

    def test_what_is_cancelled_or_late_does_not_run(self) -> None:
        gate, begun, seen = threading.Event(), threading.Event(), []

        def run(xs: list) -> list:
            seen.extend(xs)
            begun.set()
            gate.wait()
            return xs
        with Batcher(run) as batcher:
            first = batcher.submit("first")
            begun.wait()
            cancelled, late = batcher.submit("cancelled"), batcher.submit("late", timeout=0.0)
            self.assertTrue(cancelled.cancel())
            gate.set()
            self.assertEqual(first.result(), "first")
            self.assertRaises(TimeoutError, late.result)
        self.assertEqual(seen, ["first"])

    def test_close_can_cancel_what_waits(self) -> None:
        gate, begun = threading.Event(), threading.Event()

        def run(xs: list) -> list:
            begun.set()
            gate.wait()
            return xs
        batcher = Batcher(run)
        first = batcher.submit(1)
        begun.wait()
        second = batcher.submit(2)
        closing = threading.Thread(target=batcher.close, kwargs={"cancel": True})
        closing.start()
        self.assertRaises(Rejected, second.result)
        gate.set()
        closing.join()
        self.assertEqual(first.result(), 1)
        self.assertRaises(Rejected, batcher.submit, 3)

    def test_says_if_outputs_are_missing(self) -> None:
        with Batcher(lambda xs: []) as batcher:
            self.assertRaisesRegex(ValueError, "0 outputs for 1 inputs", batcher, 1)


class Admitting(unittest.TestCase):
    def test_one_at_a_time_over_threads(self) -> None:
        admission = Admission(classes={"all": 100})
        inside, most, served = [0], [0], []

        def work() -> None:
            for _ in range(20):
                with admission.enter("all"):
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                    inside[0] -= 1
                    served.append(1)
        threads = [threading.Thread(target=work) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((most[0], len(served)), (1, 100))
        self.assertEqual(admission.stats()["finished"], 100)

    def test_refuses_at_the_door_with_a_time_to_come_back(self) -> None:
        admission = Admission(seconds_per_cost=10.0, safety=0.0, classes={"a": 1, "b": 0})
        with admission.enter():
            with self.assertRaises(Rejected) as raised:
                admission.enter(timeout=15).__enter__()
            self.assertEqual(raised.exception.why, "deadline")
            self.assertAlmostEqual(raised.exception.retry_after, 5.0, delta=1.0)
            with self.assertRaises(Rejected) as full:
                admission.enter("b").__enter__()
            self.assertEqual(full.exception.why, "queue_full")
            self.assertRaises(ValueError, admission.enter, "c")
        self.assertIn('genscope_admission_rejected_total{name="admission"} 2', admission.prometheus_text())

    def test_tasks_take_turns_and_a_cancelled_one_leaves(self) -> None:
        async def go() -> list:
            admission, order = Admission(), []

            async def one(name: str, gate: asyncio.Event) -> None:
                async with admission.enter():
                    order.append(name)
                    await gate.wait()
            gate = asyncio.Event()
            first = asyncio.create_task(one("first", gate))
            await asyncio.sleep(0)
            second = asyncio.create_task(one("second", gate))
            third = asyncio.create_task(one("third", gate))
            await asyncio.sleep(0)
            second.cancel()
            await asyncio.sleep(0)
            gate.set()
            await asyncio.gather(first, third)
            self.assertTrue(second.cancelled())
            self.assertEqual(admission.stats()["running"], 0)
            self.assertEqual(admission.stats()["cancelled"], 1)
            return order
        self.assertEqual(asyncio.run(go()), ["first", "third"])

    def test_a_task_that_waits_too_long_is_refused(self) -> None:
        async def go() -> None:
            admission = Admission()
            async with admission.enter():
                with self.assertRaises(Rejected) as raised:
                    async with admission.enter(timeout=0.01):
                        pass
                self.assertEqual(raised.exception.why, "overdue")
        asyncio.run(go())

    def test_drain_refuses_and_waits(self) -> None:
        admission, entered, go_on = Admission(), threading.Event(), threading.Event()

        def work() -> None:
            with admission.enter():
                entered.set()
                go_on.wait()
        thread = threading.Thread(target=work)
        thread.start()
        entered.wait()
        self.assertFalse(admission.drain(timeout=0.0))
        self.assertRaises(Rejected, admission.enter().__enter__)
        go_on.set()
        self.assertTrue(admission.drain())
        thread.join()


class Sizes(unittest.TestCase):
    def test_finds_the_ceiling_and_remembers_what_ran_out(self) -> None:
        ceilings: dict = {}

        def probe(b: int) -> tuple[float, float]:
            if 4e9 + 0.5e9 * b > 24e9:
                raise MemoryError
            return 4e9 + 0.5e9 * b, 1.0 + 0.001 * b
        found = optimal_batch(probe, 24e9, ceilings=ceilings, key="sdxl")
        self.assertEqual((found.batch, found.smallest_out, ceilings), (40, 41, {"sdxl": 41}))
        self.assertLessEqual(len(found.probes), 8)
        again = optimal_batch(probe, 24e9, ceilings=ceilings, key="sdxl")
        self.assertEqual((again.batch, again.out_of_memory), (40, 0))

    def test_other_errors_of_the_probe_are_the_programs(self) -> None:
        def probe(b: int) -> None:
            raise RuntimeError("broken")
        self.assertRaisesRegex(RuntimeError, "broken", optimal_batch, probe, 1e9)

    def test_desired_replicas(self) -> None:
        self.assertEqual(desired_replicas(9, 2), 5)
        self.assertIsNone(desired_replicas(9, 0))


class Counters(unittest.TestCase):
    def test_are_in_the_run(self) -> None:
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            with gs.session("flow", out=folder) as session:
                admission = Admission(name="gpu0")
                with admission.enter():
                    pass
                with Batcher(lambda xs: xs, name="clip") as batcher:
                    batcher(1)
                self.assertEqual(retry(Flaky(ConnectionError()), base=0, name="cdn")("x"), "x")
                del admission
                run = session.run_dir
            names = set(gs.load(run).counters["name"])
        self.assertLessEqual({"gpu0/admitted", "gpu0/queue_seconds", "clip/batch_size", "cdn/retries"}, names)


class Example(unittest.TestCase):
    def test_runs(self) -> None:
        import contextlib
        import io
        import pathlib
        import runpy
        path = pathlib.Path(__file__).resolve().parents[2] / "examples/python/optimize_flow.py"
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            runpy.run_path(str(path))
        self.assertEqual(out.getvalue().splitlines(), ["large image of a cat", "(503, 'Retry-After: 1')"])


if __name__ == "__main__":
    unittest.main()
