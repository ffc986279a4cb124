"""What the hooks say of pipelines, against what is counted beside them: forward hooks of torch and a
wrapped scheduler.step, before any hook of ours is installed.

The table: class, steps, passes, stages, size; and the result's bytes, with hooks and without.
"""
from __future__ import annotations

import os
import subprocess
import sys
import unittest

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np
import torch

import tiny
from recorded import GENSCOPE, RecordedCase


def _unet(**more):
    from diffusers import UNet2DConditionModel
    return UNet2DConditionModel(**{**dict(
        block_out_channels=(32, 64), layers_per_block=1, sample_size=16, in_channels=4, out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), cross_attention_dim=32,
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), norm_num_groups=1), **more}).eval()


def _sd(kind: str, unet=None, **arguments):
    """Of Stable Diffusion's family, which is given embeddings."""
    import diffusers
    torch.manual_seed(0)
    made = dict(vae=tiny._kl(), text_encoder=None, tokenizer=None, unet=unet or _unet(),
                scheduler=diffusers.DDIMScheduler(clip_sample=False), safety_checker=None,
                feature_extractor=None, requires_safety_checker=False)
    pipe = getattr(diffusers, kind)(**made)
    return pipe, dict(prompt_embeds=tiny._embeds(1, 8, 32), guidance_scale=5.0, output_type="np",
                      negative_prompt_embeds=tiny._embeds(1, 8, 32, seed=2), **arguments)


def _picture():
    return torch.rand(1, 3, 32, 32, generator=torch.Generator().manual_seed(3))


def sd():
    return _sd("StableDiffusionPipeline", num_inference_steps=3)


def sd_without_guidance():
    pipe, arguments = _sd("StableDiffusionPipeline", num_inference_steps=2)
    return pipe, {**arguments, "guidance_scale": 1.0}


def sd_img2img():
    return _sd("StableDiffusionImg2ImgPipeline", image=_picture(), strength=0.5, num_inference_steps=4)


def sd_inpaint():
    mask = torch.ones(1, 1, 32, 32)
    return _sd("StableDiffusionInpaintPipeline", image=_picture(), mask_image=mask, width=32, height=32,
               num_inference_steps=2)


def sd_of_order_two():
    from diffusers import HeunDiscreteScheduler
    pipe, arguments = _sd("StableDiffusionPipeline", num_inference_steps=3)
    pipe.scheduler = HeunDiscreteScheduler()
    return pipe, arguments


def flux_img2img():
    from diffusers import FluxImg2ImgPipeline
    pipe, arguments = tiny.flux(4)
    return FluxImg2ImgPipeline(**pipe.components), {**arguments, "image": _picture(), "strength": 0.6}


def sdxl_batch():
    pipe, arguments = tiny.sdxl(2)
    return pipe, {**arguments, "num_images_per_prompt": 2}


def ddim():
    from diffusers import DDIMPipeline, DDIMScheduler, UNet2DModel
    torch.manual_seed(0)
    unet = UNet2DModel(block_out_channels=(8, 16), norm_num_groups=4, layers_per_block=1, sample_size=8,
                       in_channels=3, out_channels=3, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                       up_block_types=("AttnUpBlock2D", "UpBlock2D")).eval()
    return DDIMPipeline(unet=unet, scheduler=DDIMScheduler()), dict(
        batch_size=2, num_inference_steps=3, output_type="np")


def svd():
    from diffusers import (AutoencoderKLTemporalDecoder, EulerDiscreteScheduler,
                           StableVideoDiffusionPipeline, UNetSpatioTemporalConditionModel)
    from transformers import CLIPImageProcessor, CLIPVisionConfig, CLIPVisionModelWithProjection
    torch.manual_seed(0)
    unet = UNetSpatioTemporalConditionModel(
        block_out_channels=(32, 64), layers_per_block=1, sample_size=16, in_channels=8, out_channels=4,
        down_block_types=("CrossAttnDownBlockSpatioTemporal", "DownBlockSpatioTemporal"),
        up_block_types=("UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal"),
        cross_attention_dim=32, num_attention_heads=8, projection_class_embeddings_input_dim=96,
        addition_time_embed_dim=32).eval()
    vae = AutoencoderKLTemporalDecoder(
        block_out_channels=(32, 64), down_block_types=("DownEncoderBlock2D",) * 2,
        latent_channels=4).eval()
    encoder = CLIPVisionModelWithProjection(CLIPVisionConfig(
        hidden_size=32, projection_dim=32, num_hidden_layers=1, num_attention_heads=4, image_size=32,
        intermediate_size=37, patch_size=8)).eval()
    pipe = StableVideoDiffusionPipeline(
        vae=vae, image_encoder=encoder, unet=unet,
        scheduler=EulerDiscreteScheduler(prediction_type="v_prediction", use_karras_sigmas=True),
        feature_extractor=CLIPImageProcessor(crop_size=32, size=32))
    return pipe, dict(image=_picture(), num_frames=2, num_inference_steps=2, output_type="np",
                      min_guidance_scale=1.0, max_guidance_scale=2.5, height=32, width=32)


# Name -> maker, passes for each sample, (images, height, width), frames.
CASES = {
    "flux": (tiny.flux, 1, (1, 32, 32), None), "flux_img2img": (flux_img2img, 1, (1, 32, 32), None),
    "qwen": (tiny.qwen, 2, (1, 32, 32), None), "sdxl": (tiny.sdxl, 2, (1, 32, 32), None),
    "sdxl_batch": (sdxl_batch, 2, (2, 32, 32), None), "wan": (tiny.wan, 1, (1, 32, 32), 9),
    "controlnet": (tiny.controlnet, 2, (1, 32, 32), None), "sd": (sd, 2, (1, 32, 32), None),
    "sd_without_guidance": (sd_without_guidance, 1, (1, 32, 32), None),
    "sd_img2img": (sd_img2img, 2, (1, 32, 32), None), "sd_inpaint": (sd_inpaint, 2, (1, 32, 32), None),
    "sd_of_order_two": (sd_of_order_two, 2, (1, 32, 32), None), "ddim": (ddim, 1, (2, 8, 8), None),
    "svd": (svd, 2, (1, 32, 32), 2),
}


class Counted:
    """Steps and forwards of a call, without genscope."""

    def __init__(self, pipe) -> None:
        self.steps, self.forwards = 0, []
        self.handles = [
            part.register_forward_pre_hook(
                lambda module, args, kwargs, name=name: self.forwards.append(name), with_kwargs=True)
            for name, part in pipe.components.items()
            if name in ("unet", "transformer", "transformer_2") and part is not None]
        self.kind, self.original = type(pipe.scheduler), type(pipe.scheduler).step

        def step(scheduler, *args, **kwargs):
            self.steps += 1
            return self.original(scheduler, *args, **kwargs)
        self.kind.step = step

    def stop(self) -> "Counted":
        self.kind.step = self.original
        for handle in self.handles:
            handle.remove()
        return self


def run(pipe, arguments) -> np.ndarray:
    pipe.set_progress_bar_config(disable=True)
    made = pipe(**{**arguments, "generator": torch.Generator().manual_seed(7)})
    return np.asarray(made.frames if hasattr(made, "frames") else made.images)


def plain(make):
    pipe, arguments = make()
    counted = Counted(pipe)
    try:
        return run(pipe, arguments), counted
    finally:
        counted.stop()


PLAIN = {name: plain(case[0]) for name, case in CASES.items()}

from genscope import hooks

hooks.install(["torch", "diffusers"])


class Truth(RecordedCase):
    def test_table(self):
        for name, (make, passes, (images, height, width), frames) in CASES.items():
            with self.subTest(name=name):
                pipe, arguments = make()
                seen = self.record(lambda: run(pipe, arguments))
                result, counted = PLAIN[name]
                self.assertEqual(self.result.tobytes(), result.tobytes())
                (request,) = seen.of("request", type(pipe).__name__)
                self.assertEqual([s for s in seen.spans if "failed" in s["flags"]], [])
                self.assertEqual(len(seen.of("step")), counted.steps)
                self.assertEqual([f["name"] for f in seen.of("forward")], counted.forwards)
                self.assertEqual(len(seen.of("stage", "denoise")), 1)
                args = request["args"]
                self.assertEqual((args["steps"], args["passes"]), (counted.steps, passes))
                self.assertEqual((args["images"], args["height"], args["width"], args.get("frames")),
                                 (images, height, width, frames))
                if pipe.components.get("image_encoder") is not None:
                    self.assertIn("image_encode", seen.stages(request))


class Observed(RecordedCase):
    """What ran, whatever was asked for."""

    def test_a_size_that_nobody_said(self):
        pipe, arguments = tiny.sdxl(2)
        for key in ("width", "height"):
            del arguments[key]
        run = self.record(lambda: tiny.run(pipe, arguments))
        (request,) = run.of("request")
        seen = {key: request["args"][key] for key in ("width", "height", "images", "steps", "passes")}
        self.assertEqual(seen, {"width": 32, "height": 32, "images": 1, "steps": 2, "passes": 2})
        self.assert_facts(run, ["set.steps == 2"])

    def test_passes_are_counted(self):
        for name, passes in (("flux", 1), ("qwen", 2), ("sdxl", 2), ("wan", 1)):
            pipe, arguments = tiny.ALL[name](2)
            run = self.record(lambda: tiny.run(pipe, arguments))
            self.assertEqual(run.of("request")[0]["args"]["passes"], passes, name)

    def test_several_pictures_are_no_passes(self):
        pipe, arguments = tiny.flux(2)
        run = self.record(lambda: tiny.run(pipe, {**arguments, "num_images_per_prompt": 3}))
        args = run.of("request")[0]["args"]
        self.assertEqual((args["images"], args["passes"]), (3, 1))

    def test_latents_say_their_size(self):
        pipe, arguments = tiny.sdxl(2)
        run = self.record(lambda: pipe(**{**arguments, "output_type": "latent"}))
        args = run.of("request")[0]["args"]
        self.assertEqual((args["width"], args["height"], args["images"]), (32, 32, 1))

    def test_steps_that_a_cache_answered(self):
        from diffusers import FirstBlockCacheConfig
        pipe, arguments = tiny.flux(4)
        pipe.transformer.enable_cache(FirstBlockCacheConfig(threshold=1e9))
        run = self.record(lambda: tiny.run(pipe, arguments))
        args = run.of("request")[0]["args"]
        self.assertEqual((args["cached_steps"], args["cache_hit_ratio"]), (3, 0.75))
        self.assertEqual([f["args"]["cached"] for f in run.of("forward")], [False, True, True, True])

    def parts(self, steps: "tuple[int, ...]", after: bool):
        """A pipeline with a loop for each part, and after each a forward that only fills a cache."""
        from diffusers import FluxPipeline
        inner, arguments = tiny.flux(2)

        class Parts(FluxPipeline):
            def __call__(self, **kwargs):
                latents = torch.zeros(1, 16, 16)

                def forward(t):
                    return self.transformer(
                        hidden_states=latents, timestep=t.expand(1) / 1000, guidance=None,
                        pooled_projections=kwargs["pooled_prompt_embeds"],
                        encoder_hidden_states=kwargs["prompt_embeds"],
                        txt_ids=torch.zeros(8, 3), img_ids=torch.zeros(16, 3), return_dict=False)[0]
                for count in steps:
                    self.scheduler.set_timesteps(count)
                    for t in self.scheduler.timesteps:
                        self.scheduler.step(forward(t), t, latents)
                    if after:
                        forward(torch.tensor(0.0))
        pipe = Parts(**inner.components)
        with torch.no_grad():
            run = self.record(lambda: pipe(**arguments))
        loops = run.of("stage", "denoise")
        self.assertEqual([s for s in run.spans if "failed" in s["flags"]], [])
        self.assertEqual([[s["args"]["index"] for s in run.children(loop, "step")] for loop in loops],
                         [list(range(count)) for count in steps])
        self.assertEqual(len(run.of("forward")), sum(steps) + len(steps) * after)
        return run

    def test_each_loop_is_a_stage(self):
        self.parts((2, 3), after=False)

    def test_forwards_after_a_loop_are_no_steps(self):
        self.parts((2, 3, 2), after=True)

class OwnLoop(RecordedCase):
    """A loop over a scheduler's timesteps, without a pipeline."""

    def test_its_steps_are_inferred(self):
        pipe, arguments = tiny.flux(3)
        scheduler, transformer = pipe.scheduler, pipe.transformer
        inputs = dict(guidance=None, pooled_projections=arguments["pooled_prompt_embeds"],
                      encoder_hidden_states=arguments["prompt_embeds"], txt_ids=torch.zeros(8, 3),
                      img_ids=torch.zeros(16, 3), return_dict=False)

        def loop(stop: int):
            latents = torch.zeros(1, 16, 16)
            scheduler.set_timesteps(3)
            for i, t in enumerate(scheduler.timesteps):
                if i == stop:
                    break
                for _ in range(2):
                    out = transformer(hidden_states=latents, timestep=t.expand(1) / 1000, **inputs)[0]
                latents = scheduler.step(out, t, latents)[0]
            return pipe.vae.decode(latents.reshape(1, 4, 8, 8), return_dict=False)[0]

        def call():
            with torch.no_grad():
                return [loop(3), loop(2)]
        run = self.record(call)
        loops = run.of("stage", "denoise")
        self.assertEqual([len(run.children(each, "step")) for each in loops], [3, 2])
        self.assertTrue(all(each["args"]["inferred"] for each in loops))
        self.assertEqual([f["name"] for f in run.of("forward")], ["FluxTransformer2DModel"] * 10)
        self.assertEqual(len(run.of("stage", "vae_decode")), 2)
        self.assertEqual([s for s in run.spans if "failed" in s["flags"]], [])
        self.assertIn("(inferred)", subprocess.run(
            [GENSCOPE, "report", run.run_dir, "--full"], capture_output=True, text=True).stdout)

    def test_training_is_no_such_loop(self):
        pipe, arguments = tiny.sdxl(2)
        noise = torch.zeros(1, 4, 16, 16)
        run = self.record(lambda: pipe.scheduler.add_noise(noise, noise, torch.tensor([0])))
        self.assertEqual(run.of("step"), [])


if __name__ == "__main__":
    unittest.main()
