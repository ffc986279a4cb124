"""Adapters for ModelManager.register: models of torch, pipelines of diffusers. Nothing is downloaded."""
from __future__ import annotations

import gc
import pathlib
from typing import Any, Callable, Optional, Union

from .models import Adapter


def _bytes_of(module: Any) -> int:
    """Of parameters and buffers, each storage once."""
    seen: dict[int, int] = {}
    for tensor in [*module.parameters(), *module.buffers()]:
        storage = tensor.untyped_storage()
        seen[storage.data_ptr()] = storage.nbytes()
    return sum(seen.values())


def _modules_of(pipeline: Any) -> list[Any]:
    import torch
    return [part for part in pipeline.components.values() if isinstance(part, torch.nn.Module)]


def _let_go(_: Any) -> None:
    """Frees what the framework keeps of a model once its last reference has gone."""
    import torch
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _dtype(dtype: Any) -> Any:
    import torch
    if not isinstance(dtype, str):
        return dtype
    found = getattr(torch, dtype, None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"torch has no dtype {dtype}; for example bfloat16, float16, float32")
    return found


def _movable(device: Optional[str]) -> bool:
    return device is not None and not str(device).startswith("cpu")


def torch_model(factory: Callable[[], Any], device: Optional[str] = None, dtype: Any = None) -> Adapter:
    """A torch.nn.Module that `factory()` makes, in eval mode, on the manager's device or on `device`.
    On a device that is not the CPU it can sleep in host memory (give the manager a host_budget)."""
    def load(where: str) -> Any:
        return factory().eval().to(device=device or where, dtype=_dtype(dtype))

    sleeps = _movable(device)
    return Adapter(load, _let_go, size=_bytes_of,
                   sleep=(lambda model: (model.to("cpu"), _let_go(model))[1]) if sleeps else None,
                   wake=(lambda model: model.to(device)) if sleeps else None)


def diffusers_pipeline(folder: Union[str, pathlib.Path], device: Optional[str] = None, dtype: Any = None,
                       **more: Any) -> Adapter:
    """The pipeline that `save_pretrained` wrote to a folder, on the manager's device or on `device`.
    `more` goes to from_pretrained. Its declared bytes are those of the weight files."""
    folder = pathlib.Path(folder)
    if not (folder / "model_index.json").is_file():
        what = "is no folder" if not folder.is_dir() else "has no model_index.json"
        raise FileNotFoundError(
            f"{folder} {what}: a pipeline is a folder that save_pretrained wrote. genscope downloads "
            f"nothing; to get one: hf download ORGANIZATION/MODEL --local-dir {folder}")

    def load(where: str) -> Any:
        from diffusers import DiffusionPipeline
        wanted = {"torch_dtype": _dtype(dtype)} if dtype is not None else {}
        pipeline = DiffusionPipeline.from_pretrained(str(folder), local_files_only=True, **wanted, **more)
        return pipeline.to(device or where)

    def size(pipeline: Any) -> int:
        return sum(_bytes_of(part) for part in _modules_of(pipeline))

    files = [f for f in folder.rglob("*") if f.suffix in (".safetensors", ".bin", ".gguf")]
    sleeps = _movable(device)
    return Adapter(load, _let_go, bytes=sum(f.stat().st_size for f in files), size=size,
                   sleep=(lambda pipe: (pipe.to("cpu"), _let_go(pipe))[1]) if sleeps else None,
                   wake=(lambda pipe: pipe.to(device)) if sleeps else None)
