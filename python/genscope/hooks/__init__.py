"""Recording what libraries do, without a change to the program.

    genscope.hooks.install()                     # or: genscope run -- python program.py
    genscope.hooks.install(["diffusers", "torch"])

Each module of this folder named in HOOKS knows one library. It patches the library when the program
imports it, never before, and imports nothing by itself. A hook that does not find what it looks for
says so with `problem()`, and the program goes on as if it were not there.
"""
from __future__ import annotations

import importlib
import os
from typing import Optional, Sequence

from .._imports import time_import
from ._report import done, problem

# Name for --instrument -> module here. Each has install() and registers with when_imported().
HOOKS = {
    "torch": "torch_",
    "diffusers": "diffusers_",
    "transformers": "transformers_",
    "accelerate": "accelerate_",
    "trainer": "trainer",
    "lightning": "lightning_",
    "comfyui": "comfyui",
    "servers": "servers",
}
# Libraries whose import is a span of its own, "import torch": seconds at the start of a program.
LIBRARIES = ("torch", "diffusers", "transformers", "accelerate", "lightning", "pytorch_lightning")
_installed: "set[str]" = set()


def parse(text: str) -> "list[str]":
    """The names that `--instrument` or $GENSCOPE_INSTRUMENT asks for; ValueError for others."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if words in ([], ["auto"]):
        return list(HOOKS)
    if words == ["none"]:
        return []
    for word in words:
        if word not in HOOKS:
            raise ValueError(f"--instrument: there is no {word!r}; give auto, none, or some of "
                             + ", ".join(HOOKS))
    return words


def install(names: Optional[Sequence[str]] = None) -> None:
    """Installs the hooks of these names, of all without any. ValueError for a name that there is not;
    raises nothing else."""
    for name in names or ():
        if name not in HOOKS:
            raise ValueError(f"hooks.install: there is no {name!r}; there are " + ", ".join(HOOKS))
    for library in LIBRARIES if names is None or names else ():
        time_import(library)
    for name in (list(HOOKS) if names is None else names):
        if name in _installed:
            continue
        _installed.add(name)
        try:
            importlib.import_module("." + HOOKS[name], __name__).install()
        except Exception as error:
            problem(name, f"the hook itself failed: {error!r}")


def install_from_environment() -> None:
    try:
        names = parse(os.environ.get("GENSCOPE_INSTRUMENT", "auto"))
    except ValueError as error:
        problem("instrument", str(error))
        return
    install(names)


__all__ = ["HOOKS", "done", "install", "install_from_environment", "parse", "problem"]
