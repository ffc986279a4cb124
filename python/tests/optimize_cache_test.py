#!/usr/bin/env python3
"""genscope.optimize.Cache: objects, keys, threads, tasks."""
import ast
import asyncio
import gc
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import weakref

from genscope.optimize import Cache, key
from genscope.optimize import _plain
from genscope.optimize.cache import size_in_bytes

try:
    import numpy
except ImportError:
    numpy = None

# Options with which the next call makes a value anew, its cost, and whether that is before its time.
ANEW = (({"soft_ttl": 1e-9}, 0, 0), ({"ttl": 1000, "early_refresh": 1e9}, 1, 1))


class Keys(unittest.TestCase):
    def test_the_same_parts_are_the_same_key(self):
        a = key("embedding", "model", "main", prompt="a cat", steps=4, scale=7.5, loras=[["x", 0.5]], extra=None)
        b = key("embedding", "model", "main", extra=None, scale=7.5, loras=[["x", 0.5]], steps=4, prompt="a cat")
        self.assertEqual(a, b)
        self.assertEqual(hash(a), hash(b))
        self.assertEqual(a.kind, "embedding")
        self.assertEqual(len(a.hex), 32)
        self.assertIn("embedding", repr(a))
        self.assertEqual({a: 1}[b], 1)

    def test_types_order_and_borders_count(self):
        forms = [key("k"), key("k", 1), key("k", 1.0), key("k", "1"), key("k", True), key("k", None), key("k", b"1"),
                 key("k", -1), key("k", 2**63), key("k", 2**64 - 1), key("k", 2**200), key("k", -2**200),
                 key("k", "ab", "c"), key("k", "a", "bc"), key("k", ["ab", "c"]), key("k", ["ab"], "c"), key("k", {}),
                 key("k", []), key("k", {"a": 1}), key("k", a=1), key("k", ["a", 1]), key("j"), key("k", key("k"))]
        self.assertEqual(len({form.hex for form in forms}), len(forms))
        self.assertEqual(key("k", (1, 2)), key("k", [1, 2]))
        self.assertEqual(key("k", {"a": 1, "b": 2}), key("k", {"b": 2, "a": 1}))
        self.assertEqual(key("k", 0.0), key("k", -0.0))

    def test_what_has_no_content_is_refused_by_name(self):
        for value, says in ((object(), "builtins.object cannot be part"), ({1, 2}, "sorted"), ({1: 2}, "str only"),
                            (len, "cannot be part")):
            with self.assertRaisesRegex(TypeError, says):
                key("k", [value])
        endless = []
        endless.append(endless)
        with self.assertRaises(RecursionError):
            key("k", endless)
        with self.assertRaises(TypeError):
            key(1)

    @unittest.skipIf(numpy is None, "numpy is not installed")
    def test_arrays_count_by_content_shape_and_type(self):
        a = numpy.arange(6, dtype="f4").reshape(2, 3)
        self.assertEqual(key("k", a), key("k", a.copy()))
        self.assertEqual(key("k", a), key("k", numpy.asfortranarray(a)))
        for other in (a.reshape(3, 2), a.astype("f8"), a + 1, a.tolist()):
            self.assertNotEqual(key("k", a), key("k", other))
        self.assertEqual(key("k", numpy.int64(3)), key("k", 3))
        with self.assertRaisesRegex(TypeError, "objects"):
            key("k", numpy.array([object()]))


class Memory(unittest.TestCase):
    def test_gives_back_the_object_itself(self):
        cache = Cache(10_000)
        value = ["x"]
        self.assertIsNone(cache.get("a"))
        self.assertEqual(cache.get("a", 5), 5)
        self.assertTrue(cache.put("a", value))
        self.assertIs(cache.get("a"), value)
        self.assertIn("a", cache)
        self.assertNotIn(("a",), cache)
        self.assertEqual(len(cache), 1)
        self.assertTrue(cache.erase("a"))
        self.assertNotIn("a", cache)
        cache.put("b", None)
        self.assertIn("b", cache)
        self.assertIsNone(cache.get("b", 5))
        cache.clear()
        self.assertEqual(len(cache), 0)
        self.assertIn("adaptive", repr(cache))

    def test_keeps_no_reference_to_what_went(self):
        class Thing:
            pass
        cache = Cache(10)
        thing = Thing()
        gone = weakref.ref(thing)
        cache.put("a", thing, bytes=1)
        del thing
        self.assertIsNotNone(gone())
        for i in range(100):
            cache.put(i, i, bytes=1)
        cache.clear()
        gc.collect()
        self.assertIsNone(gone())
        held = Thing()
        cache.put("a", held, bytes=1)
        del cache
        gc.collect()
        self.assertIsNotNone(held)

    def test_bytes_bound_it_and_large_ones_are_refused(self):
        cache = Cache("10KB")
        self.assertFalse(cache.put("big", b"x" * 5_000))
        for i in range(100):
            self.assertTrue(cache.put(i, b"x" * 467))  # 500 bytes as an object
        stats = cache.stats()
        self.assertLessEqual(stats["bytes"], 10_000)
        self.assertGreaterEqual(stats["entries"], 18)
        self.assertEqual(stats["rejected"], 1)
        cache.resize(1_000)
        self.assertLessEqual(len(cache), 2)
        with self.assertRaises(ValueError):
            cache.put("x", 1, bytes=-1)

    def test_sizes(self):
        self.assertEqual(size_in_bytes("2GB"), 2 * 10**9)
        self.assertEqual(size_in_bytes("1.5 MiB"), 3 * 2**19)
        self.assertEqual(size_in_bytes(77), 77)
        for wrong in ("", "GB", "2 apples", 0, -1, None, True, "0"):
            with self.assertRaises(ValueError):
                size_in_bytes(wrong)
        with self.assertRaises(ValueError):
            Cache(100, policy="lru")
        with self.assertRaises(ValueError):
            Cache(100, ttl=0)

    def test_statistics_by_kind(self):
        cache = Cache("1MB")
        cache.put(key("picture", 1), "p", bytes=10, cost=6.0)
        cache.get(key("picture", 1))
        cache.get(key("picture", 1))
        cache.get(key("embedding", 1))
        stats = cache.stats()
        self.assertEqual(stats["kinds"]["picture"]["cost_saved_s"], 12.0)
        self.assertEqual(stats["kinds"]["embedding"]["misses"], 1)
        self.assertEqual((stats["hits"], stats["misses"], stats["bytes"]), (2, 1, 10))
        self.assertIsNone(stats["load_p50_s"])
        cache.get_or_load("x", lambda: 1)
        self.assertIsNotNone(cache.stats()["load_p50_s"])


    def test_a_floor_keeps_other_kinds_out(self):
        cache = Cache(10_000, floors={"embedding": 0.4})
        for i in range(30):
            self.assertTrue(cache.put(key("embedding", i), i, bytes=100))
        for i in range(10_000):
            cache.put(key("picture", i), i, bytes=100)
        self.assertTrue(all(key("embedding", i) in cache for i in range(30)))
        self.assertEqual(cache.stats()["kinds"]["embedding"]["floor_bytes"], 4_000)

    def test_options_that_make_no_sense_are_errors(self):
        for options, says in (({"floors": {"a": 0.8, "b": 0.8}}, "add up to 1.6"), ({"floors": {"a": 0}}, "share of kind"),
                              ({"early_refresh": -1}, "early_refresh"), ({"early_refresh": float("nan")}, "early_refresh")):
            with self.assertRaisesRegex(ValueError, says):
                Cache("1MB", **options)
        with self.assertRaises(TypeError):
            Cache("1MB", floors={1: 0.5})
        with self.assertRaises(TypeError):
            Cache("1MB", floors={"a": "b"})


class Threads(unittest.TestCase):
    def run_all(self, functions):
        threads = [threading.Thread(target=function) for function in functions]
        for thread in threads:
            thread.start()
        return threads

    def test_one_load_for_all_who_ask(self):
        cache, loads, results = Cache("1MB"), [], []
        everybody = threading.Event()

        def load():
            loads.append(1)
            everybody.wait(30)
            return "value"

        threads = self.run_all([lambda: results.append(cache.get_or_load("k", load))] * 16)
        while cache.stats()["misses"] < 16:
            pass
        everybody.set()
        for thread in threads:
            thread.join()
        self.assertEqual((len(loads), results), (1, ["value"] * 16))
        self.assertEqual(cache.stats()["coalesced"], 15)

    def test_an_exception_is_raised_for_all_and_not_kept(self):
        cache, raised = Cache("1MB"), []
        go = threading.Event()

        def load():
            go.wait(30)
            raise KeyError("no such model")

        def ask():
            try:
                cache.get_or_load("k", load)
            except KeyError as error:
                raised.append(str(error))

        threads = self.run_all([ask] * 4)
        while cache.stats()["misses"] < 4:
            pass
        go.set()
        for thread in threads:
            thread.join()
        self.assertEqual(raised, ["'no such model'"] * 4)
        self.assertEqual(cache.get_or_load("k", lambda: 3), 3)
        self.assertEqual(cache.stats()["loading"], 0)

    def test_an_interrupted_leader_hands_over(self):
        cache, results = Cache("1MB"), []
        leading, go = threading.Event(), threading.Event()

        def interrupted():
            leading.set()
            go.wait(30)
            raise SystemExit

        def lead():
            try:
                cache.get_or_load("k", interrupted)
            except SystemExit:
                results.append("ended")

        first = self.run_all([lead])
        leading.wait(30)
        rest = self.run_all([lambda: results.append(cache.get_or_load("k", lambda: "value"))] * 3)
        while cache.stats()["misses"] < 4:
            pass
        go.set()
        for thread in first + rest:
            thread.join()
        self.assertEqual(sorted(results), ["ended", "value", "value", "value"])
        self.assertEqual(cache.stats()["loads"], 1)

    def test_a_follower_leaves_in_time(self):
        cache = Cache("1MB")
        leading, go = threading.Event(), threading.Event()

        def load():
            leading.set()
            go.wait(30)
            return 1

        threads = self.run_all([lambda: cache.get_or_load("k", load)])
        leading.wait(30)
        with self.assertRaisesRegex(TimeoutError, "another thread"):
            cache.get_or_load("k", load, timeout=0.001)
        go.set()
        threads[0].join()
        self.assertEqual(cache.get("k"), 1)

    def test_a_value_is_served_while_it_is_made_anew(self):
        for options, cost, early in ANEW:
            with self.subTest(**options):
                cache = Cache("1MB", **options)
                cache.put("k", 1, cost=cost)
                self.assertEqual(cache.get_or_load("k", lambda: 2), 1)
                while cache.stats()["loads"] == 0:
                    time.sleep(0.001)
                self.assertEqual((cache.get("k"), cache.stats()["early"]), (2, early))


class Tasks(unittest.TestCase):
    def test_a_thousand_tasks_are_one_load(self):
        async def main():
            cache, loads = Cache("1MB"), []

            async def load():
                loads.append(1)
                while cache.stats()["misses"] < 1_000:
                    await asyncio.sleep(0)
                return "value"

            results = await asyncio.gather(*(cache.aget_or_load("k", load) for _ in range(1_000)))
            self.assertEqual((len(loads), set(results)), (1, {"value"}))
            self.assertEqual(await cache.aget_or_load("k", load), "value")
        asyncio.run(main())

    def test_a_cancelled_leader_hands_over(self):
        async def main():
            cache, loads = Cache("1MB"), []
            started = asyncio.Event()

            async def load():
                loads.append(1)
                started.set()
                if len(loads) == 1:
                    await asyncio.sleep(3_600)
                return "value"

            first = asyncio.create_task(cache.aget_or_load("k", load))
            await started.wait()
            rest = [asyncio.create_task(cache.aget_or_load("k", load)) for _ in range(5)]
            while cache.stats()["misses"] < 6:
                await asyncio.sleep(0)
            rest[0].cancel()  # the next in line goes, too
            first.cancel()
            results = await asyncio.gather(first, *rest, return_exceptions=True)
            self.assertIsInstance(results[0], asyncio.CancelledError)
            self.assertIsInstance(results[1], asyncio.CancelledError)
            self.assertEqual(results[2:], ["value"] * 4)
            self.assertEqual(len(loads), 2)
            self.assertEqual(cache.stats()["loading"], 0)
        asyncio.run(main())

    def test_an_exception_reaches_all_tasks(self):
        async def main():
            cache = Cache("1MB")

            async def load():
                await asyncio.sleep(0)
                raise ValueError("no")

            results = await asyncio.gather(*(cache.aget_or_load("k", load) for _ in range(3)), return_exceptions=True)
            self.assertEqual([str(result) for result in results], ["no"] * 3)
        asyncio.run(main())

    def test_a_task_and_a_thread_share_a_load(self):
        cache = Cache("1MB")
        leading, go = threading.Event(), threading.Event()

        def load():
            leading.set()
            go.wait(30)
            return "from the thread"

        thread = threading.Thread(target=cache.get_or_load, args=("k", load))
        thread.start()
        leading.wait(30)

        async def main():
            async def never():
                raise AssertionError("loaded twice")
            task = asyncio.create_task(cache.aget_or_load("k", never))
            while cache.stats()["misses"] < 2:
                await asyncio.sleep(0)
            go.set()
            self.assertEqual(await task, "from the thread")
        asyncio.run(main())
        thread.join()

    def test_a_value_is_served_while_a_task_makes_it_anew(self):
        async def main(options, cost, early):
            cache = Cache("1MB", **options)
            cache.put("k", 1, cost=cost)

            async def load():
                return 2
            self.assertEqual(await cache.aget_or_load("k", load), 1)
            while cache.stats()["loads"] == 0:
                await asyncio.sleep(0)
            self.assertEqual((cache.get("k"), cache.stats()["early"]), (2, early))
        for each in ANEW:
            with self.subTest(**each[0]):
                asyncio.run(main(*each))


class Disk(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="genscope-cache-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def test_values_outlive_the_cache(self):
        value = {"embedding": b"x" * 100_000, "shape": (1, 77)}
        first = Cache("10MB", disk=self.folder)
        self.assertEqual(first.get_or_load(key("e", 1), lambda: value), value)
        first.put(key("e", 2), "small")
        del first
        second = Cache("10MB", disk=self.folder)

        def never():
            raise AssertionError("loaded again")
        self.assertEqual(second.get_or_load(key("e", 1), never), value)
        self.assertEqual(second.get(key("e", 2)), "small")
        self.assertIsNone(second.get(key("e", 3)))
        self.assertEqual(second.stats()["disk"]["hits"], 2)
        self.assertTrue(second.erase(key("e", 2)))
        self.assertIsNone(second.get(key("e", 2)))
        second.clear()
        self.assertIsNone(second.get(key("e", 1)))

        async def main():
            async def load():
                return "by a task"
            await second.aget_or_load("t", load)
            self.assertEqual(Cache("10MB", disk=self.folder).get("t"), "by a task")
        asyncio.run(main())

    def test_what_cannot_be_read_back_safely_stays_in_memory(self):
        class Own:
            pass
        cache = Cache("10MB", disk=self.folder)
        own = Own()
        self.assertIs(cache.get_or_load("k", lambda: own), own)
        self.assertIs(cache.get("k"), own)
        stats = cache.stats()
        self.assertEqual(stats["disk"]["writes"], 0)
        self.assertEqual(sum(stats["local_only"].values()), 1)
        self.assertIn("Own", next(iter(stats["local_only"])))

    def test_your_own_format(self):
        made = {"dumps": lambda value: repr(value).encode(), "loads": lambda data: eval(data)}
        Cache("1MB", disk=self.folder, **made).put("k", {1, 2})
        self.assertEqual(Cache("1MB", disk=self.folder, **made).get("k"), {1, 2})


@unittest.skipIf(shutil.which("redis-server") is None, "redis-server is not installed")
class Redis(unittest.TestCase):
    def start(self):
        self.server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "",
                                        "--appendonly", "no"], stdout=subprocess.DEVNULL)
        while True:
            try:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.connect(self.socket)
                return
            except OSError:
                pass

    def stop(self):
        self.server.kill()
        self.server.wait()

    def test_machines_share_and_a_killed_server_does_no_harm(self):
        folder = tempfile.mkdtemp(prefix="genscope-redis-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.socket = os.path.join(folder, "s")
        self.start()
        self.addCleanup(lambda: self.stop())
        here, there = (Cache("50MB", redis="unix://" + self.socket) for _ in range(2))
        here.get_or_load("k", lambda: [1, b"x"])
        self.assertEqual(there.get_or_load("k", lambda: "loaded again"), [1, b"x"])
        here.put("big", b"x" * (9 << 20), bytes=1)
        self.assertEqual(here.stats()["redis"]["refused"], 1)
        self.stop()
        for i in range(5):
            self.assertEqual(here.get_or_load(("after", i), lambda: i), i)
        stats = here.stats()["redis"]
        self.assertGreaterEqual(stats["failures"], 3)
        self.assertGreaterEqual(stats["skipped"], 1)
        self.assertTrue(stats["last_error"])

    def test_a_wrong_address_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "redis://"):
            Cache("1MB", redis="localhost:6379")


class Docs(unittest.TestCase):
    def test_the_sample_of_the_manual_runs(self):
        manual = pathlib.Path(__file__).resolve().parents[2] / "docs" / "optimize-cache.md"
        sample = manual.read_text().split("```python\n")[1].split("```")[0]
        loads = []

        def encode(prompt):
            loads.append(prompt)
            return prompt.upper()

        async def encode_async(prompt):
            raise AssertionError("it was there")

        names = {"model_id": "m", "revision": "main", "prompt": "a cat", "encode": encode, "encode_async": encode_async,
                 "print": lambda *told: self.assertGreaterEqual(told[0], 0)}
        asyncio.run(eval(compile(sample, str(manual), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names))
        self.assertEqual((names["embedding"], loads), ("A CAT", ["a cat"]))


class Format(unittest.TestCase):
    def test_plain_values_come_back(self):
        value = {"a": [1, 2.5, None, True, "ü", b"\0x"], "t": (1, (2,)), "inf": float("-inf"), "big": 2**100, "e": {}}
        self.assertEqual(_plain.loads(_plain.dumps(value)), value)

    @unittest.skipIf(numpy is None, "numpy is not installed")
    def test_arrays_come_back(self):
        for array in (numpy.arange(12, dtype="<i2").reshape(3, 4)[:, ::2], numpy.zeros((0, 3)), numpy.array(2.0, "f4")):
            back = _plain.loads(_plain.dumps((array, "x")))[0]
            self.assertEqual((back.dtype, back.shape, back.tobytes()), (array.dtype, array.shape, array.tobytes()))
        back[...] = 5  # its own memory

    def test_other_types_are_refused(self):
        class Own(dict):
            pass
        for value in (object(), {1: 2}, {1, 2}, Own(), [lambda: 1]):
            with self.assertRaises(_plain.Unsafe):
                _plain.dumps(value)

    def test_damage_is_an_error(self):
        whole = _plain.dumps([b"abc" * 10, 1.5, {"x": (1,)}])
        for size in range(len(whole)):
            with self.assertRaises(ValueError):
                _plain.loads(whole[:size])
        for at in range(len(whole)):
            damaged = bytearray(whole)
            damaged[at] ^= 0x55
            try:
                _plain.loads(bytes(damaged))
            except ValueError:
                pass


if __name__ == "__main__":
    unittest.main()
