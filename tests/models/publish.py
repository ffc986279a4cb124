#!/usr/bin/env python3
"""Makes published.json.gz anew from published_configs.json: instances without weights.

publish.py [COMFYUI]   needs diffusers, transformers and accelerate (`tools/torch python`), and for
                       the authors' names a checkout of ComfyUI with einops; without it those stay.
                       Expectations (architecture, vocabulary) are kept from the present file.
"""
import gzip
import importlib
import inspect
import json
import sys

import published


def fold(node):
    """Equal neighbours that are numbered become one: "0-18"."""
    if not isinstance(node, dict):
        return node
    named, runs = {}, []
    for key, value in node.items():
        value = fold(value)
        if not key.isdigit():
            named[key] = value
        elif runs and runs[-1][1] + 1 == int(key) and runs[-1][2] == value:
            runs[-1][1] = int(key)
        else:
            runs.append([int(key), int(key), value])
    return named | {f"{a}-{b}" if b > a else str(a): value for a, b, value in runs}


def nest(tensors):
    root = {}
    for name, shape in tensors.items():
        *path, last = name.split(".")
        node = root
        for word in path:
            node = node.setdefault(word, {})
        node[last] = shape
    return root


def make(entry):
    import accelerate
    import torch
    if entry["library"] == "comfyui":
        import comfy.ops
        kind = getattr(importlib.import_module(entry["module"]), entry["class"])
        config = {key: getattr(torch, value) if key.endswith("dtype") else value
                  for key, value in entry["config"].items()}
        more = {"dtype": torch.bfloat16, "device": "meta", "operations": comfy.ops.manual_cast}
        known = inspect.signature(kind.__init__).parameters
        anything = any(p.kind == p.VAR_KEYWORD for p in known.values())
        config |= {key: value for key, value in more.items() if anything or key in known}
        # PixArt computes with a tensor while it is made
        with torch.device("cpu" if "pixart" in entry["module"] else "meta"):
            return kind(**config)
    library = importlib.import_module(entry["library"])
    with accelerate.init_empty_weights(include_buffers=False):
        if "config_class" not in entry:
            return getattr(library, entry["class"])(**entry["config"])
        config = getattr(library, entry["config_class"])(**entry["config"])
        return getattr(library, entry["class"])(config)


def describe(entry):
    model = make(entry)
    parameters = {name for name, _ in model.named_parameters(remove_duplicate=False)}
    tied = set(getattr(model, "_tied_weights_keys", None) or [])
    if not getattr(getattr(model, "config", None), "tie_word_embeddings", True):
        tied = set()
    state = {name: list(t.shape) for name, t in model.state_dict().items() if name not in tied}
    return {"buffers": [name for name in state if name not in parameters],
            "tensors": fold(nest(state))}


def main(argv):
    if argv:
        sys.path.insert(0, argv[0])
        sys.argv = ["publish.py", "--cpu"]
        import comfy.options
        comfy.options.enable_args_parsing()
    with gzip.open(published.HERE / "published.json.gz", "rt") as file:
        networks = json.load(file)
    for name, entry in json.loads((published.HERE / "published_configs.json").read_text()).items():
        if entry["library"] == "comfyui" and not argv:
            continue
        known = networks.setdefault(name, {"architecture": None, "vocabulary": None})
        known |= {"class": entry["class"], **describe(entry)}
    lines = (json.dumps(name) + ":" + json.dumps(value, separators=(",", ":"))
             for name, value in sorted(networks.items()))
    with gzip.GzipFile(published.HERE / "published.json.gz", "wb", 9, mtime=0) as file:
        file.write(("{\n" + ",\n".join(lines) + "\n}\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
