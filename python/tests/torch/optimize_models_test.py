"""The adapters of ModelManager with real models on the CPU: torch modules, tiny diffusers pipelines."""
import gc
import pathlib
import shutil
import tempfile
import threading
import unittest
import weakref

import numpy
import torch

import tiny
from genscope.optimize import ModelError, ModelManager, diffusers_pipeline, torch_model


class TorchModelTest(unittest.TestCase):
    def test_a_module_is_measured_used_and_really_freed(self):
        with ModelManager(3_000_000) as manager:
            # 1,001,000 parameters of 2 bytes: two of them do not fit.
            for name, dtype in (("a", "float16"), ("b", torch.float16)):
                manager.register(name, torch_model(lambda: torch.nn.Linear(1000, 1000), dtype=dtype),
                                 bytes=2_002_000)
            with manager.lease("a") as model:
                self.assertFalse(model.training)
                self.assertEqual(next(model.parameters()).dtype, torch.float16)
                self.assertEqual(manager.ledger()["models"][0]["reserved_bytes"], 2 * 1_001_000)
                first = weakref.ref(model)
            del model
            with manager.lease("b"):
                gc.collect()
                self.assertIsNone(first())
            self.assertEqual(manager.stats()["evictions"], 1)

    def test_a_wrong_dtype_is_said(self):
        with ModelManager("1GB") as manager:
            manager.register("a", torch_model(lambda: torch.nn.Linear(2, 2), dtype="float17"))
            with self.assertRaisesRegex(ModelError, "torch has no dtype float17"):
                manager.take("a")


class PipelineTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="genscope-models-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def saved(self, make):
        pipe, arguments = make()
        arguments["num_inference_steps"] = 2
        folder = self.folder / make.__name__
        pipe.save_pretrained(folder)
        return folder, pipe, arguments

    def image(self, pipe, arguments):
        pipe.set_progress_bar_config(disable=True)
        seeded = {**arguments, "generator": torch.Generator().manual_seed(7)}
        return numpy.asarray(pipe(**seeded).images[0])

    def test_pipelines_swap_and_give_the_same_images(self):
        made = {make.__name__: self.saved(make) for make in (tiny.sdxl, tiny.flux)}
        sizes = {}
        for name, (folder, _, _) in made.items():
            sizes[name] = diffusers_pipeline(folder).bytes
            self.assertGreater(sizes[name], 10_000)
        with ModelManager(int(max(sizes.values()) * 1.2)) as manager:
            for name, (folder, _, _) in made.items():
                # The tiny ones are without text encoders, which FLUX wants to be told.
                parts = made[name][1].components
                left_out = {part: None for part in parts if parts[part] is None}
                manager.register(name, diffusers_pipeline(folder, **left_out))
            for name in ("sdxl", "flux", "sdxl"):
                _, original, arguments = made[name]
                with manager.lease(name, timeout=300) as pipe:
                    self.assertIsNot(pipe, original)
                    numpy.testing.assert_array_equal(self.image(pipe, arguments),
                                                     self.image(original, arguments))
                row = next(r for r in manager.ledger()["models"] if r["model"] == name)
                weights = sum(p.numel() * p.element_size()
                              for part in original.components.values() if isinstance(part, torch.nn.Module)
                              for p in part.parameters())
                self.assertGreaterEqual(row["learned_bytes"], weights)
                self.assertLess(row["learned_bytes"], weights * 1.1)
            self.assertEqual(manager.stats()["loads"], 3)
            self.assertEqual(manager.stats()["evictions"], 2)

    def test_threads_share_one_load(self):
        folder, _, arguments = self.saved(tiny.sdxl)
        with ModelManager("1GB", slots=1) as manager:  # one at a time: pipelines share a scheduler
            manager.register("sdxl", diffusers_pipeline(folder))
            images = []

            def work():
                with manager.lease("sdxl") as pipe:
                    images.append(self.image(pipe, arguments))
            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(manager.stats()["loads"], 1)
            self.assertEqual(len(images), 3)
            for image in images[1:]:
                numpy.testing.assert_array_equal(image, images[0])

    def test_a_missing_folder_says_how_to_get_it(self):
        missing = self.folder / "not there"
        with self.assertRaisesRegex(FileNotFoundError, "downloads nothing; to get one: hf download"):
            diffusers_pipeline(missing)
        missing.mkdir()
        with self.assertRaisesRegex(FileNotFoundError, "has no model_index.json"):
            diffusers_pipeline(missing)

    def test_a_broken_folder_fails_the_lease_with_its_cause(self):
        folder, _, _ = self.saved(tiny.sdxl)
        for weights in folder.glob("unet/*.safetensors"):
            weights.write_bytes(b"no weights")
        with ModelManager("1GB") as manager:
            manager.register("sdxl", diffusers_pipeline(folder))
            with self.assertRaisesRegex(ModelError, "could not be loaded") as caught:
                manager.take("sdxl")
            self.assertIsNotNone(caught.exception.__cause__)


if __name__ == "__main__":
    unittest.main()
