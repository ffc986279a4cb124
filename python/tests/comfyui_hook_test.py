"""The hooks of ComfyUI, on a package tree with its names and none of its code."""
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

from harness import spans_of

BIN = os.environ["GENSCOPE_BIN"]

TREE = {
    "comfy/__init__.py": "",
    "comfy/model_management.py": """
        def load_models_gpu(models, memory_required=0):
            for model in models:
                model.loaded = True
        """,
    "comfy/model_base.py": """
        class BaseModel:
            def apply_model(self, x, t, transformer_options={}, **kwargs):
                return x * 0.5
        class Flux(BaseModel):
            pass
        """,
    "comfy/sd.py": """
        class CLIP:
            def encode_from_tokens_scheduled(self, tokens):
                return self.encode_from_tokens(tokens)
            def encode_from_tokens(self, tokens):
                return len(tokens)
        class VAE:
            def decode(self, samples):
                return self.decode_tiled(samples) if samples > 100 else samples
            def decode_tiled(self, samples):
                return samples
            def encode(self, pixels):
                raise MemoryError("no room")
            def encode_tiled(self, pixels):
                return pixels
        """,
    "comfy/samplers.py": """
        class KSAMPLER:
            def sample(self, model_wrap, sigmas, extra_args, callback, noise, latent_image=None,
                       denoise_mask=None, disable_pbar=False):
                total, x = len(sigmas) - 1, noise
                for i in range(total):
                    x = model_wrap.apply_model(x, sigmas[i],
                                               transformer_options={"cond_or_uncond": [0, 1]})
                    if callback is not None:
                        callback(i, x, x, total)
                return x
        """,
    "comfy_execution/__init__.py": "",
    "comfy_execution/progress.py": """
        class ProgressHandler:
            def __init__(self, name):
                self.name, self.enabled = name, True
            def set_registry(self, registry): pass
            def start_handler(self, node_id, state, prompt_id): pass
            def update_handler(self, node_id, value, max_value, state, prompt_id, image=None): pass
            def finish_handler(self, node_id, state, prompt_id): pass
            def reset(self): pass
        class ProgressRegistry:
            def __init__(self, prompt_id, dynprompt):
                self.prompt_id, self.dynprompt, self.handlers = prompt_id, dynprompt, {}
            def register_handler(self, handler):
                self.handlers[handler.name] = handler
            def start_progress(self, node_id):
                for handler in self.handlers.values():
                    handler.start_handler(node_id, {}, self.prompt_id)
            def finish_progress(self, node_id):
                for handler in self.handlers.values():
                    handler.finish_handler(node_id, {}, self.prompt_id)
        """,
    "execution.py": """
        import asyncio
        import comfy.model_base, comfy.model_management, comfy.samplers, comfy.sd
        from comfy_execution.progress import ProgressRegistry

        class Graph:
            def __init__(self, prompt): self.prompt = prompt
            def get_node(self, node_id): return self.prompt[node_id]

        class PromptExecutor:
            def __init__(self):
                self.success, self.result = True, None
            def execute(self, prompt, prompt_id):
                asyncio.run(self.execute_async(prompt, prompt_id))
            async def execute_async(self, prompt, prompt_id):
                registry = ProgressRegistry(prompt_id, Graph(prompt))
                for node_id, node in prompt.items():
                    if node.get("cached"):
                        registry.finish_progress(node_id)
                        continue
                    registry.start_progress(node_id)
                    try:
                        self.result = NODES[node["class_type"]](node["inputs"], self.result)
                        self.success = True
                    except Exception:
                        self.success = False
                        break
                    registry.finish_progress(node_id)
                    await asyncio.sleep(0)

        def ksampler(inputs, latent):
            model = comfy.model_base.Flux()
            comfy.model_management.load_models_gpu([model])
            seen = []
            result = comfy.samplers.KSAMPLER().sample(
                model, list(range(inputs["steps"] + 1)), {},
                lambda i, denoised, x, total: seen.append((i, total)), 64.0)
            assert seen == [(i, inputs["steps"]) for i in range(inputs["steps"])], seen
            return result
        NODES = {
            "CLIPTextEncode": lambda i, r: comfy.sd.CLIP().encode_from_tokens_scheduled(i["text"]),
            "KSampler": ksampler,
            "VAEDecode": lambda i, r: comfy.sd.VAE().decode(r),
            "VAEEncode": lambda i, r: comfy.sd.VAE().encode(r),
        }
        """,
    "main.py": """
        import sys, json
        import execution
        executor = execution.PromptExecutor()
        good = {"1": {"class_type": "CLIPTextEncode", "inputs": {"text": "a cat"}},
                "2": {"class_type": "EmptyLatentImage", "cached": True,
                      "inputs": {"width": 512, "height": 768, "batch_size": 1}},
                "3": {"class_type": "KSampler", "inputs": {"steps": 4, "cfg": 3.5, "model": ["1", 0]}},
                "4": {"class_type": "VAEDecode", "inputs": {}}}
        bad = {"1": {"class_type": "VAEEncode", "inputs": {}}}
        executor.execute(good, "p1")
        print(executor.result, executor.success)
        executor.execute(bad, "p2")
        print(executor.success)
        executor.execute(good, "p3")
        print(executor.result, executor.success)
        """,
}
OUTPUT = "4.0 True\nFalse\n4.0 True\n"


def write_tree(folder, **changes):
    for path, text in {**TREE, **changes}.items():
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))


class Comfy(unittest.TestCase):
    def record(self, **changes):
        """Runs main.py in the tree; returns its output, spans and the text of the report."""
        with tempfile.TemporaryDirectory() as folder:
            write_tree(folder, **changes)
            run = os.path.join(folder, "run")
            done = subprocess.run(
                [BIN, "run", "--live", "never", "--no-gpu", "--run-dir", run, "--", sys.executable,
                 "main.py"], cwd=folder, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            spans = spans_of(run)
            report = subprocess.run([BIN, "report", run, "-f", "json"], capture_output=True,
                                    text=True, check=True).stdout
        return done.stdout, spans, json.loads(report)

    @staticmethod
    def tree(spans):
        """Each span as the path of kinds and names above it, in the order of time."""
        by_id = {s["id"]: s for s in spans}

        def path(span):
            above = by_id.get(span["parent"])
            return (path(above) if above else ()) + (f"{span['kind']} {span['name']}",)
        return [path(s) for s in sorted(spans, key=lambda s: s["begin_ns"])]

    def test_prompts_nodes_and_stages(self):
        output, spans, report = self.record()
        self.assertEqual(output, OUTPUT)
        prompt = ("request prompt",)
        sampler = prompt + ("task KSampler", "stage denoise", "step step")
        good = [prompt,
                prompt + ("task CLIPTextEncode",),
                prompt + ("task CLIPTextEncode", "stage text_encode"),
                prompt + ("task KSampler",),
                prompt + ("task KSampler", "load models"),
                prompt + ("task KSampler", "stage denoise"),
                *[sampler, sampler + ("forward Flux",)] * 4,
                prompt + ("task VAEDecode",),
                prompt + ("task VAEDecode", "stage vae_decode")]
        bad = [prompt, prompt + ("task VAEEncode",),
               prompt + ("task VAEEncode", "stage vae_encode")]
        self.assertEqual(self.tree(spans), good + bad + good)
        failed = [(s["kind"], s["name"]) for s in spans if "failed" in s["flags"]]
        self.assertEqual(sorted(failed), [("request", "prompt"), ("stage", "vae_encode"),
                                          ("task", "VAEEncode")])
        self.assertEqual([s["args"]["index"] for s in spans if s["kind"] == "step"],
                         [0, 1, 2, 3] * 2)
        self.assertEqual({s["args"]["passes"] for s in spans if s["kind"] == "forward"}, {2})
        self.assertEqual({s["args"]["model"] for s in spans if s["kind"] == "load"}, {"Flux"})
        self.assertEqual(report["requests"]["count"], 3)
        self.assertEqual(report["requests"]["failed"], 1)

    def test_moved_internals_leave_the_rest(self):
        output, spans, report = self.record(**{
            "comfy/samplers.py": TREE["comfy/samplers.py"] + "\n        Sampler = KSAMPLER\n"
                                                             "        del KSAMPLER\n",
            "comfy_execution/progress.py": TREE["comfy_execution/progress.py"].replace(
                "class ProgressRegistry", "class Registry"),
            "execution.py": TREE["execution.py"].replace("samplers.KSAMPLER", "samplers.Sampler")
                                                .replace("ProgressRegistry", "Registry"),
        })
        self.assertEqual(output, OUTPUT)
        kinds = {(s["kind"], s["name"]) for s in spans}
        self.assertIn(("request", "prompt"), kinds)
        self.assertIn(("stage", "vae_decode"), kinds)
        self.assertNotIn(("stage", "denoise"), kinds)
        self.assertNotIn("task", {kind for kind, _ in kinds})

    def test_a_module_called_execution_of_somebody_else(self):
        output, spans, report = self.record(**{
            "execution.py": "word = 'mine'\n",
            "main.py": "import execution\nprint(execution.word)\n"})
        self.assertEqual((output, spans), ("mine\n", []))


class Settings(unittest.TestCase):
    def test_settings_of_a_graph(self):
        from genscope.hooks.comfyui import settings
        graph = {"1": {"inputs": {"steps": 20, "cfg": 4.0, "width": 512}},
                 "2": {"inputs": {"width": 1024, "model": ["1", 0], "steps": 20}},
                 "3": {"inputs": None}, "4": 5}
        # Two widths are no fact.
        self.assertEqual(settings(graph), {"set.steps": 20, "guidance_scale": 4.0})


if __name__ == "__main__":
    unittest.main()
