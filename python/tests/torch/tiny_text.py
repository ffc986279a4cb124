"""Tiny pipelines of the real classes that take prompts: tokenizers and text encoders too, with random
weights, made without a network. Each function gives (pipeline, arguments without a generator)."""
from __future__ import annotations

import json
import os
import string
import tempfile

import torch

import tiny

_FOLDER = tempfile.TemporaryDirectory(prefix="genscope-tiny-")
_LETTERS = string.ascii_lowercase + string.digits + ".,-"


def _written(name: str, text: str) -> str:
    path = os.path.join(_FOLDER.name, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def clip_tokenizer():
    from transformers import CLIPTokenizer
    words = [*_LETTERS, *(c + "</w>" for c in _LETTERS), "<|startoftext|>", "<|endoftext|>"]
    vocab = _written("vocab.json", json.dumps({word: i for i, word in enumerate(words)}))
    return CLIPTokenizer(vocab, _written("merges.txt", "#version: 0.2\n"), model_max_length=77)


def _clip_config(width: int):
    from transformers import CLIPTextConfig
    return CLIPTextConfig(
        vocab_size=2 * len(_LETTERS) + 2, hidden_size=width, intermediate_size=37, projection_dim=32,
        num_hidden_layers=2, num_attention_heads=4, bos_token_id=0,
        eos_token_id=2 * len(_LETTERS) + 1, pad_token_id=1)


def t5():
    from tokenizers import Tokenizer, models, processors
    from transformers import PreTrainedTokenizerFast, T5Config, T5EncoderModel
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -9.0), *((c, -2.0) for c in _LETTERS + " ")]
    core = Tokenizer(models.Unigram(pieces, unk_id=2))
    core.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="</s>",
                                        unk_token="<unk>", model_max_length=32)
    config = T5Config(vocab_size=len(pieces), d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4)
    return tokenizer, T5EncoderModel(config).eval()


def sd(steps: int = 3):
    from diffusers import DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextModel
    torch.manual_seed(0)
    unet = UNet2DConditionModel(
        block_out_channels=(32, 64), layers_per_block=1, sample_size=16, in_channels=4, out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), cross_attention_dim=32,
        norm_num_groups=1).eval()
    pipe = StableDiffusionPipeline(
        vae=tiny._kl(), text_encoder=CLIPTextModel(_clip_config(32)).eval(), tokenizer=clip_tokenizer(),
        unet=unet, scheduler=DDIMScheduler(clip_sample=False, steps_offset=1), safety_checker=None,
        feature_extractor=None, requires_safety_checker=False)
    pipe.set_progress_bar_config(disable=True)
    return pipe, dict(prompt="a red cat", negative_prompt="blurry", num_inference_steps=steps, width=32,
                      height=32, output_type="np")


def sdxl(steps: int = 3):
    from transformers import CLIPTextModel, CLIPTextModelWithProjection
    pipe, _ = tiny.sdxl()
    torch.manual_seed(1)
    pipe.register_modules(
        tokenizer=clip_tokenizer(), tokenizer_2=clip_tokenizer(),
        text_encoder=CLIPTextModel(_clip_config(32)).eval(),
        text_encoder_2=CLIPTextModelWithProjection(_clip_config(32)).eval())
    return pipe, dict(prompt="a red cat", num_inference_steps=steps, width=32, height=32,
                      output_type="np")


def flux(steps: int = 3):
    from transformers import CLIPTextModel
    pipe, _ = tiny.flux()
    torch.manual_seed(1)
    tokenizer, encoder = t5()
    pipe.register_modules(tokenizer=clip_tokenizer(), tokenizer_2=tokenizer, text_encoder_2=encoder,
                          text_encoder=CLIPTextModel(_clip_config(32)).eval())
    return pipe, dict(prompt="a red cat", max_sequence_length=16, num_inference_steps=steps, width=32,
                      height=32, output_type="np")


def qwen(steps: int = 3):
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, Qwen2Tokenizer
    pipe, _ = tiny.qwen()
    torch.manual_seed(1)
    from transformers.models.qwen2.tokenization_qwen2 import bytes_to_unicode
    words = [*bytes_to_unicode().values(), "<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    vocab = _written("qwen.json", json.dumps({word: i for i, word in enumerate(words)}))
    tokenizer = Qwen2Tokenizer(vocab, _written("qwen.txt", "#version: 0.2\n"))
    text = dict(vocab_size=len(words), hidden_size=16, intermediate_size=16, num_hidden_layers=2,
                num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=2048,
                rope_scaling=dict(type="mrope", mrope_section=[1, 1, 2]))
    config = Qwen2_5_VLConfig(
        text_config=text, vision_config=dict(depth=2, hidden_size=16, intermediate_size=16, num_heads=2,
                                             out_hidden_size=16))
    pipe.register_modules(tokenizer=tokenizer,
                          text_encoder=Qwen2_5_VLForConditionalGeneration(config).eval())
    return pipe, dict(prompt="a red cat", negative_prompt="blurry", true_cfg_scale=4.0,
                      num_inference_steps=steps, width=32, height=32, output_type="np")


def wan(steps: int = 3):
    """Prompts of Wan need ftfy, so this one takes embeddings."""
    pipe, arguments = tiny.wan(steps)
    del arguments["generator"]
    return pipe, arguments


ALL = {"sd": sd, "sdxl": sdxl, "flux": flux, "qwen": qwen, "wan": wan}


def seeded(seed: int = 7) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pixels(result) -> bytes:
    made = result.frames if hasattr(result, "frames") else result.images
    return made.tobytes()
