"""What the layers really are: weights and arithmetic, the kernel of the attention, what offloading moves."""
from __future__ import annotations

import os
import sys
import tempfile
import unittest

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch
from torch import nn

from genscope import hooks

hooks.install(["torch", "diffusers", "accelerate"])

import tiny
from genscope.hooks.diffusers_arithmetic import Arithmetic, arithmetic_of
from recorded import RecordedCase


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.LayerNorm(64)).to(torch.bfloat16)


def layer(name: str, weight=None, **attributes):
    """A double of a layer of a library that is not installed here, by the names that it has there."""
    kind = type(name, (nn.Module,), {})
    made = kind()
    made.in_features, made.out_features = 64, 64
    for key, value in {"weight": weight, **attributes}.items():
        setattr(made, key, value)
    return made


def weight(kind: str, **attributes):
    made = type(kind, (), {})()
    for key, value in attributes.items():
        setattr(made, key, value)
    return made


class Layers(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(arithmetic_of(model()), Arithmetic("", "bf16", "bf16", 0.0))
        self.assertIsNone(arithmetic_of(nn.LayerNorm(8)))

    def test_autocast(self):
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(arithmetic_of(model().float()), Arithmetic("", "fp32", "bf16", 0.0))

    def test_torchao(self):
        from torchao.quantization import (Int8DynamicActivationInt8WeightConfig, Int8WeightOnlyConfig,
                                          quantize_)
        weights, both = model(), model()
        quantize_(weights, Int8WeightOnlyConfig())
        quantize_(both, Int8DynamicActivationInt8WeightConfig())
        self.assertEqual(arithmetic_of(weights), Arithmetic("torchao", "int8", "bf16", 1.0))
        self.assertEqual(arithmetic_of(both), Arithmetic("torchao", "int8", "int8", 1.0))

    def test_some_layers_alone(self):
        from torchao.quantization import Int8WeightOnlyConfig, quantize_
        made = model()
        quantize_(made, Int8WeightOnlyConfig(), filter_fn=lambda part, name: name == "0")
        self.assertEqual(arithmetic_of(made), Arithmetic("torchao", "int8", "bf16", 0.5))

    def test_quanto(self):
        from optimum.quanto import freeze, qint8, quantize
        made = model()
        quantize(made, weights=qint8)
        freeze(made)
        self.assertEqual(arithmetic_of(made), Arithmetic("quanto", "int8", "bf16", 1.0))

    def test_layerwise_casting(self):
        from diffusers.hooks import apply_layerwise_casting
        made = model()
        apply_layerwise_casting(made, torch.float8_e4m3fn, torch.bfloat16, skip_modules_pattern=None)
        self.assertEqual(arithmetic_of(made), Arithmetic("diffusers", "fp8_e4m3", "bf16", 1.0))

    def test_by_the_names_of_others(self):
        q4 = weight("GGUFParameter", quant_type=weight("GGMLQuantizationType", name="Q4_K"))
        scales = weight("Tensor", dtype=torch.bfloat16)
        for part, expected in (
                (layer("Linear4bit", weight("Params4bit", quant_type="nf4"), compute_dtype=torch.bfloat16),
                 Arithmetic("bitsandbytes", "nf4", "bf16", 1.0)),
                (layer("Linear8bitLt", weight("Int8Params")), Arithmetic("bitsandbytes", "int8", "int8", 1.0)),
                (layer("GGUFLinear", q4, compute_dtype=torch.float16), Arithmetic("gguf", "q4_k", "fp16", 1.0)),
                (layer("SVDQW4A4Linear", precision="nvfp4"), Arithmetic("nunchaku", "fp4", "fp4", 1.0)),
                (layer("SVDQW4A4Linear", precision="int4"), Arithmetic("nunchaku", "int4", "int4", 1.0)),
                (layer("AWQW4A16Linear", wscales=scales), Arithmetic("nunchaku", "int4", "bf16", 1.0))):
            with self.subTest(expected=expected):
                self.assertEqual(arithmetic_of(nn.Sequential(part)), expected)


class Pipelines(RecordedCase):
    def test_what_was_not_told_is_seen(self):
        from torchao.quantization import Int8DynamicActivationInt8WeightConfig, quantize_
        pipe, arguments = tiny.flux(2)
        plain = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_facts(plain, ['model.quant[denoiser] == "none"', 'set.compute_dtype == "fp32"',
                                  'model.arithmetic[denoiser] == "fp32"', "model.quantised_share[denoiser] == 0"])
        quantize_(pipe.transformer, Int8DynamicActivationInt8WeightConfig())
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assert_facts(run, ['model.quant[denoiser] == "torchao"', 'model.weights[denoiser] == "int8"',
                                'set.compute_dtype == "int8"', "model.quantised_share[denoiser] > 0.9"])

    def test_the_kernel_of_the_attention(self):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        before = nn.functional.scaled_dot_product_attention
        for backend, word in ((SDPBackend.MATH, "math"), (SDPBackend.FLASH_ATTENTION, "flash")):
            pipe, arguments = tiny.flux(2)
            with sdpa_kernel(backend):
                run = self.record(lambda: tiny.run(pipe, arguments))
            self.assert_facts(run, [f'set.attn_kernel == "{word}"', 'set.attn == "sdpa"'])
            self.assertIs(nn.functional.scaled_dot_product_attention, before)

    def test_what_compiling_meets_is_torchs_own(self):
        pipe, arguments = tiny.flux(2)
        seen = []

        def backend(graph, inputs):
            seen.append(nn.functional.scaled_dot_product_attention)
            return graph.forward
        before = nn.functional.scaled_dot_product_attention
        pipe.transformer.compile(backend=backend)
        self.record(lambda: tiny.run(pipe, arguments))
        self.assertEqual(set(seen), {before})

    def test_weights_from_a_disk_are_counted_by_stage(self):
        from accelerate import disk_offload
        pipe, arguments = tiny.flux(2)
        plain = tiny.run(pipe, arguments)
        size = sum(p.numel() * p.element_size() for p in pipe.transformer.parameters())
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
            disk_offload(pipe.transformer, folder, execution_device=torch.device("cpu"))
            disk_offload(pipe.vae, other, execution_device=torch.device("cpu"))
            run = self.record(lambda: tiny.run(pipe, arguments))
        self.assertEqual(self.result.tobytes(), plain.tobytes())
        (denoise,) = run.of("stage", "denoise")
        (request,) = run.of("request")
        (decode,) = run.of("stage", "vae_decode")
        self.assertEqual(denoise["args"]["offload_bytes"], 2 * size)
        self.assertGreater(decode["args"]["offload_bytes"], 0)
        self.assertEqual(request["args"]["offload_bytes"], 2 * size + decode["args"]["offload_bytes"])

    def test_nothing_moves_on_one_device(self):
        from accelerate import cpu_offload
        pipe, arguments = tiny.flux(2)
        for part in (pipe.transformer, pipe.vae):
            cpu_offload(part, execution_device=torch.device("cpu"))
        run = self.record(lambda: tiny.run(pipe, arguments))
        self.assertNotIn("offload_bytes", run.of("request")[0]["args"])

    def test_a_whole_model_that_moves(self):
        from accelerate.hooks import CpuOffload
        from genscope.hooks import diffusers_calls
        moved = []
        saw, hook = diffusers_calls.saw_traffic, CpuOffload(torch.device("meta"))
        from genscope.hooks import diffusers_traffic
        diffusers_traffic.saw_traffic = moved.append
        try:
            made = model()
            hook.pre_forward(made)  # to a device that is not the CPU
            hook.pre_forward(made)  # it is there
        finally:
            diffusers_traffic.saw_traffic = saw
        self.assertEqual(moved, [2 * (2 * 64 * 128 + 128 + 64 + 2 * 64)])


if __name__ == "__main__":
    unittest.main()
