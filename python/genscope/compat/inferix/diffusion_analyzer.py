"""DiffusionAnalyzer of document 002: what a profiler was told of steps, blocks and models."""
from __future__ import annotations

from typing import Any, Dict, List

from . import analysis, recommendations


class DiffusionAnalyzer:
    """Of the session that is open, else of the last one."""

    def __init__(self, base_profiler: Any) -> None:
        self.base_profiler = base_profiler

    def record_diffusion_step(self, *args: Any, **kwargs: Any) -> None:
        self.base_profiler.record_diffusion_step(*args, **kwargs)

    def record_block_computation(self, *args: Any, **kwargs: Any) -> None:
        self.base_profiler.record_block_computation(*args, **kwargs)

    def record_model_parameters(self, *args: Any, **kwargs: Any) -> None:
        self.base_profiler.record_model_parameters(*args, **kwargs)

    def _session(self) -> Any:
        profiler = self.base_profiler
        return profiler.current_session or profiler._last or profiler._before

    def get_diffusion_analysis(self) -> "Dict[str, Any]":
        return analysis.diffusion(self._session())

    def get_block_analysis(self) -> "Dict[str, Any]":
        return analysis.blocks(self._session())

    def get_model_analysis(self) -> "Dict[str, Any]":
        return analysis.models(self._session())

    def get_performance_recommendations(self) -> "List[Dict[str, str]]":
        return recommendations.of_diffusion(self.get_diffusion_analysis(),
                                            self.get_block_analysis())
