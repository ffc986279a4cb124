#!/usr/bin/env python3
"""`genscope inspect --json` over files that generate.py makes. GENSCOPE_BIN: the command."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import catalogue
import encoders
import generate
import image_denoisers as image
import original
import unets

GENSCOPE = os.environ["GENSCOPE_BIN"]


def inspect(path, *options):
    done = subprocess.run([GENSCOPE, "inspect", str(path), *options], capture_output=True, text=True,
                          timeout=60)
    return done.returncode, done.stdout, done.stderr


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="genscope-models-")
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)

    def model(self, path):
        code, out, err = inspect(path, "--json")
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def file(self, name, tensors, **how):
        path = self.root / name
        generate.write_safetensors(path, tensors, **how)
        return path

    def compare(self, entries):
        for name, (net, expected) in entries.items():
            with self.subTest(name):
                model = self.model(self.file(f"{name}.safetensors", net.tensors))
                part, = model["components"]
                found = {**part["identity"], **{key: part[key] for key in
                                                ("parameters", "tensors", "elements")}}
                for key, value in expected.items():
                    if value is not None:
                        self.assertEqual(found[key], value, key)
                self.assertEqual(found["confidence"], "medium" if name.startswith("unet-") else
                                 "high")
                self.assertEqual(model["bytes"], 2 * found["elements"])


class Catalogue(Case):
    def test_releases_have_their_exact_counts(self):
        self.assertGreaterEqual(len(catalogue.RELEASES), 20)
        self.compare(catalogue.RELEASES)

    def test_every_family_in_both_namings(self):
        self.compare(catalogue.TINY)

    def test_sizes_of_every_denoiser_are_read(self):
        for name, (net, expected) in catalogue.RELEASES.items():
            part, = self.model(self.file("m.safetensors", net.tensors))["components"]
            if part["identity"]["family"] not in ("mmdit", "dit"):
                continue
            for key in ("width", "layers", "heads", "ffn_width", "in_channels", "out_channels",
                        "patch", "text_width"):
                self.assertGreater(part["identity"]["dimensions"].get(key, 0), 0, f"{name} {key}")


class Containers(Case):
    def pipeline(self):
        """A diffusers folder with sharded and plain parts, a scheduler and a tokenizer."""
        parts = {"_class_name": "FluxPipeline",
                 "transformer": ["diffusers", "FluxTransformer2DModel"],
                 "vae": ["diffusers", "AutoencoderKL"],
                 "text_encoder": ["transformers", "CLIPTextModel"],
                 "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
                 "tokenizer": ["transformers", "CLIPTokenizer"]}
        (self.root / "model_index.json").write_text(json.dumps(parts))
        tensors = image.flux(single=1, **catalogue.SMALL).tensors
        names, half = list(tensors), len(tensors) // 2
        index = {"metadata": {"total_size": 0}, "weight_map": {}}
        for i, group in enumerate((names[:half], names[half:])):
            shard = f"diffusion_pytorch_model-0000{i + 1}-of-00002.safetensors"
            self.file(f"transformer/{shard}", {name: tensors[name] for name in group})
            index["weight_map"].update(dict.fromkeys(group, shard))
        (self.root / "transformer/diffusion_pytorch_model.safetensors.index.json").write_text(
            json.dumps(index))
        (self.root / "transformer/config.json").write_text('{"_class_name":"FluxTransformer2DModel"}')
        self.file("vae/diffusion_pytorch_model.safetensors", unets.kl((16, 32), 16).tensors)
        self.file("text_encoder/model.safetensors", encoders.clip(768, 1, words=50).tensors)
        for place, name in (("scheduler", "scheduler_config"), ("tokenizer", "tokenizer_config")):
            (self.root / place).mkdir()
            (self.root / place / f"{name}.json").write_text("{}")
        return self.root, tensors

    def test_a_diffusers_folder(self):
        path, tensors = self.pipeline()
        model = self.model(path)
        self.assertEqual(model["pipeline_class"], "FluxPipeline")
        self.assertEqual(model["container"], "folder")
        self.assertEqual(model["identity"]["architecture"], "flux")
        families = {part["name"]: part["identity"]["family"] for part in model["components"]}
        self.assertEqual(families, {"transformer": "mmdit", "vae": "vae",
                                    "text_encoder": "text_encoder", "scheduler": "scheduler",
                                    "tokenizer": "tokenizer"})
        transformer = model["components"][0]
        self.assertEqual(transformer["tensors"], len(tensors))
        self.assertEqual(transformer["class"], "FluxTransformer2DModel")
        self.assertIn("class FluxTransformer2DModel", transformer["identity"]["evidence"])
        shards = [name for name in transformer["files"] if name.endswith(".safetensors")]
        self.assertEqual(len(shards), 2)
        listed = json.loads(inspect(path, "--json", "--tensors")[1])["tensors"]
        self.assertEqual(len(listed), sum(part["tensors"] for part in model["components"]))

    def test_a_class_that_contradicts_the_tensors(self):
        self.file("model.safetensors", original.flux().tensors)
        (self.root / "config.json").write_text('{"_class_name":"WanTransformer3DModel"}')
        part, = self.model(self.root)["components"]
        self.assertEqual(part["identity"]["architecture"], "flux")
        self.assertEqual(part["identity"]["confidence"], "medium")

    def test_a_lora(self):
        tensors = {}
        for name in ("lora_unet_double_blocks_0_img_attn_qkv", "lora_te1_layer"):
            tensors |= {f"{name}.lora_down.weight": [16, 3072], f"{name}.lora_up.weight": [96, 16],
                        f"{name}.alpha": []}
        model = self.model(self.file("lora.safetensors", tensors))
        self.assertEqual(model["identity"]["family"], "lora")
        self.assertEqual(model["components"][0]["lora"],
                         {"kind": "lora", "ranks": [16], "modules": 2, "target": "flux",
                          "text_encoder": True})

    def test_a_checkpoint_of_several_parts(self):
        tensors = {}
        for prefix, net in (("model.diffusion_model.", original.unet()),
                            ("first_stage_model.", original.kl()),
                            ("cond_stage_model.transformer.", encoders.clip(768, 1, words=50))):
            tensors |= {prefix + name: shape for name, shape in net.tensors.items()}
        model = self.model(self.file("all.safetensors", tensors, dtype="F16"))
        found = [(part["name"], part["identity"]["architecture"]) for part in model["components"]]
        self.assertEqual(found, [("diffusion_model", "sd1"), ("vae", "vae_kl"),
                                 ("text_encoder", "clip_text")])
        self.assertEqual(model["identity"]["architecture"], "sd1")

    def test_fp8(self):
        tensors = image.qwen_image(**catalogue.SMALL).tensors
        wide = {name: "F8_E4M3" for name, shape in tensors.items() if len(shape) == 2}
        model = self.model(self.file("fp8.safetensors", tensors, dtypes=wide))
        self.assertEqual(model["components"][0]["quantisation"], "fp8 e4m3")


class Command(Case):
    def test_text_names_the_model_and_its_parts(self):
        path = self.file("m.safetensors", image.flux(single=1, **catalogue.SMALL).tensors)
        code, out, _ = inspect(path)
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith("FLUX.1 with guidance, of another depth  flux dev, mmdit\n"), out)
        for word in ("confidence  high", "PARAMETERS", "bf16", "2+1", "Evidence",
                     "x_embedder.weight [32, 64]"):
            self.assertIn(word, out)

    def test_unknown_is_an_answer(self):
        path = self.file("m.safetensors", {"tower.0.kernel": [4, 4], "tower.0.bias": [4]})
        code, out, _ = inspect(path)
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith("unknown\n"), out)
        self.assertIn("no rule fits the names of 2 tensors", out)
        self.assertIsNone(self.model(path)["identity"]["architecture"])

    def test_tensors_are_listed_on_request(self):
        path = self.file("m.safetensors", {"tower.0.kernel": [4, 5]})
        self.assertIn("[4, 5]", inspect(path, "--tensors")[1])
        listed = json.loads(inspect(path, "--tensors", "--json")[1])["tensors"]
        self.assertEqual(listed, [{"file": str(path), "name": "tower.0.kernel", "dtype": "bf16",
                                   "shape": [4, 5], "bytes": 40}])
        self.assertNotIn("tensors", self.model(path))

    def test_a_path_that_is_not_there(self):
        code, out, err = inspect(self.root / "absent.safetensors")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("absent.safetensors", err)

    def test_a_file_that_is_no_model(self):
        path = self.root / "text.safetensors"
        path.write_text("not a model, but long enough to look at")
        code, _, err = inspect(path)
        self.assertEqual(code, 2)
        self.assertIn("text.safetensors", err)


if __name__ == "__main__":
    unittest.main()
