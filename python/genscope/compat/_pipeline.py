"""PipelineOptimizer of document 000: which settings fit an architecture, a GPU and a model."""
from __future__ import annotations

import json
from typing import Any, Optional

from .. import _core

# What a pipeline takes when it is called; the others are for when it is loaded.
_CALL = {"true_cfg_scale": float, "guidance_scale": float, "num_inference_steps": int,
         "width": int, "height": int}


class PipelineOptimizer:
    """`config`: any object or dict whose values of the same names win, such as
    num_inference_steps, width, height, true_cfg_scale; `gpu` and `model` in it make the cost model
    speak too (docs/predict.md)."""

    def __init__(self, config: Any = None) -> None:
        self.config = config

    def _configured(self, name: str) -> Any:
        if isinstance(self.config, dict):
            return self.config.get(name)
        return getattr(self.config, name, None)

    def recommend_settings(self, architecture: str, gpu: Optional[str] = None,
                           model: Optional[str] = None) -> "dict[str, Any]":
        """Each setting with its reason and source, and advice that is void today."""
        gpu = gpu or self._configured("gpu")
        model = model or self._configured("model")
        try:
            return json.loads(_core.pipeline_settings(architecture, gpu, model))
        except FileNotFoundError as error:  # a name that no table has
            raise ValueError(str(error)) from None

    def configure_generation_settings(self, architecture: str) -> "dict[str, Any]":
        """Keywords for the pipeline's call: `pipeline(**settings)`."""
        settings = {}
        for row in self.recommend_settings(architecture)["settings"]:
            if row["key"] in _CALL:
                settings[row["key"]] = _CALL[row["key"]](float(row["value"]))
        for name in _CALL:
            value = self._configured(name)
            # The architecture decides which of the two guides.
            other = name in ("true_cfg_scale", "guidance_scale") and name not in settings
            if value is not None and not other:
                settings[name] = value
        return settings
