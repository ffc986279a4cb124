"""genscope.optimize: lanes, limiters, contexts, timeouts and maps, on threads and on asyncio."""
import asyncio
import threading
import time
import unittest

from genscope.optimize import (Cancelled, Context, Lane, Limiter, Rejected, Timeout, checkpoint, current_context,
                               parallel_map, parallel_stream, thread_map, with_timeout)

from harness import ProgramCase


class Held:
    """A function that runs until told to return."""

    def __init__(self):
        self.started, self.go = threading.Event(), threading.Event()

    def __call__(self):
        self.started.set()
        self.go.wait()
        return "held"


def waiting(queue, count):
    while queue.stats()["waiting"] < count:
        time.sleep(0.001)


class LaneOnThreads(unittest.TestCase):
    def setUp(self):
        self.lane = Lane("cuda:0")
        self.addCleanup(self.lane.close)

    def test_gives_values_and_exceptions(self):
        self.assertEqual(self.lane.run(lambda a, b=0: a + b, 1, b=2), 3)
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            self.lane.run(lambda: 1 // 0)
        self.assertEqual(self.lane.stats()["finished"], 2)
        self.assertEqual(self.lane.stats()["in_use"], 0)

    def test_runs_one_at_a_time_from_many_threads(self):
        inside, wrong, ran = [], [], []

        def body(n):
            inside.append(n)
            if len(inside) != 1:
                wrong.append(n)
            time.sleep(0)
            inside.remove(n)
            ran.append(n)
        threads = [threading.Thread(target=lambda t=t: [self.lane.run(body, (t, i)) for i in range(20)])
                   for t in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((wrong, len(ran)), ([], 100))

    def test_the_urgent_go_first(self):
        held, order = Held(), []
        first = threading.Thread(target=self.lane.run, args=(held,))
        first.start()
        held.started.wait()
        threads = []
        for priority in (-1, 0, 2, 1):
            thread = threading.Thread(target=self.lane.run, args=(order.append, priority), kwargs={"priority": priority})
            thread.start()
            threads.append(thread)
            waiting(self.lane, len(threads))
        held.go.set()
        for thread in [first, *threads]:
            thread.join()
        self.assertEqual(order, [2, 1, 0, -1])

    def test_a_deadline_answers_at_once_and_the_lane_stays_taken(self):
        held = Held()
        with self.assertRaises(Timeout):
            self.lane.run(held, deadline=time.monotonic() + 0.02)
        self.assertTrue(held.started.is_set())
        self.assertEqual(self.lane.stats()["in_use"], 1)
        with self.assertRaises(TimeoutError):  # one that waits is dropped
            self.lane.run(self.fail, deadline=time.monotonic() + 0.02)
        held.go.set()
        self.assertEqual(self.lane.run(lambda: 5), 5)

    def test_what_was_stopped_before_its_turn_never_runs(self):
        held, context, ended = Held(), Context(), []

        def caller():
            with context:
                try:
                    self.lane.run(self.fail)
                except BaseException as error:
                    ended.append(type(error))
        threads = [threading.Thread(target=self.lane.run, args=(held,)), threading.Thread(target=caller)]
        threads[0].start()
        held.started.wait()
        threads[1].start()
        waiting(self.lane, 1)
        context._stopped = True  # as between the first and the last thing that stop() does
        held.go.set()
        for thread in threads:
            thread.join()
        self.assertEqual(ended, [Cancelled])

    def test_stopping_a_context_drops_what_waits_and_tells_what_runs(self):
        context, ended, started = Context(), [], threading.Event()

        def steps():
            started.set()
            while True:
                checkpoint()
                time.sleep(0.001)

        def caller(function):
            with context:
                try:
                    self.lane.run(function)
                except BaseException as error:
                    ended.append(type(error))
        threads = [threading.Thread(target=caller, args=(steps,))]
        threads[0].start()
        started.wait()
        threads.append(threading.Thread(target=caller, args=(self.fail,)))
        threads[1].start()
        waiting(self.lane, 1)
        context.stop()
        for thread in threads:
            thread.join()
        self.assertEqual(ended, [Cancelled, Cancelled])
        self.assertEqual(self.lane.run(lambda: 1), 1)

    def test_refuses_to_wait_for_itself(self):
        with self.assertRaisesRegex(RuntimeError, "wait for itself"):
            self.lane.run(lambda: self.lane.run(int))

    def test_a_full_queue_rejects(self):
        held, lane = Held(), Lane("cuda:1", max_waiting=1)
        threads = [threading.Thread(target=lane.run, args=(held,)), threading.Thread(target=lane.run, args=(int,))]
        threads[0].start()
        held.started.wait()
        threads[1].start()
        waiting(lane, 1)
        with self.assertRaises(Rejected):
            lane.run(int)
        held.go.set()
        for thread in threads:
            thread.join()
        lane.close()
        with self.assertRaisesRegex(RuntimeError, "closed"):
            lane.run(int)

    def test_width_runs_several(self):
        with Lane("cpu", width=2) as lane:
            barrier = threading.Barrier(2, timeout=30)
            self.assertEqual(len(thread_map(lambda _: lane.run(barrier.wait), range(2), limit=2)), 2)

    def test_wrong_arguments_are_errors(self):
        with self.assertRaises(ValueError):
            Lane("cpu", width=0)
        with self.assertRaises(ValueError):
            Limiter(0)


class LaneOnAsyncio(unittest.TestCase):
    def test_the_loop_goes_on_meanwhile(self):
        async def main():
            with Lane("cuda:0") as lane:
                held, seen = Held(), []
                task = asyncio.ensure_future(lane.arun(held))
                while not held.started.is_set():
                    seen.append(1)
                    await asyncio.sleep(0)
                held.go.set()
                self.assertEqual(await task, "held")
                self.assertTrue(seen)
                with self.assertRaises(KeyError):
                    await lane.arun({}.__getitem__, 1)
        asyncio.run(main())

    def test_cancelling_drops_what_waits_and_keeps_what_runs(self):
        async def main():
            with Lane("cuda:0") as lane:
                held, ran = Held(), []
                running = asyncio.ensure_future(lane.arun(held))
                while not held.started.is_set():
                    await asyncio.sleep(0)
                queued = asyncio.ensure_future(lane.arun(ran.append, 1))
                while lane.stats()["waiting"] == 0:
                    await asyncio.sleep(0)
                for task in (queued, running):
                    task.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await task
                self.assertEqual(lane.stats()["waiting"], 0)
                self.assertEqual(lane.stats()["in_use"], 1)  # its function has not returned
                held.go.set()
                await lane.arun(int)
                self.assertEqual(ran, [])
        asyncio.run(main())

    def test_with_timeout_answers_at_once_and_holds_the_lane(self):
        async def main():
            with Lane("cuda:0") as lane:
                held = Held()
                with self.assertRaises(Timeout):
                    await with_timeout(0.02, lane.arun(held))
                held.started.wait()
                self.assertEqual(lane.stats()["in_use"], 1)
                held.go.set()
                self.assertEqual(await with_timeout(30, lane.arun(lambda: 7)), 7)
        asyncio.run(main())

    def test_a_limiter_serves_tasks_and_threads(self):
        async def main():
            limiter, most, now = Limiter(3), [], []

            async def one(i):
                async with limiter.aacquire(units=1 + i % 2):
                    now.append(1 + i % 2)
                    most.append(sum(now))
                    await asyncio.sleep(0)
                    now.remove(1 + i % 2)
            await asyncio.gather(*[one(i) for i in range(40)])
            self.assertLessEqual(max(most), 3)
            permit = await limiter.aacquire(3)
            waits = asyncio.ensure_future(limiter.aacquire()._acquire())
            while limiter.stats()["waiting"] == 0:
                await asyncio.sleep(0)
            waits.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waits
            permit.release()
            with limiter.acquire(3):
                with self.assertRaises(Timeout):
                    limiter.acquire(deadline=time.monotonic() + 0.01)
            self.assertEqual(limiter.stats()["in_use"], 0)
            with self.assertRaises(Rejected):
                limiter.acquire(4)
        asyncio.run(main())


class Contexts(unittest.TestCase):
    def test_children_have_the_earlier_deadline_and_the_rest_of_the_parent(self):
        with Context(10, priority=1, tenant="acme") as outer:
            inner = Context(100, priority=2)
            self.assertEqual((inner.deadline, inner.tenant, inner.priority), (outer.deadline, "acme", 2))
            self.assertLess(Context(1).deadline, outer.deadline)
            self.assertIs(current_context(), outer)
        self.assertIsNone(current_context())

    def test_threads_that_enter_the_same_one_leave_in_any_order(self):
        shared, inside, seen, step = Context(), Context(), [], [threading.Event() for _ in range(3)]

        def first():
            with shared:
                step[0].set()
                step[1].wait()
            seen.append(current_context())
            step[2].set()

        def second():
            with inside:
                step[0].wait()
                with shared:
                    step[1].set()
                    step[2].wait()
                seen.append(current_context())
        threads = [threading.Thread(target=function) for function in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        self.assertEqual(seen, [None, inside])

    def test_stop_goes_down_and_not_up(self):
        parent = Context()
        child, called = Context(parent=parent), []
        undo = child.on_stop(lambda: called.append("undone"))
        undo()
        child.on_stop(lambda: called.append("child"))
        parent.stop()
        self.assertTrue(child.stopped)
        self.assertEqual(called, ["child"])
        other = Context()
        Context(parent=other).stop()
        self.assertFalse(other.stopped)

    def test_checkpoint_raises_what_asyncio_and_threads_know(self):
        checkpoint()
        with Context(-1):
            with self.assertRaises(TimeoutError):
                checkpoint()
        with Context() as context:
            context.stop()
            with self.assertRaises(asyncio.CancelledError):
                checkpoint()


class Maps(unittest.TestCase):
    def test_parallel_map_keeps_the_order_and_the_limit(self):
        async def main():
            now, most = [], []

            async def body(n):
                now.append(n)
                most.append(len(now))
                await asyncio.sleep(0)
                now.remove(n)
                return n * n
            self.assertEqual(await parallel_map(body, iter(range(50)), limit=4), [n * n for n in range(50)])
            self.assertEqual(max(most), 4)
            self.assertEqual(await parallel_map(body, []), [])
        asyncio.run(main())

    def test_errors_stop_the_rest_or_are_collected(self):
        async def main():
            ran = []

            async def body(n):
                ran.append(n)
                await asyncio.sleep(0)
                if n == 3:
                    raise KeyError(n)
                return n
            with self.assertRaises(KeyError):
                await parallel_map(body, range(100), limit=2)
            self.assertLess(len(ran), 10)
            collected = await parallel_map(body, range(6), limit=2, on_error="collect")
            self.assertIsInstance(collected[3], KeyError)
            self.assertEqual(collected[4], 4)
        asyncio.run(main())

    def test_a_stream_is_held_back_by_its_reader(self):
        async def main():
            started = []

            async def body(n):
                started.append(n)
                await asyncio.sleep(0.001 if n % 3 == 0 else 0)
                return -n
            seen = []
            async for index, value in parallel_stream(body, range(30), limit=3):
                seen.append((index, value))
                self.assertLessEqual(len(started), len(seen) + 3)
            self.assertEqual(seen, [(n, -n) for n in range(30)])
            free = [index async for index, _ in parallel_stream(body, range(30), limit=3, ordered=False)]
            self.assertEqual(sorted(free), list(range(30)))
        asyncio.run(main())

    def test_thread_map_carries_the_context_and_raises_the_first_error(self):
        with Context(tenant="acme"):
            self.assertEqual(thread_map(lambda n: (n, current_context().tenant), range(3), limit=2),
                             [(n, "acme") for n in range(3)])
        ran = []

        def body(n):
            ran.append(n)
            if n == 2:
                raise OSError("two")
        with self.assertRaises(OSError):
            thread_map(body, range(1000), limit=2)
        self.assertLess(len(ran), 1000)
        self.assertIsInstance(thread_map(body, range(3), limit=1, on_error="collect")[2], OSError)


# [snippet service]
from genscope import optimize

lane = optimize.Lane("cuda:0")


async def answer(prompt, pipeline):
    with optimize.Context(30, tenant="acme"):
        return await lane.arun(pipeline, prompt)  # one at a time; the loop goes on


def answer_from_a_thread(prompt, pipeline):
    return lane.run(pipeline, prompt, priority=1)
# [/snippet]


class Example(unittest.TestCase):
    def test_serves(self):
        self.assertEqual(asyncio.run(answer("a cat", str.upper)), "A CAT")
        self.assertEqual(answer_from_a_thread("a dog", str.upper), "A DOG")


class Recorded(ProgramCase):
    def test_a_call_leaves_its_wait_and_its_run_under_the_callers_span(self):
        self.python("""
            import genscope as gs
            from genscope import optimize
            with gs.session("s"):
                lane = optimize.Lane("cuda:0")
                with gs.stage("ask"):
                    lane.run(int, tenant="acme")
                lane.close()
            """)
        run = self.recorded()
        ask = run.one("ask")
        for name in ("lane_queue", "lane_run"):
            self.assertEqual(run.one(name)["parent"], ask["id"], name)

    def test_a_program_ends_while_a_function_runs(self):
        done = self.python("""
            import threading, time
            from genscope import optimize
            lane = optimize.Lane("cuda:0")
            started = threading.Event()
            def body():
                started.set()
                time.sleep(0.05)
                print("returned", flush=True)
            try:
                lane.run(body, deadline=time.monotonic() + 0.01)
            except optimize.Timeout:
                print("late", flush=True)
            """)
        self.assertEqual(done.stdout.split(), ["late", "returned"])


if __name__ == "__main__":
    unittest.main()
