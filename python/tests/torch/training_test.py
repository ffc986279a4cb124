"""Loops of torch, Accelerate, Trainer and Lightning on the real libraries, with random tiny models.

Each program runs as a process of its own, with genscope and without: the losses must be the same to
the last bit. Programs that cost little are put into one process.
"""
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from collections import Counter

BIN = os.environ["GENSCOPE_BIN"]

COMMON = """
    import sys, time, warnings
    warnings.simplefilter("ignore")
    import torch
    from torch.utils.data import DataLoader, Dataset, TensorDataset

    def data():
        torch.manual_seed(0)
        return TensorDataset(torch.randn(12, 4), torch.randn(12, 1))

    def parts():
        torch.manual_seed(1)
        model = torch.nn.Linear(4, 1)
        return model, torch.optim.Adam(model.parameters(), lr=0.1)
    """


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_it(self, text, *prefix):
        path = os.path.join(self.folder, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(COMMON) + textwrap.dedent(text))
        done = subprocess.run([*prefix, sys.executable, path], cwd=self.folder, timeout=280,
                              capture_output=True, text=True,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def record(self, text, compare=True):
        """Spans by their order in time. The output is the same as without genscope."""
        self.run_dir = os.path.join(self.folder, "run")
        output = self.run_it(text, BIN, "run", "--live", "never", "--no-gpu", "--run-dir",
                             self.run_dir, "--")
        if compare:
            self.assertEqual(output, self.run_it(text))
        lines = self.genscope("report", self.run_dir, "--spans", "-f", "json").splitlines()
        self.spans = sorted(map(json.loads, lines), key=lambda s: s["begin_ns"])
        self.by_id = {s["id"]: s for s in self.spans}
        self.report = json.loads(self.genscope("report", self.run_dir, "-f", "json"))
        return output

    def genscope(self, *args):
        return subprocess.run([BIN, *args], check=True, capture_output=True, text=True).stdout

    def count(self, spans=None):
        return Counter((s["kind"], s["name"]) for s in (self.spans if spans is None else spans))

    def below(self, span):
        return [s for s in self.spans if s["parent"] == span["id"]]

    def kind(self, kind):
        return [s for s in self.spans if s["kind"] == kind]

    def rules(self):
        return {f["rule"] for f in json.loads(self.genscope("advise", self.run_dir, "--json"))
                ["findings"]}



class Torch(Program):
    def test_loops(self):
        self.record("""
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
            """)
        self.assertEqual(self.count(), {
            ("epoch", "epoch"): 4, ("batch", "batch"): 12, ("stage", "data_loading"): 16,
            ("stage", "forward"): 12, ("stage", "backward"): 12, ("stage", "optimizer"): 12,
            ("stage", "validation_data"): 16, ("task", "validation_batch"): 12})
        for epoch in self.kind("epoch"):
            self.assertEqual(epoch["args"]["optimizer_steps"], 3)
            self.assertEqual(self.count(self.below(epoch)),
                             {("batch", "batch"): 3, ("stage", "data_loading"): 4})
        self.assertEqual([e["args"]["index"] for e in self.kind("epoch")], [0, 1, 0, 1])
        for batch in self.kind("batch"):
            self.assertEqual([s["name"] for s in self.below(batch)],
                             ["forward", "backward", "optimizer"])
        self.assertEqual(self.report["training"]["batches"]["count"], 12)
        self.assertEqual([e["batches"]["count"] for e in self.report["training"]["epochs"]],
                         [3, 3, 3, 3])

    def test_unusual_loops(self):
        """A break, a closure, two loaders at once, a spawned worker, workers that persist, a loop
        without an optimizer, checkpointing, a failing loader, a compiled step."""
        self.record("""
            import genscope as gs
            from torch.utils.checkpoint import checkpoint

            class Broken(Dataset):
                def __len__(self): return 4
                def __getitem__(self, i):
                    if i == 2: raise KeyError(i)
                    return torch.zeros(4)

            def main():
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

            if __name__ == "__main__":
                main()
            """)
        marked = {s["name"]: s for s in self.spans if s["kind"] == "stage"}

        def inside(name):
            """Counts of kinds and names below that stage, at any depth."""
            def is_below(span):
                while span["parent"] in self.by_id:
                    span = self.by_id[span["parent"]]
                    if span is marked[name]:
                        return True
                return False
            return self.count([s for s in self.spans if is_below(s)])
        E, B, W = ("epoch", "epoch"), ("batch", "batch"), ("stage", "data_loading")
        F, K, O = ("stage", "forward"), ("stage", "backward"), ("stage", "optimizer")
        self.assertEqual(inside("inference"), {B: 2, W: 3})
        self.assertEqual(inside("break"), {E: 1, B: 1, W: 1, F: 1, K: 1, O: 1,
                                           ("stage", "after_break"): 1})
        self.assertEqual(marked["after_break"]["parent"], marked["break"]["id"])
        self.assertEqual(inside("closure"), {E: 1, B: 2, W: 3, F: 2, K: 2, O: 2})
        self.assertEqual(inside("two"), {E: 1, B: 2, W: 5, F: 2, K: 2, O: 2})
        self.assertEqual(inside("spawn"), {E: 1, B: 2, W: 3, F: 2, K: 2, O: 2})
        self.assertEqual(inside("persistent"), {E: 2, B: 4, W: 6, F: 4, K: 4, O: 4})
        self.assertEqual(inside("checkpointed"), {E: 2, B: 2, W: 4, F: 2, K: 2, O: 2})
        broken = inside("broken")
        self.assertEqual((broken[B], broken[W]), (1, 2))
        self.assertEqual([s["name"] for s in self.spans if "failed" in s["flags"]],
                         ["epoch", "data_loading"])
        self.assertEqual(inside("compiled")[B], 1)

    def test_the_example_of_the_docs(self):
        page = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                            "../../../docs/python-training.md")
        with open(page, encoding="utf-8") as file:
            self.record(file.read().split("```python\n")[1].split("```")[0])
        self.assertEqual(self.count()["batch", "batch"], 16)
        self.assertEqual(self.count()["epoch", "epoch"], 2)

    def test_slow_input_is_told(self):
        self.record("""
            class Slow(TensorDataset):
                def __getitem__(self, i):
                    time.sleep(0.02)
                    return super().__getitem__(i)
            model, optimizer = parts()
            for x, y in DataLoader(Slow(*data().tensors), batch_size=4):
                loss = ((model(x) - y) ** 2).mean()
                loss.backward()
                optimizer.step()
            """, compare=False)
        self.assertGreater(self.report["training"]["input_wait_share"], 0.1)
        self.assertIn("IN-BOUND", self.rules())


class Accelerate(Program):
    def test_a_loop(self):
        self.record("""
            from accelerate import Accelerator
            accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
            model, optimizer = parts()
            model, optimizer, loader = accelerator.prepare(
                model, optimizer, DataLoader(data(), batch_size=4))
            for epoch in range(2):
                for x, y in loader:
                    with accelerator.accumulate(model):
                        loss = ((model(x) - y) ** 2).mean()
                        accelerator.backward(loss)
                        optimizer.step()
                        optimizer.zero_grad()
                        print(loss.item().hex())
            """)
        self.assertEqual(self.count(), {
            ("epoch", "epoch"): 2, ("batch", "batch"): 6, ("stage", "data_loading"): 8,
            ("stage", "forward"): 6, ("stage", "backward"): 6, ("stage", "optimizer"): 4})
        self.assertEqual([e["args"]["index"] for e in self.kind("epoch")], [0, 1])


TRAINER = """
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
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
    result = trainer.train()
    print([log.get("loss", log.get("eval_loss")) for log in trainer.state.log_history])
    print(sum(p.sum() for p in model.parameters()).item().hex())
    """


class HuggingFace(Program):
    def test_trainer(self):
        output = self.record(TRAINER % "")
        self.assertEqual(self.count(), {
            ("epoch", "epoch"): 2, ("batch", "batch"): 12, ("stage", "data_loading"): 12,
            ("stage", "forward"): 12, ("stage", "backward"): 12, ("stage", "optimizer"): 6,
            ("stage", "evaluate"): 2, ("stage", "validation_data"): 6, ("stage", "save"): 2})
        for epoch in self.kind("epoch"):
            self.assertEqual(self.count(self.below(epoch))["batch", "batch"], 6)
        # What the Trainer printed is what was recorded.
        losses = [float(x) for x in output.splitlines()[-2].strip("[]").split(",")[:-1]]
        self.assertEqual(self.report["training"]["batches"]["first_loss"], losses[0])

    def test_with_the_callback_added_by_hand(self):
        self.record(TRAINER % "from genscope.callbacks.transformers import GenscopeCallback\n"
                              "    callbacks.append(GenscopeCallback())", compare=False)
        self.assertEqual(len(self.kind("batch")), 12)
        self.assertEqual(len(self.kind("epoch")), 2)


LIGHTNING = """
    %s
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


class Lightning(Program):
    EXPECTED = {
        ("epoch", "epoch"): 2, ("batch", "batch"): 6, ("stage", "data_loading"): 6,
        ("stage", "forward"): 6, ("stage", "backward"): 6, ("stage", "optimizer"): 6,
        ("stage", "sanity_check"): 1, ("stage", "validate"): 2, ("stage", "validation_data"): 6,
        ("stage", "save"): 2}

    def test_lightning(self):
        self.record(LIGHTNING % ("import lightning as L", ""))
        self.assertEqual(self.count(), self.EXPECTED)

    def test_pytorch_lightning_and_the_callback_by_hand(self):
        """Beside the hooks the callback marks nothing twice."""
        self.record(LIGHTNING % (
            "import pytorch_lightning as L",
            "from genscope.callbacks.lightning import GenscopeCallback\n"
            "    callbacks.append(GenscopeCallback())"), compare=False)
        self.assertEqual(self.count(), self.EXPECTED)

    def test_the_callback_alone(self):
        os.environ["GENSCOPE_INSTRUMENT"] = "none"
        self.addCleanup(os.environ.pop, "GENSCOPE_INSTRUMENT")
        self.record(LIGHTNING % (
            "import lightning as L",
            "from genscope.callbacks.lightning import GenscopeCallback\n"
            "    callbacks.append(GenscopeCallback())"), compare=False)
        self.assertEqual(self.count(), {
            ("epoch", "epoch"): 2, ("batch", "batch"): 6, ("stage", "sanity_check"): 1,
            ("stage", "validate"): 2})


if __name__ == "__main__":
    unittest.main()
