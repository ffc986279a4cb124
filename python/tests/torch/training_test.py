"""Loops of torch, Accelerate, Trainer and Lightning on the real libraries, with random tiny models.

One program holds a part for each; it runs once under genscope and once without, and what it prints
(losses and weights, to the last bit) must be the same.
"""
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from collections import Counter

from harness import inside, spans_of

BIN = os.environ["GENSCOPE_BIN"]
DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs")

COMMON = """
    import sys, time, warnings
    warnings.simplefilter("ignore")
    import torch
    from torch.utils.checkpoint import checkpoint
    from torch.utils.data import DataLoader, Dataset, TensorDataset
    import genscope as gs

    def data():
        torch.manual_seed(0)
        return TensorDataset(torch.randn(12, 4), torch.randn(12, 1))

    def parts():
        torch.manual_seed(1)
        model = torch.nn.Linear(4, 1)
        return model, torch.optim.Adam(model.parameters(), lr=0.1)
    """

# In this order; each below a stage of its name. The first has no optimizer yet.
PARTS = {}
PARTS["unusual"] = """
    class Broken(Dataset):
        def __len__(self): return 4
        def __getitem__(self, i):
            if i == 2: raise KeyError(i)
            return torch.zeros(4)

    with gs.stage("inference"):
        for x, _ in DataLoader(data(), batch_size=6):
            pass
    model, optimizer = parts()

    def step(x, y, use=lambda f, x: f(x)):
        optimizer.zero_grad()
        loss = ((use(model, x) - y) ** 2).mean()
        loss.backward()
        return loss

    with gs.stage("break"):
        for x, y in DataLoader(data(), batch_size=4):
            step(x, y)
            optimizer.step()
            break
        with gs.stage("after_break"):
            pass
    with gs.stage("closure"):
        for x, y in DataLoader(data(), batch_size=6):
            optimizer.step(lambda: step(x, y))
    with gs.stage("two"):
        for (x, y), _ in zip(DataLoader(data(), batch_size=6),
                             DataLoader(data(), batch_size=6)):
            step(x, y)
            optimizer.step()
    with gs.stage("spawn"):
        for x, y in DataLoader(data(), batch_size=6, num_workers=1,
                               multiprocessing_context="spawn"):
            step(x, y)
            optimizer.step()
    with gs.stage("persistent"):
        loader = DataLoader(data(), batch_size=6, num_workers=1,
                            persistent_workers=True)
        for _ in range(2):
            for x, y in loader:
                step(x, y)
                optimizer.step()
    with gs.stage("checkpointed"):
        for reentrant in (True, False):
            for x, y in DataLoader(data(), batch_size=12):
                x.requires_grad_()
                step(x, y, lambda f, x: checkpoint(f, x, use_reentrant=reentrant))
                optimizer.step()
    with gs.stage("broken"):
        try:
            for x in DataLoader(Broken(), batch_size=2):
                pass
        except KeyError as error:
            print("KeyError")
    with gs.stage("compiled"):
        compiled = torch.compile(lambda: optimizer.step(), backend="eager")
        for x, y in DataLoader(data(), batch_size=12):
            step(x, y)
            compiled()
    print(model.weight.sum().item().hex())
    """
PARTS["loops"] = """
    model, optimizer = parts()
    for workers in (0, 2):
        loader = DataLoader(data(), batch_size=4, num_workers=workers)
        for epoch in range(2):
            for x, y in loader:
                loss = ((model(x) - y) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                print(loss.item().hex())
            with torch.no_grad():
                print(sum(model(x).sum() for x, _ in loader).item().hex())
    """
PARTS["accelerate"] = """
    from accelerate import Accelerator
    accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
    model, optimizer = parts()
    model, optimizer, loader = accelerator.prepare(model, optimizer,
                                                   DataLoader(data(), batch_size=4))
    for epoch in range(2):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = ((model(x) - y) ** 2).mean()
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
                print(loss.item().hex())
    """
TRAINER = """
    from transformers import (GPT2Config, GPT2LMHeadModel, PrinterCallback, Trainer,
                              TrainingArguments)
    from transformers.utils import logging
    logging.set_verbosity_error()
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=16, n_head=2, vocab_size=32,
                                       n_positions=16, bos_token_id=0, eos_token_id=31))
    items = [{"input_ids": torch.arange(8), "labels": torch.arange(8)} for _ in range(12)]
    callbacks = []
    %s
    trainer = Trainer(model, TrainingArguments(
        "out", per_device_train_batch_size=2, gradient_accumulation_steps=2, num_train_epochs=2,
        logging_steps=1, eval_strategy="epoch", save_strategy="epoch", report_to=[], use_cpu=True,
        disable_tqdm=True), train_dataset=items, eval_dataset=items, callbacks=callbacks)
    trainer.remove_callback(PrinterCallback)  # it prints times
    trainer.train()
    print([log.get("loss", log.get("eval_loss")) for log in trainer.state.log_history])
    print(sum(p.sum() for p in model.parameters()).item().hex())
    """
LIGHTNING = """
    import %s as L
    class Model(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = parts()[0]
        def training_step(self, batch, index):
            loss = ((self.model(batch[0]) - batch[1]) ** 2).mean()
            losses.append(loss.detach())
            return loss
        def validation_step(self, batch, index):
            self.log("v", ((self.model(batch[0]) - batch[1]) ** 2).mean())
        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.1)
    losses, callbacks = [], []
    %s
    trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_progress_bar=False,
                        enable_model_summary=False, default_root_dir="out", callbacks=callbacks)
    trainer.fit(Model(), DataLoader(data(), batch_size=4), DataLoader(data(), batch_size=6))
    print([loss.item().hex() for loss in losses])
    """
ADD = """from genscope.callbacks.%s import GenscopeCallback
    callbacks.append(GenscopeCallback())"""
PARTS["trainer"] = TRAINER % ""
PARTS["trainer_and_callback"] = TRAINER % (ADD % "transformers")
PARTS["lightning_and_callback"] = LIGHTNING % ("lightning", ADD % "lightning")
PARTS["pytorch_lightning"] = LIGHTNING % ("pytorch_lightning", "")


def program(parts):
    text = textwrap.dedent(COMMON)
    for name, code in parts.items():
        text += f"\ndef {name}():\n" + textwrap.indent(textwrap.dedent(code), "    ")
    text += "\nif __name__ == \"__main__\":\n"  # spawned workers import it
    for name in parts:
        text += f"    with gs.stage({name!r}):\n        {name}()\n"
    return text


class Recorded:
    """A program's run under genscope."""

    def __init__(self, folder, text, instrument="auto"):
        self.folder, self.text = folder, text
        self.run = os.path.join(folder, "run")
        self.output = self.execute(BIN, "run", "--live", "never", "--no-gpu", "--run-dir", self.run,
                                   "--instrument", instrument, "--")
        self.spans = sorted(spans_of(self.run), key=lambda s: s["begin_ns"])
        self.report = json.loads(self.genscope("report", self.run, "-f", "json"))
        self.rules = {f["rule"] for f in json.loads(
            self.genscope("advise", self.run, "--json"))["findings"]}

    def execute(self, *prefix):
        path = os.path.join(self.folder, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text)
        done = subprocess.run([*prefix, sys.executable, path], cwd=self.folder, timeout=1500,
                              capture_output=True, text=True,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @staticmethod
    def genscope(*args):
        return subprocess.run([BIN, *args], check=True, capture_output=True, text=True).stdout

    def stage(self, name):
        return next(s for s in self.spans if (s["kind"], s["name"]) == ("stage", name))

    def inside(self, span):
        """Everything below, at any depth, in the order of time."""
        return inside(self.spans, span)

    def below(self, span):
        return [s for s in self.spans if s["parent"] == span["id"]]


def count(spans):
    return Counter((s["kind"], s["name"]) for s in spans)


def of_kind(spans, kind):
    return [s for s in spans if s["kind"] == kind]


EPOCH, BATCH, WAIT = ("epoch", "epoch"), ("batch", "batch"), ("stage", "data_loading")
FORWARD, BACKWARD = ("stage", "forward"), ("stage", "backward")
OPTIMIZER, CHECK = ("stage", "optimizer"), ("stage", "validation_data")


class Hooked(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.run_ = Recorded(folder, program(PARTS))
            cls.plain = cls.run_.execute()

    def part(self, name):
        return self.run_.inside(self.run_.stage(name))

    def counts(self, name):
        return count(self.part(name))

    def test_results_are_the_same(self):
        self.assertEqual(self.run_.output, self.plain)
        self.assertGreater(len(self.plain.splitlines()), 25)

    def test_loops(self):
        spans = self.part("loops")
        self.assertEqual(count(spans), {
            EPOCH: 4, BATCH: 12, WAIT: 16, FORWARD: 12, BACKWARD: 12, OPTIMIZER: 12, CHECK: 16,
            ("task", "validation_batch"): 12})
        epochs = of_kind(spans, "epoch")
        self.assertEqual([e["args"]["index"] for e in epochs], [0, 1, 0, 1])
        for epoch in epochs:
            self.assertEqual(epoch["args"]["optimizer_steps"], 3)
            self.assertEqual(count(self.run_.below(epoch)), {BATCH: 3, WAIT: 4})
        for batch in of_kind(spans, "batch"):
            self.assertEqual([s["name"] for s in self.run_.below(batch)],
                             ["forward", "backward", "optimizer"])

    def test_unusual_loops(self):
        loop = {FORWARD: 2, BACKWARD: 2, OPTIMIZER: 2, BATCH: 2}
        for name, expected in {
                "inference": {BATCH: 2, WAIT: 3},
                "break": {EPOCH: 1, WAIT: 1, BATCH: 1, FORWARD: 1, BACKWARD: 1, OPTIMIZER: 1,
                          ("stage", "after_break"): 1},
                "closure": {EPOCH: 1, WAIT: 3, **loop},
                "two": {EPOCH: 1, WAIT: 5, **loop},
                "spawn": {EPOCH: 1, WAIT: 3, **loop},
                "persistent": {EPOCH: 2, WAIT: 6, **{k: 4 for k in loop}},
                "checkpointed": {EPOCH: 2, WAIT: 4, **loop}}.items():
            with self.subTest(name):
                self.assertEqual(self.counts(name), expected)
        self.assertEqual(self.run_.stage("after_break")["parent"], self.run_.stage("break")["id"])
        broken = self.counts("broken")
        self.assertEqual((broken[BATCH], broken[WAIT]), (1, 2))
        self.assertEqual([s["name"] for s in self.run_.spans if "failed" in s["flags"]],
                         ["epoch", "data_loading"])
        self.assertEqual(self.counts("compiled")[BATCH], 1)

    def test_accelerate(self):
        spans = self.part("accelerate")
        self.assertEqual(count(spans), {EPOCH: 2, BATCH: 6, WAIT: 8, FORWARD: 6, BACKWARD: 6,
                                        OPTIMIZER: 4})
        self.assertEqual([e["args"]["index"] for e in of_kind(spans, "epoch")], [0, 1])

    def test_trainer(self):
        for name in ("trainer", "trainer_and_callback"):
            spans = self.part(name)
            self.assertEqual(count(spans), {
                EPOCH: 2, BATCH: 12, WAIT: 12, FORWARD: 12, BACKWARD: 12, OPTIMIZER: 6, CHECK: 6,
                ("stage", "evaluate"): 2, ("stage", "save"): 2})
            for epoch in of_kind(spans, "epoch"):
                self.assertEqual(count(self.run_.below(epoch))[BATCH], 6)
        # What the Trainer printed first is what was recorded first.
        logged = next(line for line in self.plain.splitlines() if line.startswith("[3."))
        self.assertEqual(self.run_.report["training"]["batches"]["first_loss"],
                         json.loads(logged.replace("None", "null"))[0])

    def test_lightning(self):
        for name in ("pytorch_lightning", "lightning_and_callback"):
            self.assertEqual(self.counts(name), {
                EPOCH: 2, BATCH: 6, WAIT: 6, FORWARD: 6, BACKWARD: 6, OPTIMIZER: 6, CHECK: 6,
                ("stage", "sanity_check"): 1, ("stage", "validate"): 2, ("stage", "save"): 2})

    def test_no_batch_is_counted_twice(self):
        in_parts = sum(self.counts(name)[BATCH] for name in PARTS)
        self.assertEqual(self.run_.report["training"]["batches"]["count"], in_parts)


class Others(unittest.TestCase):
    def record(self, text, **options):
        with tempfile.TemporaryDirectory() as folder:
            return Recorded(folder, text, **options)

    def test_callbacks_alone(self):
        run = self.record(program({"trainer": PARTS["trainer_and_callback"],
                                   "lightning": PARTS["lightning_and_callback"]}),
                          instrument="none")
        self.assertEqual(count(run.inside(run.stage("trainer"))),
                         {EPOCH: 2, BATCH: 12, OPTIMIZER: 6})
        self.assertEqual(count(run.inside(run.stage("lightning"))), {
            EPOCH: 2, BATCH: 6, ("stage", "sanity_check"): 1, ("stage", "validate"): 2})
        self.assertIsNotNone(run.report["training"]["batches"]["first_loss"])
        self.check_broken_callbacks(run.output)

    def check_broken_callbacks(self, output):
        """What fails inside of the callbacks changes nothing of the training, and is told once."""
        broken = """
            from genscope.hooks import loops
            def begin_batch(*args, **kwargs): raise RuntimeError("ours")
            loops.begin_batch = begin_batch
            """
        run = self.record(program({"broken": broken, "trainer": PARTS["trainer_and_callback"],
                                   "lightning": PARTS["lightning_and_callback"]}),
                          instrument="none")
        self.assertEqual(run.output, output)
        self.assertEqual(count(run.inside(run.stage("trainer"))), {EPOCH: 2, OPTIMIZER: 6})
        self.assertEqual([row["target"] for row in run.report["instrument"] if not row["hooked"]], [
            "callbacks.transformers.on_step_begin", "callbacks.transformers.on_substep_end",
            "callbacks.lightning.on_train_batch_start"])

    def test_slow_input_is_told_and_the_docs_example_is_right(self):
        slow = textwrap.dedent("""
            import time
            class Slow(TensorDataset):
                def __getitem__(self, i):
                    time.sleep(0.05)
                    return super().__getitem__(i)
            """)
        with open(os.path.join(DOCS, "python-training.md"), encoding="utf-8") as file:
            example = file.read().split("```python\n")[1].split("```")[0]
        head, rest = example.split("\n\n", 1)
        run = self.record(head + slow + rest.replace("DataLoader(Tensor", "DataLoader(Slow(*Tensor")
                          .replace(", torch.randn(64, 1))", ", torch.randn(64, 1)).tensors)"))
        self.assertEqual(count(run.spans), {EPOCH: 2, BATCH: 16, WAIT: 18, FORWARD: 16,
                                            BACKWARD: 16, OPTIMIZER: 16})
        self.assertGreater(run.report["training"]["input_wait_share"], 0.1)
        self.assertIn("IN-BOUND", run.rules)


if __name__ == "__main__":
    unittest.main()
