"""vLLM and SGLang, over doubles that answer as the engines do: neither runs without a GPU here."""
from __future__ import annotations

import asyncio
import importlib.abc
import importlib.util
import sys
import unittest

from genscope import hooks

hooks.install(["transformers"])

from recorded import RecordedCase

SOURCES = {
    "vllm.entrypoints.llm": """
from types import SimpleNamespace as Of

class LLM:
    stats = True

    def generate(self, prompts, sampling_params=None, **kwargs):
        if prompts == "broken":
            raise RuntimeError("engine is dead")
        def answer(i):
            told = Of(first_token_latency=0.25, queued_ts=1.0, scheduled_ts=1.5, first_token_ts=2.0,
                      last_token_ts=3.0) if self.stats else None
            return Of(prompt_token_ids=[1] * 5, num_cached_tokens=2, metrics=told,
                      outputs=[Of(token_ids=[7] * 11)])
        return [answer(i) for i in range(len(prompts))]

    def chat(self, messages, **kwargs):
        return self.generate(messages, **kwargs)
""",
    "sglang.srt.entrypoints.engine": """
class Engine:
    def generate(self, prompt=None, stream=False, **kwargs):
        def answer(i):
            return {"text": "x", "meta_info": {"prompt_tokens": 4, "completion_tokens": 6, "cached_tokens": 1}}
        if stream:
            return iter([answer(0)])
        return answer(0) if isinstance(prompt, str) else [answer(i) for i in range(len(prompt))]

    async def async_generate(self, prompt=None, stream=False, **kwargs):
        import asyncio
        await asyncio.sleep(0.01)
        return self.generate(prompt)
""",
}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ("vllm", "sglang"):
            return None
        return importlib.util.spec_from_loader(name, self, is_package=name not in SOURCES)

    def exec_module(self, module):
        exec(SOURCES.get(module.__name__, ""), vars(module))


sys.meta_path.append(Finder())
from sglang.srt.entrypoints.engine import Engine
from vllm.entrypoints.llm import LLM


class Engines(RecordedCase):
    def test_vllm(self):
        run = self.record(lambda: LLM().generate(["a", "b"]))
        (request,) = run.of("request", "LLM.generate")
        self.assertEqual({key: value for key, value in request["args"].items() if key != "images"},
                         {"answers": 2, "tokens_in": 10, "tokens_out": 22, "cached_tokens": 4, "ttft_seconds": 0.25,
                          "tpot_seconds": 0.1, "queue_seconds": 0.5})
        self.assertEqual(len(self.result), 2)

    def test_without_statistics_nothing_is_made_up(self):
        engine = LLM()
        engine.stats = False
        (request,) = self.record(lambda: engine.generate(["a"])).of("request")
        self.assertEqual(request["args"]["tokens_out"], 11)
        self.assertNotIn("ttft_seconds", request["args"])

    def test_a_chat_is_one_request(self):
        run = self.record(lambda: LLM().chat(["a"]))
        self.assertEqual([s["name"] for s in run.of("request")], ["LLM.chat"])

    def test_a_failure(self):
        def call():
            with self.assertRaises(RuntimeError):
                LLM().generate("broken")
            LLM().generate(["a"])
        run = self.record(call)
        self.assertEqual(["failed" in s["flags"] for s in run.of("request")], [True, False])

    def test_sglang(self):
        run = self.record(lambda: (Engine().generate("a"), Engine().generate(["a", "b"]),
                                   asyncio.run(Engine().async_generate("a"))))
        self.assertEqual([(s["args"]["answers"], s["args"]["tokens_out"]) for s in run.of("request")],
                         [(1, 6), (2, 12), (1, 6)])

    def test_several_tasks_at_once(self):
        async def ask():
            engine = Engine()
            await asyncio.gather(*(engine.async_generate("a") for _ in range(3)))
        run = self.record(lambda: asyncio.run(ask()))
        self.assertEqual(len(run.of("request")), 3)

    def test_a_stream_is_left_alone(self):
        run = self.record(lambda: list(Engine().generate("a", stream=True)))
        self.assertEqual((len(self.result), run.of("request")), (1, []))


if __name__ == "__main__":
    unittest.main()
