"""Tiny pipelines of the real classes, with random weights, made without files or network.

Each function gives (pipeline, arguments of its call); the same seed gives the same weights, and the
arguments hold a generator of their own.
"""
from __future__ import annotations

import torch


def _embeds(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def _kl(**more):
    from diffusers import AutoencoderKL
    return AutoencoderKL(
        block_out_channels=(8, 16), layers_per_block=1, latent_channels=4, norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
        **more).eval()


def flux(steps: int = 4):
    from diffusers import FlowMatchEulerDiscreteScheduler, FluxPipeline, FluxTransformer2DModel
    torch.manual_seed(0)
    transformer = FluxTransformer2DModel(
        patch_size=1, in_channels=16, num_layers=2, num_single_layers=4, attention_head_dim=16,
        num_attention_heads=4, joint_attention_dim=32, pooled_projection_dim=32,
        axes_dims_rope=(4, 4, 8)).eval()
    vae = _kl(use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.1, scaling_factor=0.3)
    pipe = FluxPipeline(scheduler=FlowMatchEulerDiscreteScheduler(), vae=vae, text_encoder=None,
                        tokenizer=None, text_encoder_2=None, tokenizer_2=None,
                        transformer=transformer)
    pipe.set_progress_bar_config(disable=True)
    return pipe, dict(prompt_embeds=_embeds(1, 8, 32), pooled_prompt_embeds=_embeds(1, 32),
                      num_inference_steps=steps, width=32, height=32, generator=_generator(),
                      output_type="np")


def qwen(steps: int = 4):
    from diffusers import (AutoencoderKLQwenImage, FlowMatchEulerDiscreteScheduler,
                           QwenImagePipeline, QwenImageTransformer2DModel)
    torch.manual_seed(0)
    transformer = QwenImageTransformer2DModel(
        patch_size=2, in_channels=16, out_channels=4, num_layers=2, attention_head_dim=16,
        num_attention_heads=3, joint_attention_dim=16, axes_dims_rope=(8, 4, 4)).eval()
    vae = AutoencoderKLQwenImage(
        base_dim=24, z_dim=4, dim_mult=[1, 2, 4], num_res_blocks=1,
        temperal_downsample=[False, True], latents_mean=[0.0] * 4, latents_std=[1.0] * 4).eval()
    pipe = QwenImagePipeline(scheduler=FlowMatchEulerDiscreteScheduler(), vae=vae,
                             text_encoder=None, tokenizer=None, transformer=transformer)
    pipe.set_progress_bar_config(disable=True)
    mask = torch.ones(1, 7, dtype=torch.long)
    return pipe, dict(prompt_embeds=_embeds(1, 7, 16), prompt_embeds_mask=mask,
                      negative_prompt_embeds=_embeds(1, 7, 16, seed=2),
                      negative_prompt_embeds_mask=mask, true_cfg_scale=4.0,
                      num_inference_steps=steps, width=32, height=32, generator=_generator(),
                      output_type="np")


def sdxl(steps: int = 4):
    from diffusers import EulerDiscreteScheduler, StableDiffusionXLPipeline, UNet2DConditionModel
    torch.manual_seed(0)
    unet = UNet2DConditionModel(
        block_out_channels=(32, 64), layers_per_block=1, sample_size=16, in_channels=4,
        out_channels=4, down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), attention_head_dim=(2, 4),
        use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=8,
        transformer_layers_per_block=(1, 2), projection_class_embeddings_input_dim=80,
        cross_attention_dim=64, norm_num_groups=1).eval()
    pipe = StableDiffusionXLPipeline(
        vae=_kl(), text_encoder=None, text_encoder_2=None, tokenizer=None, tokenizer_2=None,
        unet=unet, scheduler=EulerDiscreteScheduler(timestep_spacing="leading", steps_offset=1),
        add_watermarker=False)
    pipe.set_progress_bar_config(disable=True)
    return pipe, dict(prompt_embeds=_embeds(1, 77, 64), pooled_prompt_embeds=_embeds(1, 32),
                      negative_prompt_embeds=_embeds(1, 77, 64, seed=2),
                      negative_pooled_prompt_embeds=_embeds(1, 32, seed=2), guidance_scale=5.0,
                      num_inference_steps=steps, width=32, height=32, generator=_generator(),
                      output_type="np")


def wan(steps: int = 4):
    from diffusers import (AutoencoderKLWan, FlowMatchEulerDiscreteScheduler, WanPipeline,
                           WanTransformer3DModel)

    def expert(seed: int):
        torch.manual_seed(seed)
        return WanTransformer3DModel(
            patch_size=(1, 2, 2), num_attention_heads=2, attention_head_dim=12, in_channels=16,
            out_channels=16, text_dim=32, freq_dim=256, ffn_dim=32, num_layers=2,
            rope_max_seq_len=32).eval()
    torch.manual_seed(0)
    vae = AutoencoderKLWan(base_dim=3, z_dim=16, dim_mult=[1, 1, 1, 1], num_res_blocks=1,
                           temperal_downsample=[False, True, True]).eval()
    pipe = WanPipeline(tokenizer=None, text_encoder=None, vae=vae, transformer=expert(1),
                       transformer_2=expert(2), boundary_ratio=0.9,
                       scheduler=FlowMatchEulerDiscreteScheduler(shift=7.0))
    pipe.set_progress_bar_config(disable=True)
    return pipe, dict(prompt_embeds=_embeds(1, 12, 32), negative_prompt_embeds=_embeds(1, 12, 32, seed=2),
                      guidance_scale=1.0, num_frames=9, num_inference_steps=steps, width=32,
                      height=32, generator=_generator(), output_type="np")


def controlnet(steps: int = 4):
    from diffusers import (ControlNetModel, DDIMScheduler, StableDiffusionControlNetPipeline,
                           UNet2DConditionModel)
    torch.manual_seed(0)
    shape = dict(block_out_channels=(32, 64), layers_per_block=1, in_channels=4,
                 down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), cross_attention_dim=32,
                 norm_num_groups=1)
    unet = UNet2DConditionModel(sample_size=16, out_channels=4,
                                up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), **shape).eval()
    control = ControlNetModel(conditioning_embedding_out_channels=(16, 32), **shape).eval()
    pipe = StableDiffusionControlNetPipeline(
        vae=_kl(), text_encoder=None, tokenizer=None, unet=unet, controlnet=control,
        scheduler=DDIMScheduler(clip_sample=False), safety_checker=None, feature_extractor=None,
        requires_safety_checker=False)
    pipe.set_progress_bar_config(disable=True)
    return pipe, dict(prompt_embeds=_embeds(1, 8, 32), guidance_scale=5.0,
                      negative_prompt_embeds=_embeds(1, 8, 32, seed=2), image=_embeds(1, 3, 32, 32),
                      num_inference_steps=steps, width=32, height=32, generator=_generator(),
                      output_type="np")


def lora(transformer, seed: int):
    """The weights of a LoRA for the attention of a transformer, as load_lora_weights takes them."""
    made = torch.Generator().manual_seed(seed)
    weights = {}
    for name, module in transformer.named_modules():
        name = name.removesuffix(".base_layer")  # of one that has a LoRA already
        if name.endswith((".to_q", ".to_k")) and isinstance(module, torch.nn.Linear):
            for side, shape in (("A", (2, module.in_features)), ("B", (module.out_features, 2))):
                weights[f"transformer.{name}.lora_{side}.weight"] = torch.randn(
                    shape, generator=made)
    return weights


ALL = {"flux": flux, "qwen": qwen, "sdxl": sdxl, "wan": wan}


def run(pipe, arguments):
    """The result as an array; the generator starts anew, so that each run is the same."""
    result = pipe(**{**arguments, "generator": _generator()})
    return result.frames if hasattr(result, "frames") else result.images
