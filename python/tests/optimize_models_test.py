"""ModelManager and DeviceManager: leases, eviction, asyncio, exceptions, exit."""
import asyncio
import contextlib
import gc
import io
import pathlib
import re
import threading
import unittest
import weakref

from genscope.optimize import Adapter, DeviceManager, ModelError, ModelManager
from harness import ProgramCase, Recorded


class Model:
    def __init__(self, name):
        self.name = name


class ModelManagerTest(unittest.TestCase):
    def manager(self, budget="10GB", **options):
        manager = ModelManager(budget, **options)
        self.addCleanup(manager.close)
        return manager

    def test_lends_and_evicts_within_the_budget(self):
        manager = self.manager()
        made, gone = [], []
        for name in ("a", "b"):
            manager.register(name, lambda name=name: made.append(name) or Model(name),
                             unload=lambda model: gone.append(model.name), bytes="5GB")
        with manager.lease("a") as model:
            self.assertEqual(model.name, "a")
            self.assertEqual(manager.ledger()["models"][0]["leases"], 1)
            kept = weakref.ref(model)
        del model
        with manager.lease("a"), manager.lease("a"):
            pass
        with manager.lease("b", timeout=60) as model:
            self.assertEqual(model.name, "b")
        self.assertEqual((made, gone), (["a", "b"], ["a"]))
        gc.collect()
        self.assertIsNone(kept())
        row, = manager.why()
        self.assertEqual((row["model"], row["what"], row["for_model"]), ("a", "evicted", "b"))
        self.assertIn("cpu: ", manager.ledger()["text"])
        self.assertEqual(manager.ledger()["devices"][0]["reserved_bytes"], int(5e9 * 1.1))
        stats = manager.stats()
        self.assertEqual((stats["requests"], stats["granted"], stats["loads"]), (4, 4, 2))

    def test_load_may_take_the_device(self):
        manager = self.manager({"cuda:0": "1GB", "cuda:1": "1GB"})
        manager.register("a", lambda device: device, bytes=10)
        lease = manager.take("a", device="cuda:1")
        self.assertEqual((lease.model, lease.device), ("cuda:1", "cuda:1"))
        lease.release()
        with self.assertRaisesRegex(RuntimeError, "given back"):
            lease.model

    def test_many_threads_one_load_and_no_gil_while_waiting(self):
        manager = self.manager()
        go, loads, seen = threading.Event(), [], []
        manager.register("a", lambda: loads.append(go.wait(60)) or Model("a"), bytes=10)

        def work():
            with manager.lease("a") as model:
                seen.append(model.name)
        threads = [threading.Thread(target=work) for _ in range(20)]
        for thread in threads:
            thread.start()
        go.set()  # reached only if nobody who waits holds the GIL
        for thread in threads:
            thread.join()
        self.assertEqual((loads, seen), ([True], ["a"] * 20))

    def test_a_timeout_is_a_timeout_error(self):
        manager = self.manager()
        manager.register("a", lambda: Model("a"), bytes="8GB")
        manager.register("b", lambda: Model("b"), bytes="8GB")
        with manager.lease("a"):
            with self.assertRaisesRegex(TimeoutError, "the deadline came before"):
                manager.take("b", timeout=0.01)
        self.assertEqual(manager.stats()["expired"], 1)

    def test_a_failed_load_is_the_cause_and_is_remembered(self):
        manager = self.manager(backoff=1000)
        tries = []

        def load():
            tries.append(1)
            raise FileNotFoundError("weights.safetensors")
        manager.register("a", load, bytes=10)
        for _ in range(2):
            with self.assertRaisesRegex(ModelError, "FileNotFoundError: weights") as caught:
                manager.take("a")
            self.assertIsInstance(caught.exception.__cause__, FileNotFoundError)
            self.assertEqual(caught.exception.refusal, "broken")
        self.assertEqual(len(tries), 1)

    def test_out_of_memory_evicts_and_tries_once_more(self):
        manager = self.manager()
        tries = []

        class OutOfMemoryError(RuntimeError):  # as torch names its own
            pass

        def load():
            tries.append(len(manager.ledger()["models"]))
            if len(tries) < 2:
                raise OutOfMemoryError("CUDA out of memory")
            return Model("b")
        manager.register("a", lambda: Model("a"), bytes=10)
        manager.register("b", load, bytes=10)
        with manager.lease("a"):
            pass
        with manager.lease("b"):
            self.assertEqual([row["model"] for row in manager.ledger()["models"]], ["b"])
        self.assertEqual(manager.stats()["oom_retries"], 1)

    def test_out_of_memory_at_work(self):
        manager = self.manager()
        manager.register("a", lambda: Model("a"), bytes=10)
        manager.register("b", lambda: Model("b"), bytes=10)
        with manager.lease("a"):
            pass
        lease = manager.take("b")
        self.assertTrue(lease.out_of_memory())
        self.assertFalse(lease.out_of_memory())

    def test_what_does_not_fit_is_said_with_the_ledger(self):
        manager = self.manager()
        manager.register("a", lambda: Model("a"), bytes="20GB")
        with self.assertRaisesRegex(ModelError, "does not fit.*In memory now:\ncpu: 0 B reserved") as caught:
            manager.take("a")
        self.assertEqual(caught.exception.refusal, "no_room")

    def test_names_and_arguments_are_checked(self):
        manager = self.manager()
        manager.register("sdxl", lambda: Model("a"))
        with self.assertRaisesRegex(LookupError, "did you mean sdxl"):
            manager.take("sdlx")
        with self.assertRaises(ValueError):
            manager.register("sdxl", lambda: Model("a"))
        with self.assertRaises(ValueError):
            manager.register("x", lambda: 1, sleep=lambda model: None)
        with self.assertRaises(ValueError):
            ModelManager("twenty")

    def test_sleep_and_wake(self):
        manager = self.manager(host_budget="100GB")
        log = []
        for name in ("a", "b"):
            manager.register(name, Adapter(lambda name=name: Model(name),
                                           sleep=lambda m: log.append("sleep " + m.name),
                                           wake=lambda m: log.append("wake " + m.name)), bytes="8GB")
        for name in ("a", "b", "a"):
            with manager.lease(name) as model:
                self.assertEqual(model.name, name)
        self.assertEqual(log, ["sleep a", "sleep b", "wake a"])

    def test_measured_bytes_are_learned_and_leaks_found(self):
        used = [0]
        manager = self.manager(measure=lambda device: used[0])

        def load():
            used[0] += 4 * 10**9
            return Model("a")

        def unload(model):
            used[0] -= 3 * 10**9
        manager.register("a", load, unload)
        with manager.lease("a"):
            self.assertEqual(manager.ledger()["models"][0]["learned_bytes"], 4 * 10**9)
        manager.unload("a")
        manager.settle()
        self.assertEqual(manager.leaks(), [{"model": "a", "device": "cpu", "bytes": 10**9}])
        self.assertEqual(manager.transfers()[1]["before_bytes"], 4 * 10**9)

    def test_pin_prefetch_and_reconcile(self):
        manager = self.manager()
        manager.register("a", lambda: Model("a"), bytes=10)
        manager.register("b", lambda: Model("b"), bytes=10)
        manager.pin("a")
        manager.prefetch("b")
        manager.settle()
        self.assertEqual({row["model"]: row["state"] for row in manager.ledger()["models"]},
                         {"a": "ready", "b": "ready"})
        report = manager.reconcile("cpu", 10**9)
        self.assertTrue(report["applied"])
        self.assertEqual(report["budget_after_bytes"], 10**9 + 22)
        self.assertEqual(manager.stats()["prefetches"], 2)

    def test_asyncio(self):
        manager = self.manager()
        manager.register("a", lambda: Model("a"), bytes="8GB")
        manager.register("b", lambda: Model("b"), bytes="8GB")

        async def use(name):
            async with manager.alease(name, timeout=60) as model:
                await asyncio.sleep(0)
                return model.name

        async def all_of_it():
            self.assertEqual(await asyncio.gather(*[use(n) for n in "abab"]), list("abab"))
            async with manager.alease("a"):
                waiting = asyncio.create_task(use("b"))
                while manager.stats()["waiting"] == 0:
                    await asyncio.sleep(0)
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
                with self.assertRaises(TimeoutError):
                    async with manager.alease("b", timeout=0.01):
                        pass
            self.assertEqual(manager.stats()["waiting"], 0)
            self.assertEqual(manager.stats()["leases"], 0)
        asyncio.run(all_of_it())

    def test_close_refuses_and_a_lease_outlives_it(self):
        manager = self.manager()
        manager.register("a", lambda: Model("a"), bytes=10)
        lease = manager.take("a")
        manager.close()
        self.assertEqual(lease.model.name, "a")
        with self.assertRaises(ModelError) as caught:
            manager.take("a")
        self.assertEqual(caught.exception.refusal, "closed")
        lease.release()


class DocsTest(unittest.TestCase):
    def test_the_sample_runs(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "optimize-models.md").read_text()
        sample = re.search(r"```python\n(.*?)```", page, re.S)[1]
        names = {"load_sdxl": lambda device: lambda prompt: f"{prompt} on {device}",
                 "load_upscaler": lambda: str.upper}
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(sample, names)
        self.addCleanup(names["manager"].close)
        self.assertEqual(asyncio.run(names["enlarge"](names["image"])), "A CAT ON CUDA:0")
        self.assertIn("cuda:0: 7.17 GiB reserved of 18.6 GiB", said.getvalue())


class DeviceManagerTest(unittest.TestCase):
    def test_the_cpu_is_always_there(self):
        devices = DeviceManager()
        cpu = devices.device("cpu")
        self.assertFalse(cpu.gpu)
        self.assertGreater(cpu.total_bytes, cpu.free_bytes)
        self.assertEqual(devices.devices()[-1].id, "cpu")
        for row in devices.absent():
            self.assertTrue(row["reason"], row)
        with self.assertRaisesRegex(LookupError, "cpu"):
            devices.device("gpu99")


class ProgramTest(ProgramCase):
    def test_spans_of_loads_and_waits_are_in_the_run(self):
        run = self.folder / "run"
        self.python(f"""
            import genscope as gs
            from genscope.optimize import ModelManager
            with gs.session("service", run_dir={str(run)!r}):
                manager = ModelManager("10GB")
                manager.register("a", lambda: object(), bytes="8GB")
                manager.register("b", lambda: object(), bytes="8GB")
                with manager.lease("a"): pass
                with manager.lease("b"): pass
                manager.close()
            """)
        recorded = Recorded(run)
        self.assertEqual(recorded.one("a")["kind"], "load")
        self.assertEqual(recorded.one("unload a")["kind"], "task")
        self.assertEqual(len(recorded.named("wait for model")), 2)

    def test_a_program_that_closes_nothing_ends(self):
        self.python("""
            from genscope.optimize import ModelManager
            manager = ModelManager("10GB")
            manager.register("a", lambda: object(), unload=lambda model: print("unloaded"), bytes=10)
            lease = manager.take("a")
            with manager.lease("a"): pass
            """)


if __name__ == "__main__":
    unittest.main()
