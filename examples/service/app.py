"""An image service: admission by deadline, priorities, batches, cache, model swapping, spans of every request.

    uvicorn app:app                         # in this folder; the models are tiny and made on the spot
    genscope run -- uvicorn app:app         # recorded: queue, load, batch and run of every request
    curl -d '{"prompt": "a red cat", "seed": 7}' -H 'content-type: application/json' localhost:8000/generate
"""
import io
import os
from typing import Literal

import torch
from fastapi import FastAPI, Response
from pydantic import BaseModel, Field

import genscope as gs
import model

SLO = float(os.environ.get("SLO", "5"))  # seconds

models = gs.optimize.ModelManager(budget="4MB", device="cpu")  # room for one of the two: they are swapped
for number, name in enumerate(("day", "night")):
    models.register(name, lambda number=number: gs.optimize.wrap(model.load(number), cache="16MB"), bytes="3MB")


class Ask(BaseModel):
    prompt: str
    seed: int = 0
    steps: int = Field(4, ge=1, le=50)
    model: Literal["day", "night"] = "day"
    priority: Literal["interactive", "bulk"] = "interactive"
    deadline: float = Field(SLO, gt=0)


def run(asks: "list[Ask]") -> "list[bytes]":
    """A batch: of one model, with one number of steps."""
    with models.lease(asks[0].model) as pipe:
        images = pipe([ask.prompt for ask in asks], num_inference_steps=asks[0].steps, width=32, height=32,
                      generator=[torch.Generator().manual_seed(ask.seed) for ask in asks]).images
    files = [io.BytesIO() for _ in images]
    for image, file in zip(images, files):
        image.save(file, "PNG")
    return [file.getvalue() for file in files]


service = gs.optimize.Service(run, most=4, slo=SLO, classes={"interactive": 64, "bulk": 256}, closes=[models])
app = FastAPI()
app.add_middleware(gs.asgi.Service, service=service)  # also /metrics, /stats, 503, drain on SIGTERM


@app.post("/generate")
async def generate(ask: Ask) -> Response:
    image = await service(ask, key=ask.model_dump(exclude={"priority", "deadline"}), alike=f"{ask.model} {ask.steps}",
                          priority=ask.priority, cost=ask.steps, timeout=ask.deadline)
    return Response(image, media_type="image/png")
