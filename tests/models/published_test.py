#!/usr/bin/env python3
"""`genscope inspect` over published networks, LoRAs for them and what quantisers make of them.

No network may be called by another's name; counts are exact. GENSCOPE_BIN: the command.
"""
import concurrent.futures
import functools
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import generate
import packings
import published
import vocabulary

GENSCOPE = os.environ["GENSCOPE_BIN"]
NETWORKS = published.load()
# Named by what they have in common with others, and not as sure.
GENERIC = {"unet": "UNet", "llama": "Llama (or a model built like it)"}


def ask(case):
    """(name, shapes, dtypes) -> what genscope says of such a file."""
    name, shapes, dtypes = case
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        generate.write_safetensors(pathlib.Path(file.name), shapes, dtypes=dtypes)
        done = subprocess.run([GENSCOPE, "inspect", file.name, "--json"], capture_output=True,
                              text=True, timeout=60)
    return name, json.loads(done.stdout) if done.returncode == 0 else done.stderr


def ask_all(cases):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(pool.map(ask, cases))


class Published(unittest.TestCase):
    def test_none_is_called_by_anothers_name_and_counts_are_without_buffers(self):
        answers = ask_all((name, network["tensors"], {}) for name, network in NETWORKS.items())
        self.assertGreaterEqual(len(answers), 220)
        unknown = []
        for name, network in NETWORKS.items():
            with self.subTest(name):
                identity = answers[name]["identity"]
                expected = network["architecture"]
                self.assertEqual(identity["architecture"], expected, identity["evidence"])
                if expected is None:
                    unknown.append(name)
                    continue
                generic = identity["title"] == GENERIC.get(expected)
                self.assertEqual(identity["confidence"], "medium" if generic else "high",
                                 identity["evidence"])
                if name == "o-wan-animate":  # its blur kernels have no name that says so
                    continue
                self.assertEqual(answers[name]["parameters"],
                                 sum(math.prod(shape) for tensor, shape in
                                     network["tensors"].items()
                                     if tensor not in network["buffers"]))
        # Of those that are no diffusion model some are unknown.
        self.assertFalse([name for name in unknown if NETWORKS[name]["class"].endswith("2DModel")])

    def test_the_vocabulary_is_that_of_these_networks(self):
        self.assertEqual(vocabulary.main(["--check"]), 0)


def lora(layers, style, rank=16):
    ends = {"kohya": ("lora_unet_", "lora_down", "lora_up"), "peft": ("transformer.", "lora_A", "lora_B"),
            "comfy": ("diffusion_model.", "lora_A", "lora_B"), "unet": ("unet.", "lora.down", "lora.up")}
    begin, down, up = ends[style]
    tensors = {}
    for path, shape in layers:
        path = begin + (path.replace(".", "_") if style == "kohya" else path)
        tensors[f"{path}.{down}.weight"] = [rank, *shape[1:]]
        tensors[f"{path}.{up}.weight"] = [shape[0], rank, *(1 for _ in shape[2:])]
        if style == "kohya":
            tensors[f"{path}.alpha"] = []
    return tensors


def layers_of(network, pattern):
    return [(name.removesuffix(".weight"), shape)
            for name, shape in NETWORKS[network]["tensors"].items()
            if name.endswith(".weight") and len(shape) in (2, 4) and re.search(pattern, name)]


# As kohya's musubi-tuner writes them: the names of the authors' code.
HUNYUAN = [(f"double_blocks.{i}.{part}", [3072, width]) for i in range(20) for part, width in
           (("img_attn_qkv", 3072), ("img_mlp.fc1", 3072), ("img_mlp.fc2", 12288),
            ("img_mod.linear", 3072))]
HUNYUAN += [(f"single_blocks.{i}.{part}", [9216, 3072]) for i in range(40)
            for part in ("linear1", "modulation.linear")]
# base, network, layers, styles
LORAS = [
    ("sd1", "sd15", "attn|ff", "kohya unet"), ("sd2", "sd21", "attn|ff", "kohya"),
    ("sdxl", "sdxl", "attn|ff", "kohya unet"), ("sdxl", "o-sdxl", "attn|ff", "kohya"),
    ("flux", "flux-dev", "blocks", "peft comfy"), ("flux", "o-flux-dev", "blocks", "kohya comfy"),
    ("flux2", "flux2-dev", "blocks", "peft"), ("flux2", "o-flux2-dev", "blocks", "kohya comfy"),
    ("qwen_image", "qwen-image", "blocks", "kohya peft comfy"),
    ("qwen_image", "qwen-image", r"attn\.(to|add)", "peft"),
    ("sd3", "sd3-medium", "blocks", "peft"), ("sd3", "o-sd3-medium", "blocks", "kohya"),
    ("hunyuan_video", "hunyuan-video", "blocks", "peft"),
    ("hunyuan_video", "c-hunyuan-video", "blocks", "comfy"),
    ("wan", "wan21-t2v-14b", "blocks", "peft"), ("wan", "o-wan-t2v-14b", "blocks", "kohya comfy"),
    ("wan", "o-wan-t2v-1.3b", "attn", "kohya comfy"), ("wan", "o-wan-5b", "attn", "comfy"),
    ("ltx", "ltx-2b", "blocks", "peft"), ("ltx", "o-ltx-13b", "blocks", "comfy"),
    ("cogvideox", "cogvideox-5b", "attn1", "peft"), ("cogvideox", "cogvideox-2b", "attn1", "peft"),
    ("mochi", "mochi", "blocks", "peft"), ("lumina2", "lumina2", "layers", "peft"),
    ("lumina2", "o-lumina2", "layers", "kohya"), ("z_image", "z-image", "layers", "peft"),
    ("z_image", "o-z-image", "layers", "kohya comfy"), ("pixart", "pixart-sigma", "blocks", "peft"),
    ("sana", "sana-1600m", "attn", "peft"), ("auraflow", "auraflow", "blocks", "peft"),
    ("hidream", "hidream-i1", "blocks", "peft"), ("cosmos", "o-cosmos2-2b", "blocks", "comfy kohya"),
]


class Loras(unittest.TestCase):
    def test_the_base_is_named(self):
        cases = {f"{network} {style} {pattern}": (base, lora(layers_of(network, pattern), style))
                 for base, network, pattern, styles in LORAS for style in styles.split()}
        cases["hunyuan kohya"] = ("hunyuan_video", lora(HUNYUAN, "kohya"))
        answers = ask_all((name, tensors, {}) for name, (_, tensors) in cases.items())
        for name, (base, _) in cases.items():
            with self.subTest(name):
                part, = answers[name]["components"]
                self.assertEqual(part["lora"]["target"], base, part["identity"]["evidence"])
                self.assertEqual(part["identity"]["confidence"], "high")

    def test_several_bases_that_fit_are_all_named(self):
        chroma = lora(layers_of("o-chroma", "blocks"), "kohya")  # FLUX.1 has all of these layers
        _, answer = ask(("chroma", chroma, {}))
        self.assertEqual(answer["identity"]["title"], "LoRA for FLUX.1 or Chroma")
        self.assertEqual(answer["identity"]["confidence"], "medium")


LANGUAGE = r"layers\..*proj"
ALL_LANGUAGE = "proj|embed_tokens|lm_head"
QUANTISED = [
    ("llama31-8b", packings.gptq, LANGUAGE, "gptq 4-bit"),
    ("llama31-8b", functools.partial(packings.gptq, bits=8), LANGUAGE, "gptq 8-bit"),
    ("llama31-8b", packings.awq, LANGUAGE, "awq 4-bit"),
    ("qwen25-vl-7b", packings.awq, LANGUAGE, "awq 4-bit"),
    ("llama31-8b", packings.mlx, ALL_LANGUAGE, "mlx 4-bit"),
    ("llama31-8b", functools.partial(packings.mlx, bits=8), ALL_LANGUAGE, "mlx 8-bit"),
    ("llama31-8b", functools.partial(packings.mlx, group=32), ALL_LANGUAGE, "mlx 4-bit"),
    ("llama31-8b", functools.partial(packings.mlx, group=128), ALL_LANGUAGE, "mlx 4-bit"),
    ("llama31-8b", functools.partial(packings.mlx, bits=6), ALL_LANGUAGE, "mlx 6-bit"),
    ("qwen3-4b", packings.mlx, ALL_LANGUAGE, "mlx 4-bit"),
    ("flux-dev", packings.quanto, "blocks", "quanto int8"),
    ("flux-dev", functools.partial(packings.quanto, dtype="F8_E4M3"), "blocks", "quanto fp8 e4m3"),
    ("flux-dev", packings.quanto_bits, "blocks", "quanto int4"),
    ("flux-dev", functools.partial(packings.quanto_bits, bits=2), "blocks", "quanto int2"),
    ("t5-xxl", packings.quanto, "layer", "quanto int8"),
    ("sdxl", packings.quanto, "attn", "quanto int8"),
    ("flux-dev", packings.torchao, "blocks", "torchao int8"),
    ("flux-dev", functools.partial(packings.torchao, dtype="U8"), "blocks", "torchao int4"),
    ("wan21-t2v-14b", functools.partial(packings.torchao, dtype="F8_E4M3"), "blocks",
     "torchao fp8 e4m3"),
    ("flux-dev", packings.nunchaku, "blocks", "svdquant"),
    ("qwen-image", packings.nunchaku, "blocks", "svdquant"),
    ("flux-dev", packings.compressed, "blocks", "compressed-tensors 4-bit"),
]


class Quantised(unittest.TestCase):
    def test_weights_are_counted_and_the_network_is_named(self):
        cases = []
        for i, (network, packing, pattern, _) in enumerate(QUANTISED):
            def layer(name, packing=packing, pattern=pattern):
                if not re.search(pattern, name):
                    return None
                modulation = packing is packings.nunchaku and re.search(r"norm1|norm\.linear|_mod", name)
                return packings.nunchaku_modulation if modulation else packing
            cases.append((i, *packings.pack(NETWORKS[network]["tensors"], layer)))
        answers = ask_all(cases)
        for i, (network, _, _, scheme) in enumerate(QUANTISED):
            with self.subTest(f"{network} {scheme} {i}"):
                part, = answers[i]["components"]
                plain = NETWORKS[network]
                self.assertEqual(part["parameters"],
                                 sum(math.prod(s) for s in plain["tensors"].values()))
                self.assertEqual(part["quantisation"], scheme)
                self.assertEqual(part["identity"]["architecture"], plain["architecture"])
                self.assertEqual(part["identity"]["confidence"], "high",
                                 part["identity"]["evidence"])


class Classes(unittest.TestCase):
    def test_a_class_that_no_rule_knows_or_that_contradicts_is_not_sure(self):
        for said, sure in (("FluxTransformer2DModel", "high"), ("WanTransformer3DModel", "medium"),
                           ("FluxWithMoreTransformer2DModel", "medium"),
                           ("UNet2DConditionModel", "medium")):
            with self.subTest(said), tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                generate.write_safetensors(root / "model.safetensors",
                                           NETWORKS["flux-dev"]["tensors"])
                (root / "config.json").write_text(json.dumps({"_class_name": said}))
                done = subprocess.run([GENSCOPE, "inspect", folder, "--json"], text=True,
                                      capture_output=True, timeout=60)
                identity = json.loads(done.stdout)["identity"]
                self.assertEqual((identity["architecture"], identity["confidence"]), ("flux", sure))
                self.assertIn(said, " ".join(identity["evidence"]))


if __name__ == "__main__":
    unittest.main()
