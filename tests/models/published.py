"""Published networks: name -> class, expected architecture, buffers and tensors (name -> shape).

published.json.gz holds what the classes of diffusers and transformers (by their names) and of ComfyUI
(o-, c-: the authors' names) give with the configurations of published models. publish.py makes it;
configurations are in published_configs.json.
"""
import gzip
import json
import pathlib

HERE = pathlib.Path(__file__).parent


def unfold(node, prefix=""):
    """Blocks that are equal are stored once: "0-18" are 19 of them."""
    tensors = {}
    for key, value in node.items():
        first, dash, last = key.partition("-")
        numbered = dash and first.isdigit() and last.isdigit() and isinstance(value, dict)
        # "2-1" is a name in Z-Image; a range goes up.
        numbered = numbered and int(first) < int(last)
        for name in (map(str, range(int(first), int(last) + 1)) if numbered else (key,)):
            if isinstance(value, dict):
                tensors |= unfold(value, f"{prefix}{name}.")
            else:
                tensors[prefix + name] = value
    return tensors


def load():
    with gzip.open(HERE / "published.json.gz", "rt") as file:
        networks = json.load(file)
    for network in networks.values():
        network["tensors"] = unfold(network["tensors"])
    return networks
