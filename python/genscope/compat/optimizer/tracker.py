"""ExperimentTracker: metrics are counters of genscope's run, and go to W&B and TensorBoard if asked."""
from __future__ import annotations

import importlib
import logging
import math
from typing import Any, Dict, Iterator, Optional, Tuple

from ... import _core
from .config import OptimizationConfig

logger = logging.getLogger("genscope.compat.optimizer")
PROJECT = "ai-video-optimization"


def numbers_in(name: str, value: Any) -> "Iterator[Tuple[str, float]]":
    """(name, number) of a number, of a tensor with one element, or of a dict of those."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from numbers_in(f"{name}/{key}", each)
        return
    from .._torch import number
    found = number(value)
    if found is not None and not isinstance(value, bool) and math.isfinite(found):
        yield name, float(found)


class ExperimentTracker:
    """What is not installed is said once and left out; nothing of it can fail a generation."""

    def __init__(self, config: OptimizationConfig) -> None:
        self.config = config
        self.absent: "Dict[str, str]" = {}
        self._wandb = self._open_wandb() if config.enable_wandb else None
        self._board = self._open_tensorboard() if config.enable_tensorboard else None

    def _open_wandb(self) -> Any:
        try:
            module = importlib.import_module("wandb")
            return module.init(project=PROJECT, name=self.config.experiment_name,
                               config=self.config.to_dict(), settings=module.Settings(silent=True))
        except Exception as error:  # not installed, no account, no network
            return self._without("wandb", error)

    def _open_tensorboard(self) -> Any:
        try:
            writer = importlib.import_module("torch.utils.tensorboard").SummaryWriter
            return writer(log_dir=f"logs/tensorboard/{self.config.experiment_name}")
        except Exception as error:
            return self._without("tensorboard", error)

    def _without(self, what: str, error: Exception) -> None:
        self.absent[what] = f"{type(error).__name__}: {error}"
        log = logger.warning if what == "wandb" else logger.info  # tensorboard is on by default
        log("%s is not used: %s", what, self.absent[what])

    def log_metric(self, name: str, value: Any, step: Optional[int] = None) -> None:
        """A number, or a dict of numbers under name/key. What is neither is left out."""
        for key, number in numbers_in(name, value):
            _core.counter(key, number)
            if self._board is not None:
                self._board.add_scalar(key, number, step)
            if self._wandb is not None:
                self._wandb.log({key: number}, step=step)

    def log_config(self, config: Any = None) -> None:
        given = config if config is not None else self.config
        facts = given.to_dict() if hasattr(given, "to_dict") else dict(given)
        _core.event("config", **{name: value if isinstance(value, (bool, int, float, str)) else str(value)
                                 for name, value in facts.items()})
        if self._board is not None:
            self._board.add_text("config", str(facts))
        if self._wandb is not None:
            self._wandb.config.update(facts, allow_val_change=True)

    def finish(self) -> None:
        """May be called again."""
        board, self._board = self._board, None
        if board is not None:
            board.close()
        run, self._wandb = self._wandb, None
        if run is not None:
            run.finish()
