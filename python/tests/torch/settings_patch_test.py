#!/usr/bin/env python3
"""What `genscope advise --apply diffusers` prints does what it says, on real pipelines."""
import pathlib
import re
import unittest

import torch

import tiny

RULES = pathlib.Path(__file__).parents[3] / "src/advise/rules"


def patches():
    """{rule: its lines for diffusers}"""
    found = {}
    for path in RULES.glob("*.yaml"):
        for rule in re.split(r"(?m)^  - id: ", path.read_text())[1:]:
            lines = re.search(r"(?m)^      diffusers: \|-\n((?:        .*\n)+)", rule + "\n")
            if lines:
                found[rule.split()[0]] = re.sub(r"(?m)^ {8}", "", lines.group(1))
    return found


def carry_out(rule, make):
    """A pipeline with the rule's patch, and what it makes; its arguments as the patch changes them."""
    pipe, arguments = make()
    names = {"torch": torch, "pipe": pipe, "call": {}}
    exec(compile(patches()[rule], rule, "exec"), names)
    arguments.update(names["call"])
    if rule not in DTYPES:  # the arguments hold fp32 embeddings
        arguments["num_inference_steps"] = min(arguments["num_inference_steps"], 2)
        names["pipe"](**arguments)
    return names["pipe"], names["call"]


DTYPES = {"DT-FP32", "DT-BF16-OLD", "VAE-FP32"}


class Patches(unittest.TestCase):
    # What runs without a GPU and without packages that are not installed.
    UNET = ["ATT-SLICE", "ATT-MATH", "DT-FP32", "DT-TF32", "VAE-OOM", "VAE-SLICE", "VAE-TILE-NEEDLESS", "CONV-LAYOUT", "CUDNN-TUNE",
            "CKPT-INFER", "QKV-FUSE", "STEP-DISTIL", "VAE-FP32", "DT-BF16-OLD"]
    DIT = ["ATT-MATH", "DT-FP32", "STEP-CACHE", "FP8-STORE", "STEP-DISTIL", "TXT-PAD", "CKPT-INFER"]

    def test_all_parse(self):
        self.assertGreater(len(patches()), 20)
        for rule, lines in patches().items():
            with self.subTest(rule):
                compile(lines, rule, "exec")

    def test_on_a_unet(self):
        for rule in self.UNET:
            with self.subTest(rule):
                carry_out(rule, tiny.sdxl)

    def test_on_a_transformer(self):
        for rule in self.DIT:
            with self.subTest(rule):
                carry_out(rule, tiny.flux)

    def test_they_change_what_they_say(self):
        self.assertEqual(carry_out("DT-FP32", tiny.flux)[0].transformer.dtype, torch.bfloat16)
        self.assertTrue(carry_out("VAE-OOM", tiny.sdxl)[0].vae.use_tiling)
        self.assertEqual(carry_out("STEP-DISTIL", tiny.flux)[1], {"num_inference_steps": 8})
        self.assertTrue(carry_out("STEP-CACHE", tiny.flux)[0].transformer.is_cache_enabled)


if __name__ == "__main__":
    unittest.main()
