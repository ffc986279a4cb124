"""Injection by `genscope run`, and the hooks of diffusers on a package that only looks like it."""
from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import duck_pipeline
import genscope
from genscope.hooks import _patch

from harness import spans_of

GENSCOPE = os.environ["GENSCOPE_BIN"]
GENERATE = "from diffusers import duck\npipe = duck.pipeline()\npipe('a cat')\n"
SAID = "from genscope.hooks._report import _said\nprint(*sorted(_said), sep='\\n')\n"
STAGES = ["text_encode", "denoise", "vae_decode", "post"]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="genscope-hooks-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.run_dir = os.path.join(self.folder, "run")

    def run_script(self, script: str, *options: str, code: int = 0,
                   **files: str) -> subprocess.CompletedProcess:
        duck_pipeline.write(self.folder, **files)
        path = os.path.join(self.folder, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(script))
        environment = {**os.environ, "PYTHONPATH": self.folder}
        done = subprocess.run([GENSCOPE, "run", "--no-gpu", "--run-dir", self.run_dir, *options, "--",
                               sys.executable, path], capture_output=True, text=True, timeout=120,
                              env=environment)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def spans(self) -> "list[dict]":
        return spans_of(self.run_dir)

    def names(self, kind: str) -> "list[str]":
        return [s["name"] for s in self.spans() if s["kind"] == kind]

    def failed(self) -> "list[tuple[str, str]]":
        return [(s["name"], s["args"].get("error")) for s in self.spans() if "failed" in s["flags"]]

    def advice(self, fact: str = "true") -> "set[str]":
        """Rules that fire; FACT is one of them where this condition holds."""
        path = os.path.join(self.folder, "rules.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("rules:\n  - id: FACT\n    title: t\n    advice: a\n    citation: c\n"
                       f"    condition: >-\n      {fact}\n")
        text = subprocess.run([GENSCOPE, "advise", self.run_dir, "--json", "--rules", path],
                              check=True, capture_output=True, text=True).stdout
        return {finding["rule"] for finding in json.loads(text)["findings"]}


class Start(unittest.TestCase):
    def test_older_interpreters_can_read_the_file_that_they_are_given(self):
        path = os.path.join(os.path.dirname(genscope.__file__), "inject/sitecustomize.py")
        with open(path, encoding="utf-8") as file:
            ast.parse(file.read(), feature_version=(3, 4))


    def test_every_library_that_a_hook_waits_for_wakes_it(self):
        script = ("import genscope._imports, genscope.hooks\ngenscope.hooks.install()\n"
                  "print(*genscope._imports._waiting)\n")
        package = os.path.dirname(os.path.dirname(genscope.__file__))
        out = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True,
                             env={**os.environ, "PYTHONPATH": package}).stdout
        path = os.path.join(package, "genscope/inject/sitecustomize.py")
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        (waking,) = [ast.literal_eval(node.value.args[0]) for node in tree.body
                     if isinstance(node, ast.Assign) and node.targets[0].id == "WAKING"]
        # A server by itself generates nothing: its requests count once something else is imported.
        servers = {"starlette", "flask", "aiohttp", "gradio"}
        waited = {name.split(".")[0] for name in out.split()} - {"asyncio"} - servers
        self.assertEqual(waited | {"genscope"}, set(waking))


class Waking(Case):
    def test_a_program_without_such_a_library_loads_nothing_of_ours(self):
        done = self.run_script("import sys\nprint([m for m in sys.modules if 'genscope' in m])\n")
        self.assertEqual(done.stdout, "[]\n")
        self.assertIn("it used no library that genscope knows", done.stderr)

    def test_genscope_need_not_be_installed(self):
        done = self.run_script("import genscope as gs, genscope, sys\nwith gs.stage('mine'): pass\n"
                               "print(gs.__spec__.origin == gs.__file__, gs is sys.modules['genscope'],\n"
                               "      gs.__loader__ is gs.__spec__.loader)\n")
        self.assertEqual(done.stdout, "True True True\n")
        self.assertEqual(self.names("stage"), ["mine"])

    def test_two_threads_that_import_at_once_are_both_seen(self):
        with open(os.path.join(self.folder, "transformers.py"), "w", encoding="utf-8"):
            pass
        self.run_script(textwrap.dedent("""
            import importlib, threading
            together = threading.Barrier(2)
            def work(name):
                together.wait()
                importlib.import_module(name)
            threads = [threading.Thread(target=work, args=(n,)) for n in ("diffusers", "transformers")]
            [t.start() for t in threads]
            [t.join() for t in threads]
            """) + GENERATE)
        imports = {s["name"] for s in spans_of(self.run_dir, imports=True)} - {s["name"] for s in self.spans()}
        self.assertEqual(imports, {"import diffusers", "import transformers"})
        self.assertEqual(self.names("request"), ["DuckPipeline"])

    def test_who_asks_where_a_library_is_gets_its_answer(self):
        done = self.run_script("from importlib.util import find_spec\nprint(find_spec('diffusers').name)\n"
                               "print(find_spec('pytorch_lightning'))\n" + GENERATE)
        self.assertEqual(done.stdout, "diffusers\nNone\n")
        self.assertEqual(self.names("request"), ["DuckPipeline"])


class Pipelines(Case):
    def test_inside_of_a_served_request_it_is_a_stage_of_it(self):
        self.run_script("import asyncio\nfrom genscope.asgi import RequestMonitor\n"
                        "from diffusers import duck\npipe = duck.pipeline()\n"
                        "async def app(scope, receive, send):\n"
                        "    pipe('a cat')\n"
                        "    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n"
                        "    await send({'type': 'http.response.body', 'body': b''})\n"
                        "async def nothing(*message): return {'type': 'http.request'}\n"
                        "scope = {'type': 'http', 'method': 'GET', 'path': '/', 'headers': []}\n"
                        "asyncio.run(RequestMonitor(app)(scope, nothing, nothing))\n")
        spans = self.spans()
        (request,) = [s for s in spans if s["kind"] == "request"]
        (pipeline,) = [s for s in spans if s["name"] == "DuckPipeline"]
        self.assertEqual((pipeline["kind"], pipeline["parent"]), ("stage", request["id"]))

    def test_stages_steps_and_passes(self):
        self.run_script(GENERATE)
        spans = self.spans()
        (request,) = [s for s in spans if s["kind"] == "request"]
        self.assertEqual(request["name"], "DuckPipeline")
        self.assertEqual((request["args"]["steps"], request["args"]["width"]), (4, 64))
        below = [s for s in spans if s["parent"] == request["id"]]
        self.assertEqual([s["name"] for s in below], STAGES)
        steps = [s for s in spans if s["kind"] == "step"]
        self.assertEqual([s["args"]["index"] for s in steps], [0, 1, 2, 3])
        self.assertEqual([s["args"]["timestep"] for s in steps], [4, 3, 2, 1])
        self.assertEqual({s["parent"] for s in steps}, {below[1]["id"]})
        for step in steps:
            inside = [(s["name"], s["args"].get("pass")) for s in spans
                      if s["parent"] == step["id"]]
            self.assertEqual(inside, [("transformer", "cond"), ("transformer", "uncond"),
                                      ("scheduler.step", None)])
        self.assertEqual(self.failed(), [])
        self.assertIn("CFG-2X", self.advice())
        self.assertIn("FACT", self.advice("set.steps == 4 && !set.vae_tiling"))

    def test_facts_of_the_end(self):
        self.run_script(GENERATE)
        self.assertIn("FACT", self.advice("lora.switches == 0"))

    def test_an_image_is_encoded(self):
        self.run_script("from diffusers import duck\nduck.pipeline()('a', image=1)\n")
        self.assertEqual(self.names("stage"), ["text_encode", "vae_encode", *STAGES[1:]])

    def test_loads(self):
        self.run_script("""
            from diffusers import duck
            for _ in range(2):
                duck.DuckPipeline.from_pretrained("some/model", subfolder="x")('a')
            duck.DuckPipeline.from_pretrained("https://me:secret@host/a/b.bin?token=secret")
            """)
        loads = [s for s in self.spans() if s["kind"] == "load"]
        self.assertEqual([(s["name"], s["args"]["file"]) for s in loads],
                         [("DuckPipeline", "some/model/x")] * 2
                         + [("DuckPipeline", "https://host/a/b.bin")])
        self.assertIn("LOAD-REPEAT", self.advice())

    def test_a_prompt_that_comes_again_is_told_but_not_kept(self):
        self.run_script("""
            from diffusers import duck
            pipe = duck.pipeline()
            for prompt in ("my secret", "my secret", "another"):
                pipe(prompt, num_inference_steps=1)
            """)
        keys = [s["args"]["prompt"] for s in self.spans() if s["name"] == "text_encode"]
        self.assertEqual(keys[0], keys[1])
        self.assertNotEqual(keys[0], keys[2])
        for span in self.spans():
            self.assertNotIn("secret", json.dumps(span))

    def test_an_exception_in_a_stage(self):
        self.run_script("""
            from diffusers import duck
            def fail(self, output, timestep, sample):
                raise ValueError("from the scheduler")
            duck.Scheduler.step = fail
            try:
                duck.pipeline()('a')
            except ValueError as error:
                assert str(error) == "from the scheduler"
            else:
                raise SystemExit(5)
            """)
        self.assertEqual(dict(self.failed()),
                         {name: "ValueError" for name in ("DuckPipeline", "denoise", "step",
                                                          "scheduler.step")})
        self.assertIn("RUN-FAILED", self.advice())

    def test_a_preview_is_inside_its_step_where_the_loop_is_known_to_go_on(self):
        self.run_script("""
            from diffusers import duck
            pipe = duck.pipeline()
            pipe._num_timesteps = 4
            pipe('a', on_step=lambda i: pipe.vae.decode(0))
            """)
        spans = {s["id"]: s for s in self.spans()}
        parents = [spans[s["parent"]]["name"] for s in spans.values() if s["name"] == "vae_decode"]
        self.assertEqual(parents, ["step"] * 3 + ["DuckPipeline"] * 2)
        self.assertEqual(len([s for s in spans.values() if s["name"] == "denoise"]), 1)

    def test_a_loop_of_unknown_length_ends_where_decoding_begins(self):
        self.run_script("""
            from diffusers import duck
            class Silent(duck.Scheduler):
                step_index = None
                def set_timesteps(self, count):
                    self.timesteps = [count - i for i in range(count)]
                def step(self, output, timestep, sample):
                    return output
            pipe = duck.pipeline()
            pipe.scheduler = Silent()
            pipe('a')
            """)
        spans = self.spans()
        (request,) = [s for s in spans if s["kind"] == "request"]
        self.assertEqual([s["name"] for s in spans if s["parent"] == request["id"]], STAGES)
        self.assertEqual(len([s for s in spans if s["kind"] == "step"]), 4)
        self.assertEqual(self.failed(), [])

    def test_in_an_event_loop(self):
        self.run_script("""
            import asyncio
            from diffusers import duck
            async def serve(prompt):
                await asyncio.sleep(0)
                duck.pipeline()(prompt, num_inference_steps=2)
            async def main():
                await asyncio.gather(serve('a'), serve('b'))
            asyncio.run(main())
            """)
        spans = self.spans()
        requests = [s for s in spans if s["kind"] == "request"]
        self.assertEqual(len(requests), 2)
        for request in requests:
            self.assertEqual([s["name"] for s in spans if s["parent"] == request["id"]], STAGES)

    def test_a_pipeline_with_another_call(self):
        self.run_script("""
            from diffusers import duck
            class Mine(duck.DuckPipeline):
                def __call__(self, prompt):
                    return super().__call__(prompt, num_inference_steps=2)
            duck.pipeline()  # from now on the base is wrapped too
            Mine(duck.Denoiser(), duck.Scheduler(), duck.VAE())('a')
            """)
        self.assertEqual(self.names("request"), ["Mine"])
        self.assertEqual(self.names("stage"), STAGES)

    def test_slow_parts_are_found(self):
        self.run_script("""
            import time
            from diffusers import duck
            class Slow(duck.VAE):
                def decode(self, latents):
                    time.sleep(3)  # against the start of a process on a busy machine
                    return latents
            pipe = duck.pipeline()
            pipe.vae = Slow()
            pipe('a', num_inference_steps=60)
            """)
        self.assertLessEqual({"VAE-SHARE", "STEP-MANY"}, self.advice())


class Patching(unittest.TestCase):
    """genscope.hooks._patch by itself."""

    def setUp(self):
        self.log = []

    def around(self, owner, name="work", **options):
        return _patch.around(owner, name, lambda self_, args, kwargs: (args, kwargs),
                             lambda token, self_, result, error:
                             self.log.append((token, result, type(error).__name__)), **options)

    def test_once_for_each_class(self):
        class Base:
            def work(self, x, *, y=0):
                return x + y

        class Derived(Base):
            pass
        for kind in (Base, Base, Derived):
            self.assertTrue(self.around(kind))
        self.assertEqual(Derived().work(1, y=2), 3)
        self.assertEqual(self.log, [(((1,), {"y": 2}), 3, "NoneType")])
        self.assertEqual(list(inspect.signature(Derived.work).parameters), ["self", "x", "y"])

    def test_inherited_methods_are_looked_up_late(self):
        class Base:
            def work(self):
                return 1

        class Derived(Base):
            pass
        self.assertTrue(self.around(Derived))
        Base.work = lambda self: 2
        self.assertEqual(Derived().work(), 2)
        self.assertEqual(len(self.log), 1)

    def test_class_and_static_methods(self):
        class Kind:
            @classmethod
            def make(cls, x):
                return cls, x

            @staticmethod
            def plain(x):
                return x

        class Below(Kind):
            pass
        self.assertTrue(self.around(Kind, "make") and self.around(Kind, "plain"))
        self.assertEqual((Below.make(1), Kind.plain(2)), ((Below, 1), 2))
        self.assertEqual(len(self.log), 2)

    def test_coroutines(self):
        class Kind:
            async def work(self):
                return 5
        self.assertTrue(self.around(Kind))
        self.assertEqual(asyncio.run(Kind().work()), 5)
        self.assertEqual(len(self.log), 1)

    def test_theirs_passes_and_ours_does_not(self):
        def broken(*_):
            raise RuntimeError("ours")

        class Kind:
            def work(self):
                raise KeyError("theirs")

            def fine(self):
                return 1
        self.around(Kind)
        with self.assertRaisesRegex(KeyError, "theirs"):
            Kind().work()
        self.assertEqual(self.log[0][2], "KeyError")
        _patch.around(Kind, "fine", broken, broken)
        self.assertEqual(Kind().fine(), 1)
        _patch.around(Kind, "__init__", lambda *_: 1, broken)
        Kind()

    def test_what_cannot_be_wrapped_is_said(self):
        self.assertFalse(self.around(int, "bit_length"))
        self.assertFalse(self.around(Patching, "no_such_method"))
        Patching.a_number = 3
        self.assertFalse(self.around(Patching, "a_number"))


class Survival(Case):
    def test_internals_that_moved(self):
        done = self.run_script(
            "import diffusers.pipelines.pipeline_utils\nprint('fine')\n" + SAID,
            utils="class Pipeline: pass\n")
        self.assertIn("fine", done.stdout)
        self.assertIn("has no DiffusionPipeline", done.stdout)

    def test_methods_that_moved(self):
        done = self.run_script(
            GENERATE + SAID,
            duck=duck_pipeline.DUCK.replace("def step(", "def advance(")
            .replace("scheduler.step(", "scheduler.advance("))
        self.assertIn("it has no step", done.stdout)
        self.assertEqual(self.names("request"), ["DuckPipeline"])
        self.assertEqual(self.failed(), [("step", "NoSchedulerStep")])

    def test_a_module_that_raises_at_import(self):
        done = self.run_script("""
            for _ in range(2):
                try:
                    import diffusers.pipelines.pipeline_utils
                except RuntimeError as error:
                    print("told:", error)
            """, utils="raise RuntimeError('broken on purpose')\n")
        self.assertEqual(done.stdout, "told: broken on purpose\n" * 2)

    def test_no_library_at_all(self):
        done = self.run_script("""
            import sys
            try:
                import diffusers.no_such_module
            except ModuleNotFoundError as error:
                print(error.name)
            print("torch" in sys.modules, "diffusers" in sys.modules)
            """)
        self.assertEqual(done.stdout, "diffusers.no_such_module\nFalse True\n")

    def test_switched_off(self):
        done = self.run_script("import sys\n" + GENERATE +
                               "print([m for m in sys.modules if 'genscope' in m])\n",
                               "--instrument", "none")
        self.assertEqual(done.stdout, "[]\n")
        self.assertEqual(self.names("request"), [])

    def test_only_what_is_asked_for(self):
        self.run_script(GENERATE, "--instrument", "torch")
        self.assertEqual(self.names("request"), [])

    def test_exit_without_clean_up(self):
        self.run_script(GENERATE + "import os\nos._exit(3)\n", code=3)
        self.assertEqual(self.names("request"), ["DuckPipeline"])
        self.assertEqual(self.names("stage"), STAGES)

    def test_interrupt(self):
        self.run_script("""
            import os, signal
            from diffusers import duck
            duck.pipeline()('a', on_step=lambda i: os.kill(os.getpid(), signal.SIGINT))
            """, code=130)
        self.assertIn(("DuckPipeline", "KeyboardInterrupt"), self.failed())
        self.assertIn(("denoise", "KeyboardInterrupt"), self.failed())

    def test_children(self):
        for method in ("fork", "spawn"):
            with self.subTest(method):
                self.run_dir = os.path.join(self.folder, method)
                self.run_script(f"""
                    import multiprocessing
                    from diffusers import duck
                    def work(prompt):
                        duck.pipeline()(prompt)
                    if __name__ == "__main__":
                        duck.pipeline()('here')
                        context = multiprocessing.get_context({method!r})
                        children = [context.Process(target=work, args=('a',)) for _ in range(2)]
                        [child.start() for child in children]
                        [child.join() for child in children]
                        assert all(child.exitcode == 0 for child in children)
                    """)
                requests = [s for s in self.spans() if s["kind"] == "request"]
                self.assertEqual(len({s["pid"] for s in requests}), 3)
                self.assertEqual(len(self.names("step")), 12)

    def test_subinterpreters_are_refused(self):
        package = os.path.dirname(os.path.dirname(genscope.__file__))
        done = self.run_script(textwrap.dedent(f"""
            try:
                import _xxsubinterpreters as interpreters
            except ImportError:
                import _interpreters as interpreters
            other = interpreters.create()
            try:
                problem = interpreters.run_string(
                    other, "import sys; sys.path.insert(0, {package!r}); import genscope")
            except Exception as error:
                problem = error
            print("refused" if "ImportError" in repr(problem) else problem)
            print(interpreters.run_string(other, "import json"))
            """) + GENERATE)
        self.assertEqual(done.stdout, "refused\nNone\n")
        self.assertEqual(self.names("request"), ["DuckPipeline"])

    def test_users_sitecustomize_and_exit_code_stay(self):
        with open(os.path.join(self.folder, "sitecustomize.py"), "w", encoding="utf-8") as file:
            file.write("print('mine')\n")
        done = self.run_script(GENERATE + "raise SystemExit(9)\n", code=9)
        self.assertEqual(done.stdout, "mine\n")
        self.assertEqual(self.names("request"), ["DuckPipeline"])


if __name__ == "__main__":
    unittest.main()
