"""A tiny Stable Diffusion of the real classes with random weights: no file, no network, milliseconds a step.

Put your own here: `DiffusionPipeline.from_pretrained(folder)`.
"""
import json
import os
import string
import tempfile

import torch
from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

LETTERS = string.ascii_lowercase + string.digits + ".,-"


def tokenizer():
    words = [*LETTERS, *(c + "</w>" for c in LETTERS), "<|startoftext|>", "<|endoftext|>"]
    with tempfile.TemporaryDirectory() as folder:
        vocab, merges = os.path.join(folder, "vocab.json"), os.path.join(folder, "merges.txt")
        with open(vocab, "w") as file:
            json.dump({word: i for i, word in enumerate(words)}, file)
        with open(merges, "w") as file:
            file.write("#version: 0.2\n")
        return CLIPTokenizer(vocab, merges, model_max_length=77), len(words)


def load(seed=0):
    torch.manual_seed(seed)
    made, count = tokenizer()
    text = CLIPTextModel(CLIPTextConfig(
        vocab_size=count, hidden_size=32, intermediate_size=37, projection_dim=32, num_hidden_layers=2,
        num_attention_heads=4, bos_token_id=0, eos_token_id=count - 1, pad_token_id=1))
    unet = UNet2DConditionModel(
        block_out_channels=(32, 64), layers_per_block=1, sample_size=16, in_channels=4, out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), cross_attention_dim=32, norm_num_groups=1)
    vae = AutoencoderKL(
        block_out_channels=(8, 16), layers_per_block=1, latent_channels=4, norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)
    pipe = StableDiffusionPipeline(
        vae=vae.eval(), text_encoder=text.eval(), tokenizer=made, unet=unet.eval(),
        scheduler=DDIMScheduler(clip_sample=False, steps_offset=1), safety_checker=None,
        feature_extractor=None, requires_safety_checker=False)
    pipe.set_progress_bar_config(disable=True)
    return pipe
