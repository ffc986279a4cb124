#!/usr/bin/env python3
"""genscope.optimize.Scope and live_tasks."""
import asyncio
import unittest

from genscope.optimize import Scope, checkpoint, current_context, live_tasks


async def fails(after):
    await after.wait()
    raise ValueError("it broke")


class Scopes(unittest.TestCase):
    def test_no_task_outlives_its_block(self):
        async def main():
            ended = []

            async def work(number):
                await asyncio.sleep(0)
                ended.append(number)
            async with Scope() as scope:
                for number in range(5):
                    scope.spawn(work(number))
            self.assertEqual(sorted(ended), [0, 1, 2, 3, 4])
            self.assertEqual(live_tasks(), [])
        asyncio.run(main())

    def test_the_first_error_stops_the_others_and_the_block(self):
        async def main():
            go, stopped = asyncio.Event(), []

            async def waits():
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    stopped.append(True)
                    raise
            with self.assertRaisesRegex(ValueError, "it broke"):
                async with Scope() as scope:
                    scope.spawn(waits())
                    scope.spawn(fails(go))
                    go.set()
                    await asyncio.Event().wait()  # for ever, but for the error
            self.assertEqual(stopped, [True])
            await asyncio.sleep(0)  # and whoever opened it goes on
        asyncio.run(main())

    def test_errors_can_be_collected(self):
        async def main():
            go = asyncio.Event()
            go.set()
            async with Scope(on_error="collect") as scope:
                scope.spawn(fails(go))
                scope.spawn(fails(go))
            self.assertEqual([str(error) for error in scope.errors], ["it broke", "it broke"])
        asyncio.run(main())

    def test_a_cancelled_block_waits_for_its_tasks(self):
        async def main():
            ended = []

            async def slow_to_end():
                try:
                    await asyncio.Event().wait()
                finally:
                    for _ in range(3):
                        await asyncio.sleep(0)
                    ended.append(True)

            async def block():
                async with Scope() as scope:
                    scope.spawn(slow_to_end())
                    await asyncio.Event().wait()
            task = asyncio.ensure_future(block())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual(ended, [True])
        asyncio.run(main())

    def test_tasks_have_the_context_of_the_scope(self):
        async def main():
            found = []

            async def look():
                found.append((current_context().tenant, current_context().left() <= 60))
                checkpoint()
            async with Scope(timeout=60, tenant="acme") as scope:
                scope.spawn(look())
            self.assertEqual(found, [("acme", True)])
        asyncio.run(main())

    def test_nothing_starts_in_a_stopped_scope(self):
        async def main():
            scope = Scope(name="ended")
            scope.stop()
            with self.assertRaisesRegex(RuntimeError, "ended was stopped"):
                scope.spawn(asyncio.sleep(0))
        asyncio.run(main())

    def test_an_option_that_makes_no_sense_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "on_error"):
            Scope(on_error="ignore")


class Live(unittest.TestCase):
    def test_names_the_await_the_age_and_the_deadline(self):
        async def main():
            go = asyncio.Event()

            async def inner():
                await go.wait()  # here

            async def outer():
                await inner()
            async with Scope(name="requests", timeout=60, tenant="acme") as scope:
                scope.spawn(outer(), name="first")
                await asyncio.sleep(0)
                (task,) = live_tasks()
                self.assertEqual((task.scope, task.name, task.tenant), ("requests", "first", "acme"))
                self.assertRegex(task.site, r"optimize_scope_test\.py:\d+ inner$")
                self.assertGreaterEqual(task.age, 0)
                self.assertTrue(0 < task.left <= 60)
                self.assertRegex(str(task), r"requests/first: .*:\d+ inner, 0\.\d s old, \d+\.\d s left")
                go.set()
            self.assertEqual(live_tasks(), [])
        asyncio.run(main())

    def test_close_names_who_is_late(self):
        async def main():
            end = asyncio.Event()

            async def stubborn():
                while not end.is_set():
                    try:
                        await end.wait()
                    except asyncio.CancelledError:
                        pass
            scope = Scope()
            scope.spawn(stubborn(), name="stubborn")
            await asyncio.sleep(0)
            late = await scope.close(0.01)
            self.assertEqual([task.name for task in late], ["stubborn"])
            end.set()
            await scope.join()
            self.assertEqual(scope.live(), [])
        asyncio.run(main())


if __name__ == "__main__":
    unittest.main()
