"""What a pipeline is at this moment, as far as it decides what a call makes.

The idea: read everything that can be read cheaply, by path: settings of each module and scheduler,
LoRA scales, hooks, and of each tensor its address, version, shape, dtype, device and at least 32
values spread over it. A run itself changes some of it (a scheduler's timesteps, a VAE's buffers). What
differs right after a run from right before it is of the run, not of the user, and is left out of
keys from then on; a user's change falls between two runs, never inside of one.

The cost: benchmarks/optimize/wrap.py prints it. After the first time `Tree` (_pipeline_tree.py) looks only
whether what it found in each module is still there. A weight that is written in place through
`.data` moves neither address nor version; the values tell, unless none of those read changed.
`pipe.genscope.changed()` is for that.

Why weights' values and not a revision: LoRAs are fused into weights and then unloaded, and the
pipeline looks as before.
"""
from __future__ import annotations

import hashlib
from typing import Any

from ._pipeline_tree import Tree, name_of, value_of

# A run that changes one of these has not restored what the user chose: nothing is cached then.
_OF_THE_USER = ("scaling", "_active_adapter", "merged_adapters", "_disable_adapters", "values")
_NO_TEXT = ("vae", "vqvae", "movq", "vqgan", "safety_checker", "feature_extractor", "image_encoder",
            "image_processor", "video_processor", "mask_processor", "watermark")
# Of the call in progress or the last one; no encoder reads it.
PROGRESS = ("_num_timesteps", "_current_timestep", "_interrupt", "_progress_bar_config")


def is_text_side(name: str) -> bool:
    """Whether prompts may go through this component. When in doubt, yes."""
    return not (name in _NO_TEXT or name.startswith(("unet", "transformer", "controlnet", "prior"))
                or name == "scheduler" or name.endswith("_scheduler"))


class Reader:
    """Reads one pipeline. Not for two threads at once, but `read` may run beside a generation."""

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline
        self._of_runs: "set[str]" = set()
        self._trees: "dict[str, Tree]" = {}
        self._last: "tuple[dict[str, Any], bytes] | None" = None

    def read(self, text_only: bool = False) -> "dict[str, Any]":
        out: "dict[str, Any]" = {"class": name_of(type(self._pipeline)), "torch": _of_torch()}
        for name, part in list(vars(self._pipeline).items()):
            if name == "encode_prompt" and getattr(part, "_genscope", False):
                continue  # ours, while a call runs
            if text_only and not is_text_side(name):
                _note_place(out, name, part)
            elif text_only and name in PROGRESS:
                continue
            elif hasattr(part, "named_modules") and hasattr(part, "named_parameters"):
                self._read_module(out, name, part)
            else:
                _read(out, name, part)
        for name in self._trees.keys() - vars(self._pipeline).keys():
            del self._trees[name]
        return out

    def _read_module(self, out: "dict[str, Any]", name: str, part: Any) -> None:
        known = self._trees.get(name)
        if known is None or not known.read(out, part):
            self._trees[name] = made = Tree(name, part)
            out.update(made.first)

    def digest(self, state: "dict[str, Any]") -> bytes:
        """Without what runs change."""
        skip, kept = self._of_runs, self._last
        left = state
        if skip:
            left = dict(state)
            for path in skip:
                left.pop(path, None)
        if kept is not None and kept[0] == left:  # as mostly; comparing is cheaper than writing it out
            return kept[1]
        text = repr([(path, left[path]) for path in sorted(left)])
        found = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        self._last = (left, found)
        return found

    def learn(self, before: "dict[str, Any]", after: "dict[str, Any]") -> "str | None":
        """Notes what the run between the two changed. Gives a reason if nothing of it may be kept."""
        changed = {path for path, value in after.items() if before.get(path, _ABSENT) != value}
        changed |= before.keys() - after.keys()
        for path in changed:
            if path.rpartition(".")[2] in _OF_THE_USER:
                return "run_changed_the_model"
        self._of_runs = self._of_runs | changed
        return None


_ABSENT = object()


def _of_torch() -> Any:
    """Switches outside of the pipeline that change bits."""
    import torch
    return (torch.__version__, torch.get_num_threads(), str(torch.get_default_dtype()),
            str(torch.get_default_device()), torch.get_float32_matmul_precision(),
            torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.enabled,
            torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic,
            torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32,
            torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.mem_efficient_sdp_enabled(),
            torch.backends.cuda.math_sdp_enabled(), torch.backends.mkldnn.enabled,
            [(kind, torch.is_autocast_enabled(kind), str(torch.get_autocast_dtype(kind)))
             for kind in ("cpu", "cuda")])


def _note_place(out: "dict[str, Any]", path: str, part: Any) -> None:
    """Encoders ask other parts for nothing but these."""
    out[path + ".place"] = (name_of(type(part)), str(getattr(part, "dtype", None)),
                            str(getattr(part, "device", None)))


def _read(out: "dict[str, Any]", path: str, part: Any) -> None:
    if hasattr(part, "__dict__") and not isinstance(part, type) and not callable(part):
        _read_object(out, path, part)
    elif hasattr(part, "model_max_length") and hasattr(part, "__len__"):
        _read_tokenizer(out, path, part)
    else:
        out[path] = value_of(part, 3)


def _read_tokenizer(out: "dict[str, Any]", path: str, part: Any) -> None:
    out[path] = (name_of(type(part)), id(part), len(part))
    for name, value in list(vars(part).items()):
        out[f"{path}.{name}"] = value_of(value, 3)


def _read_object(out: "dict[str, Any]", path: str, part: Any) -> None:
    """A scheduler, an image processor: all of its attributes."""
    out[path] = name_of(type(part))
    for name, value in list(vars(part).items()):
        out[f"{path}.{name}"] = value_of(value, 3)
