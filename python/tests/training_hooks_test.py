"""The hooks of training and of generate(), on packages with the libraries' names and no torch."""
import os
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest

from harness import spans_of

BIN = os.environ["GENSCOPE_BIN"]

TORCH = {
    "torch/__init__.py": """
        from . import autograd, optim
        from .utils import data
        import torch.utils.data.dataloader, torch.optim.optimizer
        grad = [True]
        def is_grad_enabled(): return grad[0]
        class no_grad:
            def __enter__(self): grad[0] = False
            def __exit__(self, *error): grad[0] = True
        """,
    "torch/autograd.py": """
        def backward(tensors): return tensors
        """,
    "torch/optim/__init__.py": "from .optimizer import Optimizer\n",
    "torch/optim/optimizer.py": """
        before, after = [], []
        def register_optimizer_step_pre_hook(hook): before.append(hook)
        def register_optimizer_step_post_hook(hook): after.append(hook)
        class Optimizer:
            def __init__(self, parameters): pass
            def step(self, closure=None):
                args, kwargs = (self, closure), {}
                for hook in before:
                    args, kwargs = hook(self, args, kwargs) or (args, kwargs)
                if args[1] is not None: args[1]()
                for hook in after: hook(self, args, kwargs)
        """,
    "torch/utils/__init__.py": "",
    "torch/utils/data/__init__.py": "from .dataloader import DataLoader\n",
    "torch/utils/data/dataloader.py": """
        class _BaseDataLoaderIter:
            def __init__(self, loader): self.items = iter(loader.items)
            def _reset(self, loader, first_iter=False): self.items = iter(loader.items)
            def __iter__(self): return self
            def __next__(self): return next(self.items)
        class DataLoader:
            def __init__(self, items): self.items = items
            def __iter__(self): return _BaseDataLoaderIter(self)
        """,
}
TRAIN = """
    import torch
    loader = torch.utils.data.DataLoader([1, 2])
    optimizer = torch.optim.Optimizer([])
    for epoch in range(2):
        for item in loader:
            torch.autograd.backward(item)
            optimizer.step()
    with torch.no_grad():
        for item in loader:
            print(item)
    """
TRANSFORMERS = {
    "transformers/__init__.py": "from . import generation\n",
    "transformers/generation/__init__.py": "from .utils import GenerationMixin\n",
    "transformers/generation/utils.py": """
        class GenerationMixin:
            def generate(self, inputs=None, assistant=None, tokens=3, pixel_values=None, fail=False):
                length = inputs.shape[1]
                while self._has_unfinished_sequences(length >= inputs.shape[1] + tokens):
                    if pixel_values is not None and length == inputs.shape[1]:
                        self.get_image_features(pixel_values)
                    if assistant is not None:
                        assistant.generate(inputs, tokens=1)
                    if fail:
                        raise ValueError("no")
                    length += 1
                return type(inputs)((inputs.shape[0], length))
            def _has_unfinished_sequences(self, finished): return not finished
        """,
}


def write(folder, files):
    for path, text in files.items():
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))


class Recorded(unittest.TestCase):
    def record(self, program, files):
        with tempfile.TemporaryDirectory() as folder:
            write(folder, {**files, "program.py": program})
            run = os.path.join(folder, "run")
            done = subprocess.run(
                [BIN, "run", "--live", "never", "--no-gpu", "--run-dir", run, "--", sys.executable,
                 "program.py"], cwd=folder, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            spans = spans_of(run)
        self.output = done.stdout
        spans.sort(key=lambda s: s["begin_ns"])
        by_id = {s["id"]: s for s in spans}

        def depth(span):
            return 1 + depth(by_id[span["parent"]]) if span["parent"] in by_id else 0
        self.spans = spans
        return [". " * depth(s) + f"{s['kind']} {s['name']}" for s in spans]


class Loops(Recorded):
    BATCH = [". batch batch", ". . stage forward", ". . stage backward", ". . stage optimizer"]
    EPOCH = ["epoch epoch", *[". stage data_loading", *BATCH] * 2, ". stage data_loading"]
    CHECK = ["stage validation_data", "task validation_batch"] * 2 + ["stage validation_data"]

    def test_a_loop(self):
        self.assertEqual(self.record(TRAIN, TORCH), self.EPOCH * 2 + self.CHECK)
        self.assertEqual(self.output, "1\n2\n")

    def test_a_loader_that_moved(self):
        moved = TORCH["torch/utils/data/dataloader.py"].replace("_BaseDataLoaderIter", "_Iter")
        spans = self.record(TRAIN, {**TORCH, "torch/utils/data/dataloader.py": moved})
        self.assertEqual(spans, ["stage backward", "stage optimizer"] * 4)
        self.assertEqual(self.output, "1\n2\n")

    def test_optimizers_without_hooks(self):
        moved = TORCH["torch/optim/optimizer.py"].replace("register_optimizer_step", "register")
        spans = self.record(TRAIN, {**TORCH, "torch/optim/optimizer.py": moved})
        # Without optimizers nothing tells that it trains, and no epoch is claimed.
        self.assertEqual(spans[:4], ["stage data_loading", "batch batch", ". stage backward",
                                     "stage data_loading"])
        self.assertNotIn("epoch epoch", spans)

    def test_a_library_that_raises_at_import(self):
        spans = self.record("""
            try:
                import torch
            except RuntimeError as error:
                print(error)
            """, {"torch/__init__.py": "raise RuntimeError('no driver')\n"})
        self.assertEqual((spans, self.output), ([], "no driver\n"))

    def test_trainer_and_lightning_that_moved(self):
        spans = self.record("""
            import transformers.trainer_callback, transformers.trainer
            import lightning.pytorch.profilers.profiler, accelerate.data_loader
            from genscope.hooks import _report
            for target, said in sorted(_report._said):
                if said.startswith("failed"):
                    print(target, said[6:])
            """, {
                "transformers/__init__.py": "", "transformers/trainer_callback.py": "",
                "transformers/trainer.py": "class Trainer: pass\n",
                "lightning/__init__.py": "", "lightning/pytorch/__init__.py": "",
                "lightning/pytorch/profilers/__init__.py": "",
                "lightning/pytorch/profilers/profiler.py": "class Profiler: pass\n",
                "accelerate/__init__.py": "", "accelerate/data_loader.py": ""})
        self.assertEqual(spans, [])
        for reason in ("accelerate accelerate.data_loader has none of DataLoaderShard",
                       "lightning it has no profile",
                       "trainer transformers.trainer_callback has no CallbackHandler",
                       "trainer it has no evaluate"):
            self.assertIn(reason, self.output)


class Generate(Recorded):
    PROGRAM = """
        from transformers.generation import GenerationMixin
        class Tensor:
            def __init__(self, shape): self.shape = shape
        class Model(GenerationMixin):
            def get_image_features(self, pixels):
                return [Tensor((640, 8)), Tensor((160, 8))]
        class Draft(GenerationMixin): pass
        """

    def test_prefill_decode_and_tokens(self):
        spans = self.record(self.PROGRAM + """
        print(Model().generate(Tensor((2, 5))).shape)
        """, TRANSFORMERS)
        self.assertEqual(spans, ["request generate", ". stage prefill", ". stage decode",
                                 ". . step step", ". . step step"])
        told = dict(self.spans[0]["args"])
        self.assertGreater(told.pop("ttft_seconds"), 0)
        self.assertGreater(told.pop("tpot_seconds"), 0)
        self.assertEqual(told, {"model": "Model", "tokens_in": 5, "batch": 2, "images": 0, "tokens_out": 3})
        self.assertEqual(self.output, "(2, 8)\n")

    def test_drafts_are_a_part_of_the_turn(self):
        spans = self.record(self.PROGRAM + """
        Model().generate(Tensor((1, 5)), assistant=Draft())
        """, TRANSFORMERS)
        self.assertEqual(spans.count(". . step step"), 2)
        self.assertEqual(len(spans), 5)

    def test_pictures(self):
        spans = self.record(self.PROGRAM + """
        Model().generate(Tensor((1, 5)), pixel_values=Tensor((3200, 16)))
        """, TRANSFORMERS)
        self.assertEqual(spans[:4], ["request generate", ". stage text_processing",
                                     ". . stage prefill", ". . . stage vision_encode"])
        self.assertEqual(self.spans[3]["args"], {"images": 2, "image_tokens": 800})

    def test_a_failure(self):
        spans = self.record(self.PROGRAM + """
        try:
            Model().generate(Tensor((1, 5)), fail=True)
        except ValueError:
            pass
        Model().generate(Tensor((1, 5)))
        """, TRANSFORMERS)
        self.assertEqual(["failed" in s["flags"] for s in self.spans], [True] * 2 + [False] * 5)

    def test_inside_of_a_served_request(self):
        spans = self.record(self.PROGRAM + """
        import asyncio, genscope.asgi
        async def app(scope, receive, send):
            await asyncio.to_thread(Model().generate, Tensor((1, 5)))
            await send({"type": "http.response.start", "status": 200})
            await send({"type": "http.response.body", "body": b""})
        async def send(message): pass
        asyncio.run(genscope.asgi.RequestMonitor(app)({"type": "http", "path": "/"}, None, send))
        """, TRANSFORMERS)
        self.assertEqual(spans, ["request http", ". stage generate", ". . stage prefill",
                                 ". . stage decode", ". . . step step", ". . . step step"])


class Pictures(unittest.TestCase):
    def test_tokens_by_shapes(self):
        from genscope.hooks.transformers_pictures import measure

        def tensor(*shape):
            return types.SimpleNamespace(shape=shape)
        self.assertEqual(measure(tensor(3, 576, 8)), (3, 1728))
        self.assertEqual(measure([tensor(10, 8), tensor(20, 8)]), (2, 30))
        self.assertEqual(measure(([tensor(10, 8)], [tensor(10, 8)])), (1, 10))
        self.assertEqual(measure(tensor(10, 8)), (0, 0))
        self.assertEqual(measure(None), (0, 0))

    def test_counting_pictures(self):
        from genscope.hooks.transformers_pictures import _count
        self.assertEqual([_count(x) for x in (None, "text", object(), [1, [2, 3]], [])],
                         [0, 0, 1, 3, 0])


if __name__ == "__main__":
    unittest.main()
