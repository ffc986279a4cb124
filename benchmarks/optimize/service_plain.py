"""What benchmarks/optimize/service.py compares with: FastAPI with its thread pool, as tutorials have it.

A lock around the pipeline is the least that it needs: two calls at once fail.
"""
import io
import pathlib
import sys
import threading

import torch
from fastapi import FastAPI, Response
from pydantic import BaseModel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "service"))
import model  # noqa: E402

app = FastAPI()
pipe = model.load()
lock = threading.Lock()


class Ask(BaseModel):
    prompt: str
    seed: int = 0
    steps: int = 4


@app.post("/generate")
def generate(ask: Ask) -> Response:
    with lock:
        image = pipe(ask.prompt, num_inference_steps=ask.steps, width=32, height=32,
                     generator=torch.Generator().manual_seed(ask.seed)).images[0]
    file = io.BytesIO()
    image.save(file, "PNG")
    return Response(file.getvalue(), media_type="image/png")


@app.get("/stats")
def stats() -> dict:
    return {}
