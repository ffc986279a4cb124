"""generate() of transformers on tiny random models, hooks on and off in one process each."""
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from collections import Counter

from harness import inside, spans_of

BIN = os.environ["GENSCOPE_BIN"]

PROGRAM = """
    import warnings
    warnings.simplefilter("ignore")
    import torch
    from transformers import (GPT2Config, GPT2LMHeadModel, LlavaConfig,
                              LlavaForConditionalGeneration, CLIPVisionConfig, LlamaConfig,
                              T5Config, T5ForConditionalGeneration)
    from transformers.utils import logging
    logging.set_verbosity_error()

    def gpt2(seed):
        torch.manual_seed(seed)
        return GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=16, n_head=2, vocab_size=32,
                                          n_positions=64, bos_token_id=0, eos_token_id=None)).eval()
    model = gpt2(0)
    prompt = torch.arange(10).reshape(2, 5)
    print(model.generate(prompt, max_new_tokens=6, do_sample=False, pad_token_id=0).tolist())
    torch.manual_seed(3)
    print(model.generate(input_ids=prompt[:1], max_new_tokens=4, do_sample=True, pad_token_id=0,
                         return_dict_in_generate=True).sequences.tolist())
    print(model.generate(prompt[:1], max_new_tokens=3, num_beams=2, pad_token_id=0).tolist())
    print(model.generate(prompt[:1], max_new_tokens=4, assistant_model=gpt2(0), do_sample=False,
                         pad_token_id=0).tolist())
    torch.manual_seed(0)
    t5 = T5ForConditionalGeneration(T5Config(d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2,
                                             vocab_size=32, decoder_start_token_id=0,
                                             eos_token_id=None)).eval()
    print(t5.generate(prompt[:1], max_new_tokens=4, do_sample=False).tolist())
    llava = LlavaForConditionalGeneration(LlavaConfig(
        vision_config=CLIPVisionConfig(hidden_size=16, intermediate_size=16, num_hidden_layers=2,
                                       num_attention_heads=2, image_size=16, patch_size=4,
                                       projection_dim=16),
        text_config=LlamaConfig(hidden_size=16, intermediate_size=16, num_hidden_layers=1,
                                num_attention_heads=2, num_key_value_heads=2, vocab_size=40,
                                bos_token_id=1, eos_token_id=None),
        image_token_index=39)).eval()
    ids = torch.tensor([[1] + [39] * 16 + [5, 6]])
    print(llava.generate(input_ids=ids, pixel_values=torch.ones(1, 3, 16, 16), max_new_tokens=3,
                         attention_mask=torch.ones_like(ids), do_sample=False,
                         pad_token_id=0).tolist())
    compiled = gpt2(0)
    compiled.forward = torch.compile(compiled.forward, backend="eager")
    print(compiled.generate(prompt, max_new_tokens=3, do_sample=False, pad_token_id=0).tolist())
    embeds = model.transformer.wte(prompt[:1, :3])
    print(model.generate(inputs_embeds=embeds, max_new_tokens=4, do_sample=False,
                         pad_token_id=0).tolist())
    """


class Generate(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            path, run = os.path.join(folder, "program.py"), os.path.join(folder, "run")
            with open(path, "w", encoding="utf-8") as file:
                file.write(textwrap.dedent(PROGRAM))

            def output(*prefix):
                done = subprocess.run([*prefix, sys.executable, path], capture_output=True,
                                      text=True, timeout=1500,
                                      env={**os.environ, "OMP_NUM_THREADS": "1"})
                assert done.returncode == 0, done.stderr
                return done.stdout
            cls.hooked = output(BIN, "run", "--live", "never", "--no-gpu", "--run-dir", run, "--")
            cls.plain = output()
            cls.spans = sorted(spans_of(run), key=lambda s: s["begin_ns"])
            cls.report = json.loads(subprocess.run(
                [BIN, "report", run, "-f", "json"], check=True, capture_output=True,
                text=True).stdout)
        cls.requests = [s for s in cls.spans if s["kind"] == "request"]

    def below(self, span):
        """Everything below, at any depth."""
        return inside(self.spans, span)

    def shape(self, index):
        return Counter((s["kind"], s["name"]) for s in self.below(self.requests[index])
                       if s["name"] != "compile")

    def test_tokens_are_the_same(self):
        self.assertEqual(self.hooked, self.plain)
        self.assertEqual(len(self.hooked.splitlines()), 8)

    def test_requests(self):
        # The assistant's generate() is no request of its own.
        self.assertEqual([(r["name"], r["args"]["model"]) for r in self.requests], [
            ("generate", name) for name in ("GPT2LMHeadModel",) * 4 + (
                "T5ForConditionalGeneration", "LlavaForConditionalGeneration", "GPT2LMHeadModel",
                "GPT2LMHeadModel")])
        self.assertEqual(self.report["requests"]["count"], 8)

    def test_prefill_and_one_step_for_each_further_token(self):
        for index, tokens in ((0, 6), (1, 4), (2, 3), (4, 4), (6, 3)):
            with self.subTest(index=index):
                self.assertEqual(self.shape(index), {
                    ("stage", "prefill"): 1, ("stage", "decode"): 1,
                    ("step", "step"): tokens - 1})

    def test_counts_of_tokens(self):
        got = [(r["args"]["batch"], r["args"]["tokens_in"], r["args"]["tokens_out"])
               for r in self.requests]
        # T5's answer begins with a start token, which it did not make.
        self.assertEqual(got, [(2, 5, 6), (1, 5, 4), (1, 5, 3), (1, 5, 4), (1, 5, 4), (1, 19, 3),
                               (2, 5, 3), (1, 3, 4)])

    def test_compilations_are_spans(self):
        compiled = [s for s in self.below(self.requests[6]) if s["name"] == "compile"]
        self.assertGreaterEqual(len(compiled), 1)
        self.assertEqual([s for s in self.spans if s["name"] == "compile"], compiled)

    def test_texts_are_no_images(self):
        self.assertIsNone(self.report["requests"]["images"])

    def test_pace(self):
        for request in self.requests:
            with self.subTest(id=request["id"]):
                args, tokens = request["args"], request["args"]["tokens_out"]
                self.assertLess(0, args["ttft_seconds"])
                self.assertAlmostEqual(
                    (args["ttft_seconds"] + args["tpot_seconds"] * (tokens - 1)) * 1e9,
                    request["duration_ns"], delta=0.2 * request["duration_ns"] + 1e6)
                self.assertEqual("tokens_per_second" in args, args["batch"] == 1)

    def test_bytes_of_the_cache(self):
        # Two layers, keys and values, 16 wide in fp32; what the last token left is not in it.
        self.assertEqual(self.requests[0]["args"]["kv_cache_bytes"], 2 * 2 * 2 * 10 * 16 * 4)

    def test_assisted_turns_give_more_than_a_token(self):
        # The draft is right always, being the same model.
        self.assertLess(self.shape(3)["step", "step"], 4)

    def test_pictures(self):
        self.assertEqual(self.shape(5), {
            ("stage", "text_processing"): 1, ("stage", "prefill"): 1, ("stage", "decode"): 1,
            ("stage", "vision_encode"): 1, ("step", "step"): 2})
        vision = next(s for s in self.spans if s["name"] == "vision_encode")
        self.assertEqual((vision["args"]["images"], vision["args"]["image_tokens"]), (1, 16))
        figures = self.report["multimodal"]
        self.assertEqual((figures["image_calls"], figures["text_calls"]), (1, 1))


if __name__ == "__main__":
    unittest.main()
