"""ModelManager: tokenizers, models and pipelines from local folders. Nothing is downloaded."""
from __future__ import annotations

import asyncio
import gc
import logging
import os
import threading
from typing import Any, Callable, Dict, Optional, Set, Tuple

from ... import optimize
from .config import OptimizationConfig
from .devices import GPUManager

logger = logging.getLogger("genscope.compat.optimizer")


class ModelMissing(FileNotFoundError):
    """A model that is not on this machine, with how to get it."""

    def __init__(self, setting: str, name: str) -> None:
        super().__init__(
            f"{setting}: {name!r} is neither a folder nor in the local Hugging Face cache, and genscope "
            f"downloads nothing by itself. Get it with `hf download {name}`, or give the folder that "
            "save_pretrained() has written")


def local_folder(name: str, setting: str = "model_name") -> str:
    """The folder of a model, by path or by its name in the local cache. Raises ModelMissing."""
    if os.path.isdir(name):
        return name
    if name.count("/") == 1 and not name.startswith((".", "/")):
        try:
            from huggingface_hub import snapshot_download
            return snapshot_download(name, local_files_only=True)
        except Exception:  # of many kinds, all of them: not here
            pass
    raise ModelMissing(setting, name)


class ModelManager:
    """Each is loaded once, however many ask for it at a time, on a thread that holds up no task, and
    stays until unload_model(). Together they keep within max_memory_usage of the device's memory.
    Pipelines come wrapped (genscope.optimize.wrap): any task may call them."""

    def __init__(self, config: Optional[OptimizationConfig] = None,
                 gpu_manager: Optional[GPUManager] = None, cache: Any = None) -> None:
        self.config = config or OptimizationConfig()
        self.gpu_manager = gpu_manager or GPUManager(self.config.gpu_ids, self.config.max_memory_usage,
                                                     use_gpu=self.config.use_gpu)
        self.notes: "Dict[str, str]" = {}
        self._cache = cache
        self._manager: Any = None
        self._leases: "Dict[Tuple[str, str], Any]" = {}
        self._known: "Set[Tuple[str, str]]" = set()
        self._mutex = threading.Lock()

    async def load_tokenizer(self, tokenizer_name: Optional[str] = None) -> Any:
        name = tokenizer_name or self.config.tokenizer_name
        return await self._once("tokenizer", name, lambda: _auto("AutoTokenizer", name, "tokenizer_name"))

    async def load_model(self, model_name: Optional[str] = None) -> Any:
        """A model of transformers, on the primary device."""
        name = model_name or self.config.model_name

        def load() -> Any:
            model = _auto("AutoModel", name, "model_name", torch_dtype=self._dtype())
            return model.to(self.gpu_manager.get_primary_device()).eval()
        return await self._once("model", name, load)

    async def load_diffusion_pipeline(self, model_name: Optional[str] = None) -> Any:
        name = model_name or self.config.model_name
        return await self._once("pipeline", name, lambda: self._pipeline(name))

    async def unload_model(self, model_name: Optional[str] = None) -> bool:
        """Whether there was one of that name."""
        name = model_name or self.config.model_name
        with self._mutex:
            keys = [key for key in self._leases if key[1] == name]
            leases = [self._leases.pop(key) for key in keys]
        for key, lease in zip(keys, leases):
            lease.release()
            self._manager.unload(" ".join(key))
        had = bool(leases)
        leases.clear()
        if had:
            await asyncio.to_thread(self._manager.settle)
            gc.collect()
            await self.gpu_manager.clear_cache()
        return had

    async def unload_all(self) -> None:
        for name in self.loaded():
            await self.unload_model(name)

    def loaded(self) -> "list[str]":
        with self._mutex:
            return sorted({name for _, name in self._leases})

    def pipelines(self) -> "list[Any]":
        with self._mutex:
            return [lease.model for (kind, _), lease in self._leases.items() if kind == "pipeline"]

    async def _once(self, kind: str, name: str, load: Callable[[], Any]) -> Any:
        key = (kind, name)
        with self._mutex:
            if key in self._leases:
                return self._leases[key].model
        return await asyncio.to_thread(self._lease, key, load)

    def _lease(self, key: "Tuple[str, str]", load: Callable[[], Any]) -> Any:
        with self._mutex:
            if self._manager is None:
                device = self.gpu_manager.get_primary_device()
                self._manager = optimize.ModelManager({str(device): self.gpu_manager.memory_bytes(device)})
            if key not in self._known:
                self._manager.register(" ".join(key), load, size=_bytes_of)
                self._known.add(key)
        try:
            lease = self._manager.take(" ".join(key))
        except optimize.ModelError as error:
            if error.__cause__ is not None:  # what the load itself raised
                raise error.__cause__ from None
            raise
        with self._mutex:
            held = self._leases.setdefault(key, lease)
        if held is not lease:
            lease.release()
        return held.model

    def _dtype(self) -> Any:
        import torch
        device = self.gpu_manager.get_primary_device()
        if not self.config.mixed_precision or device.type != "cuda":
            if self.config.mixed_precision:
                self.notes["mixed_precision"] = "there is no GPU: float32"
            return torch.float32
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16

    def _pipeline(self, name: str) -> Any:
        from diffusers import DiffusionPipeline
        folder = local_folder(name)
        pipe = DiffusionPipeline.from_pretrained(folder, torch_dtype=self._dtype(), local_files_only=True)
        pipe.to(self.gpu_manager.get_primary_device())
        pipe.set_progress_bar_config(disable=True)
        if self.config.enable_attention_slicing:
            self._slice_attention(pipe)
        return optimize.wrap(pipe, cache=self._cache, name=f"optimizer/{os.path.basename(os.path.normpath(name))}")

    def _slice_attention(self, pipe: Any) -> None:
        """Where attention still makes the whole matrix; elsewhere it only slows down."""
        from ...hooks.diffusers_state import attention
        denoiser = getattr(pipe, "unet", None) or getattr(pipe, "transformer", None)
        backend = attention(denoiser).get("set.attn") if denoiser is not None else None
        if backend == "naive" and hasattr(pipe, "enable_attention_slicing"):
            pipe.enable_attention_slicing()
            return
        self.notes["enable_attention_slicing"] = (
            f"left off: attention is {backend or 'of a kind that cannot be sliced'}, which never holds the "
            "whole matrix; slices would save nothing and cost time")
        logger.warning("enable_attention_slicing: %s", self.notes["enable_attention_slicing"])


def _bytes_of(made: Any) -> int:
    """Of the weights; 1 for what has none."""
    import torch
    parts = made.components.values() if hasattr(made, "components") else [made]
    return 1 + sum(tensor.nbytes for part in parts if isinstance(part, torch.nn.Module)
                   for held in (part.parameters(), part.buffers()) for tensor in held)


def _auto(kind: str, name: str, setting: str, **more: Any) -> Any:
    import transformers
    return getattr(transformers, kind).from_pretrained(local_folder(name, setting), local_files_only=True,
                                                       **more)
