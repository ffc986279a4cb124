"""What is put onto a pipeline: LoRAs, ControlNets, single files, quantised weights; real classes."""
from __future__ import annotations

import logging
import os
import sys
import tempfile
import unittest
import warnings
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch

import tiny
from recorded import Recorded, RecordedCase

logging.getLogger("diffusers").setLevel(logging.ERROR)
warnings.simplefilter("ignore")

# Before any hook is installed.
PLAIN = {"flux": tiny.run(*tiny.flux()), "controlnet": tiny.run(*tiny.controlnet())}

from genscope import hooks

hooks.install(["torch", "diffusers"])


class Lora(RecordedCase):
    def setUp(self):
        self.pipe, self.arguments = tiny.flux(2)

    def call(self):
        return tiny.run(self.pipe, self.arguments)

    def load(self, name: str, seed: int) -> None:
        self.pipe.load_lora_weights(tiny.lora(self.pipe.transformer, seed), adapter_name=name)

    def changes(self, run: Recorded) -> "list[str]":
        return [s["args"]["change"] for s in run.of("stage", "lora_switch")]

    def test_one_that_stays_should_be_fused(self):
        plain = self.call()

        def work():
            self.call()  # a warm-up without it
            self.load("one", 1)
            return [self.call() for _ in range(3)]
        run = self.record(work)
        self.assertNotEqual(self.result[0].tobytes(), plain.tobytes())
        self.assertEqual(self.result[0].tobytes(), self.result[2].tobytes())
        (load,) = run.of("load", "lora")
        self.assertNotIn("file", load["args"])  # it came from memory
        self.assert_facts(run, ["lora.active == 1", "lora.loaded == 1", "!lora.fused",
                                "lora.switches == 0"])
        self.assert_advice(run, {"LORA-UNFUSED"})

    def test_fused_and_unloaded(self):
        self.load("one", 1)
        unfused = self.call()

        def work():
            self.pipe.fuse_lora(components=["transformer"])
            first = self.call()
            self.pipe.unload_lora_weights()  # what was fused stays in the weights
            return first, self.call()
        run = self.record(work)
        for image in self.result:
            self.assertLess(abs(image - unfused).max(), 1e-4)
        self.assertEqual(self.changes(run), ["fuse_lora", "unload_lora_weights"])
        self.assert_facts(run, ["lora.active == 1", "lora.fused", "lora.switches == 0"])
        self.assertNotIn("LORA-UNFUSED", run.advice())

        run = self.record(self.call)
        self.assert_facts(run, ["lora.active == 1", "lora.loaded == 0", "lora.fused"])

    def test_unfused_again(self):
        self.load("one", 1)
        self.pipe.fuse_lora(components=["transformer"])
        self.pipe.unfuse_lora(components=["transformer"])
        run = self.record(self.call)
        self.assert_facts(run, ["lora.active == 1", "!lora.fused"])
        self.assert_advice(run, {"LORA-UNFUSED"})

    def test_switches_are_counted_where_pictures_change(self):
        self.load("one", 1)
        self.load("two", 2)

        def work():
            self.pipe.set_adapters("one")
            self.call()  # set-up until here
            self.pipe.set_adapters(["one", "two"], [1.0, 0.5])
            self.call()
            self.pipe.set_adapters(["one", "two"], [1.0, 0.7])
            self.pipe.set_adapters(["one", "two"], [1.0, 0.2])  # of two, the last counts
            self.call()
            self.pipe.disable_lora()
            self.call()
            self.pipe.enable_lora()
            self.call()
            self.call()
        run = self.record(work)
        self.assertEqual(self.changes(run),
                         ["set_adapters"] * 4 + ["disable_lora", "enable_lora"])
        self.assert_facts(run, ["lora.loaded == 2", "lora.switches == 4"])
        self.assertNotIn("LORA-UNFUSED", run.advice())

    def test_another_file_under_the_same_name(self):
        def work():
            for seed in (1, 2, 3):
                self.load("one", seed)
                self.call()
                self.pipe.unload_lora_weights()
        run = self.record(work)
        self.assertEqual(len(run.of("load", "lora")), 3)
        self.assert_facts(run, ["lora.switches == 2"])

    def test_both_at_once_and_none(self):
        self.load("one", 1)
        self.load("two", 2)
        self.pipe.set_adapters(["one", "two"])
        run = self.record(self.call)
        self.assert_facts(run, ["lora.active == 2"])
        self.pipe.disable_lora()
        run = self.record(self.call)
        self.assert_facts(run, ["lora.active == 0", "lora.loaded == 2"])
        self.assertNotIn("LORA-UNFUSED", run.advice())
        self.pipe.delete_adapters(["one", "two"])
        run = self.record(self.call)
        self.assert_facts(run, ["lora.active == 0", "lora.loaded == 0"])

    def test_from_a_file(self):
        import safetensors.torch
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "pixel.safetensors")
            safetensors.torch.save_file(tiny.lora(self.pipe.transformer, 1), path)
            size = os.path.getsize(path)
            run = self.record(lambda: self.pipe.load_lora_weights(
                folder, weight_name="pixel.safetensors", adapter_name="pixel"))
        (load,) = run.of("load", "lora")
        self.assertEqual((load["args"]["file"], load["args"]["bytes"]), (path, size))

    def test_one_that_is_none(self):
        def work():
            with self.assertRaises(Exception):
                self.pipe.load_lora_weights({"nothing.of.the.kind": torch.zeros(1)})
            self.call()
        run = self.record(work)
        (load,) = run.of("load", "lora")
        self.assertIn("failed", load["flags"])
        self.assert_facts(run, ["lora.active == 0"])


class ControlNet(RecordedCase):
    def test_stages_and_passes(self):
        pipe, arguments = tiny.controlnet()
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assertEqual(self.result.tobytes(), PLAIN["controlnet"].tobytes())
        (request,) = run.of("request", "StableDiffusionControlNetPipeline")
        self.assertEqual(run.stages(request), ["text_encode", "denoise", "vae_decode", "post"])
        (denoise,) = run.of("stage", "denoise")
        steps = run.children(denoise, "step")
        self.assertEqual(len(steps), 4)
        for step in steps:
            self.assertEqual([(s["kind"], s["name"]) for s in run.children(step)],
                             [("function", "controlnet"), ("forward", "unet"),
                              ("function", "scheduler.step")])
        self.assertEqual([s for s in run.spans if "failed" in s["flags"]], [])
        self.assert_facts(run, ["utilisation.forwards_per_step == 1", 'model.family[denoiser] == "unet"',
                                "set.steps == 4"])

    def test_two_of_them(self):
        from diffusers.models.controlnets.multicontrolnet import MultiControlNetModel
        pipe, arguments = tiny.controlnet()
        pipe.controlnet = MultiControlNetModel([pipe.controlnet, pipe.controlnet])
        image = arguments["image"]
        run = self.record(lambda: tiny.run(pipe, {
            **arguments, "image": [image, image], "controlnet_conditioning_scale": [0.5, 0.5]}))
        self.assertEqual(len(run.of("function", "controlnet")), 4)
        self.assertEqual(len(run.of("forward", "unet")), 4)


class SingleFile(RecordedCase):
    """A checkpoint of one file, with the configuration from a folder: nothing is asked of a hub."""

    def test_a_transformer(self):
        from diffusers import FluxTransformer2DModel
        pipe, arguments = tiny.flux()
        with tempfile.TemporaryDirectory() as folder:
            pipe.transformer.save_pretrained(folder)
            path = os.path.join(folder, "flux1.safetensors")
            os.rename(os.path.join(folder, "diffusion_pytorch_model.safetensors"), path)
            size = os.path.getsize(path)

            def work():
                pipe.transformer = FluxTransformer2DModel.from_single_file(path, config=folder)
                return tiny.run(pipe, arguments)
            run = self.record(work)
        self.assertEqual(self.result.tobytes(), PLAIN["flux"].tobytes())
        (load,) = run.of("load")
        self.assertEqual((load["name"], load["args"]["file"], load["args"]["bytes"]),
                         ("FluxTransformer2DModel", path, size))
        self.assertEqual(load["flags"], [])
        self.assert_facts(run, ["loads.bytes_per_second > 0", "loads.repeats == 0"])

    def test_one_that_is_not_there(self):
        from diffusers import AutoencoderKL

        def work():
            with self.assertRaises(Exception):
                AutoencoderKL.from_single_file("/nowhere/at/all.safetensors", config="/nowhere")
        (load,) = self.record(work).of("load", "AutoencoderKL")
        self.assertIn("failed", load["flags"])
        self.assertNotIn("bytes", load["args"])


class Quantised(RecordedCase):
    """Backends that run without a GPU. bitsandbytes needs one: its configuration alone is read."""

    def check(self, config, word: str) -> None:
        from diffusers import FluxTransformer2DModel
        pipe, arguments = tiny.flux(2)
        plain = sum(p.numel() * p.element_size() for p in pipe.transformer.parameters())
        with tempfile.TemporaryDirectory() as folder:
            pipe.transformer.save_pretrained(folder)
            pipe.transformer = FluxTransformer2DModel.from_pretrained(
                folder, quantization_config=config, torch_dtype=torch.float32)
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assertEqual(len(run.of("forward", "transformer")), 2)
        # One byte for a weight, where there were four; the rest of the model is small.
        self.assert_facts(run, [f'model.quant[denoiser] == "{word}"', 'model.quant[vae] == "none"',
                                f"model.bytes[denoiser] < {plain // 2}",
                                f"model.bytes[denoiser] > {plain // 5}"])

    def test_quanto(self):
        from diffusers import QuantoConfig
        self.check(QuantoConfig(weights_dtype="int8"), "quanto")

    def test_torchao(self):
        from diffusers import TorchAoConfig
        from torchao.quantization import Int8WeightOnlyConfig
        self.check(TorchAoConfig(Int8WeightOnlyConfig()), "torchao")

    def test_words_of_the_configurations(self):
        from diffusers import BitsAndBytesConfig, GGUFQuantizationConfig
        from genscope.hooks.diffusers_models import quantisation
        # The configuration asks for the package's version; nothing else of it is needed to read it.
        with mock.patch("importlib.metadata.version", lambda name: "0.48.0"):
            self._check_words(quantisation, BitsAndBytesConfig, GGUFQuantizationConfig)

    def _check_words(self, quantisation, BitsAndBytesConfig, GGUFQuantizationConfig):
        for config, word in ((BitsAndBytesConfig(load_in_8bit=True), "int8"),
                             (BitsAndBytesConfig(load_in_4bit=True), "fp4"),
                             (BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4"), "nf4"),
                             (GGUFQuantizationConfig(), "gguf")):
            pipe, _ = tiny.flux()
            pipe.transformer.register_to_config(quantization_config=config)
            self.assertEqual(quantisation(pipe.transformer), word)
            pipe.transformer.register_to_config(quantization_config=config.to_dict())
            self.assertEqual(quantisation(pipe.transformer), word)


if __name__ == "__main__":
    unittest.main()
