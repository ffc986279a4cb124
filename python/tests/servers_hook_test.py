#!/usr/bin/env python3
"""Requests of Flask and gradio, without middleware. Both are doubles that have what the hook uses, in the
shape of flask 3.1 and gradio 6; FastAPI, Starlette and aiohttp are real in torch/servers_test.py."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import ProgramCase

FLASK = '''
class _Rule:
    rule = "/make/<user>"

class _Map:
    def bind_to_environ(self, environ):
        self.path = environ["PATH_INFO"]
        return self
    def match(self, return_rule):
        if not self.path.startswith("/make/"):
            raise LookupError
        return _Rule, {}

class Flask:
    def __init__(self):
        self.url_map = _Map()
    def wsgi_app(self, environ, start_response):
        if environ["PATH_INFO"] == "/make/boom":
            raise RuntimeError
        found = environ["PATH_INFO"].startswith("/make/")
        start_response("200 OK" if found else "404 NOT FOUND", [])
        return self.body()
    def body(self):
        from genscope._core import begin, end
        from genscope._request import kind_of_generation
        end(begin("Pipeline", kind_of_generation()))
        yield b"picture"
    def __call__(self, environ, start_response):
        return self.wsgi_app(environ, start_response)
'''

PROGRAM = '''
import genscope as gs
from genscope import hooks
hooks.install(["servers"])
import flask.app, gradio.blocks, asyncio

def serve(app, path, close=True):
    body = app({"PATH_INFO": path, "REQUEST_METHOD": "POST"}, lambda line, headers: None)
    parts = b"".join(body)
    body.close()
    return parts

with gs.session("s", run_dir="run", probes=[], quiet=True):
    app = flask.app.Flask()
    print(serve(app, "/make/ann"), serve(app, "/nowhere"))
    try:
        serve(app, "/make/boom")
    except RuntimeError:
        print("raised")
    blocks = gradio.blocks.Blocks()
    print(asyncio.run(blocks.process_api(gradio.blocks.BlockFunction(), ["cat"])))
'''

GRADIO = '''
class BlockFunction:
    api_name = "predict"

class Blocks:
    async def process_api(self, block_fn, inputs, state=None):
        from genscope._core import begin, end
        from genscope._request import kind_of_generation
        end(begin("Pipeline", kind_of_generation()))
        return inputs
'''


class Servers(ProgramCase):
    def test_requests_hold_their_generations(self):
        for package, module, text in (("flask", "app", FLASK), ("gradio", "blocks", GRADIO)):
            self.write(f"{package}/__init__.py", "")
            self.write(f"{package}/{module}.py", text)
        done = self.python(PROGRAM)
        self.assertEqual(done.stdout, "b'picture' b'picture'\nraised\n['cat']\n", done.stderr)
        run = self.recorded()
        requests = [s for s in run.spans if s["kind"] == "request"]
        told = [(r["name"], r["args"].get("http_status"), r["args"].get("error"),
                 [s["name"] for s in run.children(r)]) for r in requests]
        self.assertEqual(told, [("/make/<user>", 200, None, ["Pipeline"]),
                                ("unmatched", 404, None, ["Pipeline"]),
                                ("/make/<user>", None, "RuntimeError", []),
                                ("predict", None, None, ["Pipeline"])], json.dumps(run.spans))


if __name__ == "__main__":
    unittest.main()
