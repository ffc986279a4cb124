#!/usr/bin/env python3
"""Columns of a run in pandas and Arrow; figures in W&B and MLflow. Real modules, read back."""
import os
import sys
import tempfile
import unittest

import genscope as gs


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        session = gs.session("s", run_dir=os.path.join(cls.folder.name, "run"))
        with session:
            with gs.stage("denoise", dtype="bf16"):
                for i in gs.steps(range(6)):
                    gs.counter("loss", i / 4)
        cls.run_ = gs.load(os.path.join(cls.folder.name, "run"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_pandas(self):
        frame = self.run_.spans.to_pandas()
        steps = frame[frame.kind == "step"]
        self.assertEqual(len(steps), 6)
        self.assertEqual(set(steps.parent), set(frame[frame.name == "denoise"].id))
        self.assertTrue((steps.duration_ns >= 0).all())
        losses = self.run_.counters.to_pandas().query("name == 'loss'").value
        self.assertEqual(list(losses), [0, .25, .5, .75, 1, 1.25])

    def test_arrow(self):
        import pyarrow
        for name in ("spans", "events", "counters", "span_args", "event_args"):
            table = getattr(self.run_, name)
            arrow = pyarrow.table(table)
            arrow.validate(full=True)
            self.assertEqual(arrow.num_rows, len(table))
            self.assertEqual(arrow.column_names, table.columns)
        self.assertEqual(pyarrow.table(self.run_.spans)["name"].to_pylist(), list(self.run_.spans["name"]))
        texts = pyarrow.table(self.run_.span_args)["text"].to_pylist()
        self.assertEqual(texts, list(self.run_.span_args["text"]))
        self.assertIn("bf16", texts)
        self.assertIn(None, texts)

    def test_arrow_outlives_the_run(self):
        import gc
        import pyarrow
        arrow = pyarrow.table(gs.load(self.run_.path).spans)
        gc.collect()
        self.assertEqual(arrow["name"].to_pylist()[0], "s")

    def test_wandb(self):
        import wandb
        os.environ["WANDB_DIR"] = self.folder.name
        run = wandb.init(mode="offline", project="p")
        gs.track_to("wandb", self.run_)
        summary = dict(run.summary)
        run.finish()
        self.assertEqual(summary["genscope/step/step/count"], 6)
        self.assertGreater(summary["genscope/stage/denoise/total_seconds"], 0)

    def test_mlflow_at_the_end_of_a_session(self):
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
        import mlflow
        mlflow.set_tracking_uri("file:" + os.path.join(self.folder.name, "mlruns"))
        with mlflow.start_run() as run:
            gs.track_to("mlflow")
            with gs.session("t", run_dir=os.path.join(self.folder.name, "run2")):
                with gs.stage("vae<decode>"):
                    pass
        stored = mlflow.get_run(run.info.run_id).data.metrics
        self.assertEqual(stored["genscope/stage/vae_decode_/count"], 1)

    def test_without_an_open_run_it_says_so(self):
        with self.assertRaisesRegex(RuntimeError, "mlflow.start_run"):
            gs.track_to("mlflow", self.run_)


if __name__ == "__main__":
    # wandb's handler at exit wants a number, and unittest exits with a bool.
    sys.exit(0 if unittest.main(exit=False).result.wasSuccessful() else 1)
