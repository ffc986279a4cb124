"""Ray Serve routes; genscope works inside each replica: one lane for the device, and a cache that the replicas share
in Redis. Without Redis each replica goes on with its own memory.

    REDIS_URL=redis://127.0.0.1:6379 TINYDIFF=build/release/bin/tinydiff serve run ray_serve:app
"""
import os
import subprocess
import tempfile

from ray import serve
from starlette.requests import Request
from starlette.responses import Response

from genscope.optimize import Cache, Lane, key


def generate(prompt: str, seed: int, steps: int) -> bytes:
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        subprocess.run([os.environ["TINYDIFF"], "--prompt", prompt, "--seed", str(seed), "--steps", str(steps), "--size",
                        "32", "--out", file.name], check=True, stdout=subprocess.DEVNULL)
        return file.read()


@serve.deployment(num_replicas=2, max_ongoing_requests=16, ray_actor_options={"num_cpus": 0.5})
class Pictures:
    def __init__(self):
        self.lane = Lane("cpu")
        self.cache = Cache("256MB", redis=os.environ["REDIS_URL"])
        self.made = 0

    async def __call__(self, request: Request) -> Response:
        asked = request.query_params
        words = asked["prompt"], int(asked.get("seed", 0)), int(asked.get("steps", 2))

        async def make() -> bytes:
            self.made += 1
            return await self.lane.arun(generate, *words)

        # All that goes into the picture is in the key; the engine is of one version here.
        picture = await self.cache.aget_or_load(key("picture", "tinydiff", *words), make)
        return Response(picture, media_type="image/png", headers={"X-Replica": str(os.getpid()), "X-Made": str(self.made)})


app = Pictures.bind()
