"""A package `diffusers` without torch: the names of the real one that the hooks look for, and a
pipeline that is timed by sleeps. write() puts it into a folder for PYTHONPATH."""
from __future__ import annotations

import os

UTILS = '''
class DiffusionPipeline:
    def register_modules(self, **modules):
        for name, module in modules.items():
            setattr(self, name, module)

    @classmethod
    def from_pretrained(cls, path, **options):
        from diffusers import duck
        return cls(duck.Denoiser(), duck.Scheduler(), duck.VAE())
'''

DUCK = '''
from contextlib import contextmanager
import time

from .pipelines.pipeline_utils import DiffusionPipeline


class Denoiser:
    """No torch module, and no place for attributes of others."""
    __slots__ = ("calls", "__weakref__")

    def __init__(self):
        self.calls = 0

    @contextmanager
    def cache_context(self, name):
        yield

    def __call__(self, sample, timestep):
        self.calls += 1
        return sample


class Scheduler:
    def set_timesteps(self, count):
        self.timesteps = [count - i for i in range(count)]
        self.step_index = 0

    def step(self, output, timestep, sample):
        self.step_index += 1
        return output


class VAE:
    use_tiling = False

    def encode(self, image):
        return image

    def decode(self, latents):
        return latents


class Processor:
    def postprocess(self, image):
        return image


class DuckPipeline(DiffusionPipeline):
    def __init__(self, transformer, scheduler, vae):
        self.register_modules(transformer=transformer, scheduler=scheduler, vae=vae)
        self.image_processor = Processor()

    def encode_prompt(self, prompt):
        time.sleep(0.002)
        return prompt

    def __call__(self, prompt, image=None, num_inference_steps=4, width=64, height=64,
                 guidance_scale=5.0, on_step=None):
        self.encode_prompt(prompt)
        sample = self.vae.encode(image) if image is not None else 0
        self.scheduler.set_timesteps(num_inference_steps)
        for i, t in enumerate(self.scheduler.timesteps):
            for name in ("cond", "uncond"):
                with self.transformer.cache_context(name):
                    output = self.transformer(sample, t)
            sample = self.scheduler.step(output, t, sample)
            if on_step is not None:
                on_step(i)
        return self.image_processor.postprocess(self.vae.decode(sample))


def pipeline():
    return DuckPipeline(Denoiser(), Scheduler(), VAE())
'''

MODELS = '''
class ModelMixin:
    @classmethod
    def from_pretrained(cls, path, **options):
        return cls()
'''


def write(folder: str, **files: str) -> None:
    """Files by name (utils, duck, models) are given other contents than the above."""
    contents = {"__init__": "", "duck": DUCK, "pipelines/__init__": "",
                "pipelines/pipeline_utils": files.get("utils", UTILS), "models/__init__": "",
                "models/modeling_utils": files.get("models", MODELS)}
    if "duck" in files:
        contents["duck"] = files["duck"]
    for name, text in contents.items():
        path = os.path.join(folder, "diffusers", name + ".py")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
