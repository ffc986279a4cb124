#!/usr/bin/env python3
"""genscope.compat beside the real torch and pandas: losses, modules, and the documents' export."""
import contextlib
import io
import os
import tempfile
import unittest

import torch

from genscope.compat import (EpochPerformanceMonitor, InferixProfiler, PerformanceMonitor,
                             ProfilingConfig)


class WithTorch(unittest.TestCase):
    def test_a_training_loop(self):
        model, monitor = torch.nn.Linear(4, 1), PerformanceMonitor()
        epochs = EpochPerformanceMonitor(verbose_batches=1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            for _ in range(2):
                epochs.on_epoch_start()
                for i in range(3):
                    epochs.on_batch_start(i)
                    with monitor.track("batch_forward", aggregate=True):
                        loss = model(torch.ones(2, 4)).square().mean()
                    with monitor.track("batch_backward", aggregate=True):
                        loss.backward()
                    optimizer.step()
                    epochs.on_batch_end(i, loss)
                epochs.on_epoch_end()
        self.assertRegex(out.getvalue(), r"  Batch 0: [\d.]+s, .*loss=[\d.]+\n")
        self.assertEqual(epochs.get_statistics()["num_batches"], 6)
        self.assertEqual({row.operation: row.call_count for row in monitor.get_metrics()},
                         {"batch_forward": 6, "batch_backward": 6})

    def test_a_loss_that_is_not_on_the_cpu_is_not_read(self):
        epochs = EpochPerformanceMonitor()
        with contextlib.redirect_stdout(io.StringIO()) as out:
            epochs.on_epoch_start()
            epochs.on_batch_start(0)
            epochs.on_batch_end(0, torch.ones((), device="meta"))
        self.assertNotIn("loss", out.getvalue())

    def test_tensors_in_what_is_told(self):
        with tempfile.TemporaryDirectory() as folder, \
                contextlib.redirect_stdout(io.StringIO()):
            profiler = InferixProfiler(ProfilingConfig(enabled=True, output_dir=folder,
                                                       real_time_display=False))
            with profiler.session("tensors"):
                with profiler.stage("denoise", {"latents": torch.ones(2, 2)}):
                    profiler.record_diffusion_step(0, torch.tensor(0.5), 3,
                                                   torch.ones((), device="meta"))
            steps = profiler.diffusion_analyzer.get_diffusion_analysis()
            self.assertEqual(len(profiler.report_paths), 2)
        self.assertEqual(steps["steps"][0]["timestep"], 0.5)
        self.assertIsNone(steps["steps"][0]["computation_time_ms"])

    def test_export_with_pandas(self):
        import pandas
        monitor = PerformanceMonitor()
        with monitor.track("experiment"):
            pass
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "metrics.csv")
            monitor.export_csv(path)
            frame = pandas.read_csv(path)
        self.assertEqual(list(frame.columns[:4]), ["operation", "time", "cpu_mb", "gpu_mb"])
        self.assertEqual(list(frame["operation"]), ["experiment"])


if __name__ == "__main__":
    unittest.main()
