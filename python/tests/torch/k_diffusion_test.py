"""k-diffusion's samplers, over a double of its sampling module: the loop, the callback and the names are as there."""
from __future__ import annotations

import sys
import unittest

from genscope import hooks

hooks.install(["torch"])

from recorded import RecordedCase

SAMPLING = """
def trange(*args, disable=None):
    return range(*args)

def sample_euler(model, x, sigmas, extra_args=None, callback=None, disable=None):
    for i in trange(len(sigmas) - 1, disable=disable):
        denoised = model(x, sigmas[i], **(extra_args or {}))
        if callback is not None:
            callback({"x": x, "i": i, "denoised": denoised})
        x = x + (denoised - x) * 0.5
    return x

def sample_heun(model, x, sigmas, extra_args=None, callback=None, disable=None):
    for i in trange(len(sigmas) - 1, disable=disable):
        denoised = model(x, sigmas[i], **(extra_args or {}))
        if callback is not None:
            callback({"x": x, "i": i, "denoised": denoised})
        x = model(x + denoised, sigmas[i + 1], **(extra_args or {}))
    return x

def sample_dpm_fast(model, x, sigma_min, sigma_max, n, extra_args=None, callback=None, disable=None):
    for i in range(n):
        for _ in range(2):
            x = model(x, sigma_max)
        if callback is not None:
            callback({"x": x, "i": i})
    return x

def get_sigmas_karras(n, sigma_min, sigma_max):
    return list(range(n, -1, -1))
"""


def load():
    """Imported as any module, which is when hooks are told."""
    import importlib.abc
    import importlib.util

    class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] != "k_diffusion":
                return None
            return importlib.util.spec_from_loader(name, self, is_package=name == "k_diffusion")

        def exec_module(self, module):
            if module.__name__ == "k_diffusion.sampling":
                exec(SAMPLING, vars(module))
    sys.meta_path.append(Finder())
    import k_diffusion.sampling
    return k_diffusion.sampling


class Denoiser:
    """As k-diffusion's: a wrapper with the network in inner_model."""
    sigma_data = 1.0

    def __init__(self) -> None:
        self.inner_model = type("UNet", (), {})()

    def __call__(self, x, sigma, **kwargs):
        return x * 0.5 + sigma


class Samplers(RecordedCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.sampling = load()

    def shape(self, run):
        (stage,) = run.of("stage", "denoise")
        steps = run.children(stage, "step")
        return stage["args"], [(s["args"]["index"], len(run.children(s, "forward"))) for s in steps]

    def test_steps_of_the_loop(self):
        seen = []
        for name, forwards in (("euler", 1), ("heun", 2)):
            function = getattr(self.sampling, f"sample_{name}")
            run = self.record(lambda: function(Denoiser(), 1.0, [3, 2, 1, 0], callback=lambda told: seen.append(told["i"])))
            args, steps = self.shape(run)
            self.assertEqual((args["sampler"], args["steps"]), (name, 3))
            self.assertEqual(steps, [(0, forwards), (1, forwards), (2, forwards)])
            self.assertEqual({f["name"] for f in run.of("forward")}, {"UNet"})
        self.assertEqual(seen, [0, 1, 2] * 2)

    def test_the_result_is_the_same(self):
        plain = self.sampling.sample_heun.__wrapped__(Denoiser(), 1.0, [3, 2, 1, 0])
        self.record(lambda: self.sampling.sample_heun(Denoiser(), 1.0, [3, 2, 1, 0], None, None))
        self.assertEqual(self.result, plain)

    def test_a_sampler_without_the_loop(self):
        run = self.record(lambda: self.sampling.sample_dpm_fast(Denoiser(), 1.0, 0.1, 3, 3))
        args, steps = self.shape(run)
        self.assertNotIn("steps", args)
        self.assertEqual(steps, [(0, 2), (1, 2), (2, 2)])

    def test_a_failure(self):
        class Broken(Denoiser):
            def __call__(self, x, sigma, **kwargs):
                if sigma == 2:
                    raise RuntimeError("no memory")
                return x

        def call():
            with self.assertRaises(RuntimeError):
                self.sampling.sample_euler(Broken(), 1.0, [3, 2, 1, 0])
        run = self.record(call)
        failed = {s["name"] for s in run.spans if "failed" in s["flags"]}
        self.assertEqual(failed, {"denoise", "step", "UNet"})
        self.assertEqual(len(run.of("step")), 2)

    def test_other_functions_are_left_alone(self):
        self.assertFalse(hasattr(self.sampling.get_sigmas_karras, "__wrapped__"))


if __name__ == "__main__":
    unittest.main()
