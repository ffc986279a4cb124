#!/usr/bin/env python3
"""What genscope.optimize.wrap costs and saves, with tiny pipelines and with the module tree of a real one.

wrap.py [--only calls|read] [--json FILE]     with the interpreter of tools/torch, PYTHONPATH at the built package

"overhead": median of the differences of pairs, a plain call and a wrapped one with the same new seed, in turns.
"read": the pipeline's state, as it is read before and after each run; "first": when nothing of it is known. The large
one has the modules and tensors of SDXL (UNet and both encoders) with few channels: reading costs by their number, not by
their size. Times are CPU seconds of the process in user code, so that others on the machine count less.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "tests" / "torch"))
import torch  # noqa: E402

import genscope as gs  # noqa: E402
import tiny_text  # noqa: E402
from genscope.optimize._pipeline_state import Reader  # noqa: E402


def spent(function):
    began = os.times().user
    function()
    return os.times().user - began


def spent_each(function, times):
    """Of one of many: the clock of user CPU time ticks slowly."""
    return spent(lambda: [function() for _ in range(times)]) / times


def large():
    from diffusers import UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel
    pipe, _ = tiny_text.sdxl()
    pipe.register_modules(
        unet=UNet2DConditionModel(
            block_out_channels=(32, 64, 128), layers_per_block=2, sample_size=16, in_channels=4, out_channels=4,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"), attention_head_dim=(2, 4, 8),
            use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=8,
            transformer_layers_per_block=(1, 2, 10), projection_class_embeddings_input_dim=80,
            cross_attention_dim=64, norm_num_groups=1).eval(),
        text_encoder=CLIPTextModel(CLIPTextConfig(hidden_size=32, num_attention_heads=4, intermediate_size=37,
                                                  vocab_size=100, num_hidden_layers=12)).eval(),
        text_encoder_2=CLIPTextModel(CLIPTextConfig(hidden_size=32, num_attention_heads=4, intermediate_size=37,
                                                    vocab_size=100, num_hidden_layers=32)).eval())
    return pipe


def count(pipe):
    modules = [part for part in pipe.components.values() if isinstance(part, torch.nn.Module)]
    return (sum(1 for part in modules for _ in part.modules()),
            sum(1 for part in modules for held in (part.parameters(), part.buffers()) for _ in held))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=("calls", "read"))
    parser.add_argument("--json")
    given = parser.parse_args()
    rows = (calls() if given.only != "read" else []) + (reads() if given.only != "calls" else [])
    for row in rows:
        print(f"{row['name']:56}{row['value']:10.2f} {row['unit']}")
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(rows, indent=1))


def calls():
    rows = []
    for name, make in tiny_text.ALL.items():
        pipe, arguments = make()
        pipe(**arguments, generator=tiny_text.seeded())
        plain, first, hit = [], [], []
        wrapped = gs.optimize.wrap(make()[0], cache="256MB")
        wrapped(**arguments, generator=tiny_text.seeded(0))
        for turn in range(9):
            seeds = range(1 + 5 * turn, 6 + 5 * turn)
            for into, called in (plain, pipe), (first, wrapped), (hit, wrapped):
                into.append(spent(lambda: [called(**arguments, generator=tiny_text.seeded(s)) for s in seeds]) / 5)
        over = [b - a for a, b in zip(plain, first)]
        for what, values in (("plain", plain), ("wrapped, another seed", first), ("overhead", over),
                             ("wrapped, again", hit)):
            rows.append({"name": f"{name}: {what}", "value": statistics.median(values) * 1e3, "unit": "ms"})
    return rows


def reads():
    rows = []
    for name, pipe in (("tiny SDXL", tiny_text.sdxl()[0]), ("modules of SDXL", large())):
        modules, tensors = count(pipe)
        reader = Reader(pipe)
        reader.digest(reader.read())
        first, again = [], []
        for _ in range(7):  # in turns
            first.append(spent_each(lambda: Reader(pipe).read(), 5))
            again.append(spent_each(lambda: reader.digest(reader.read()), 20))
        size = f"{name}, {modules} modules, {tensors} tensors"
        rows.append({"name": f"read, first: {size}", "value": statistics.median(first) * 1e3, "unit": "ms"})
        rows.append({"name": f"read: {size}", "value": statistics.median(again) * 1e3, "unit": "ms"})
    return rows


if __name__ == "__main__":
    main()
