"""OptimizationConfig: the document's 20 fields, with a check that tells every error at once."""
from __future__ import annotations

import dataclasses
import difflib
import math
from typing import Any, Dict, List, NamedTuple, Optional, Tuple


class ConfigProblem(NamedTuple):
    """One error: where, what is wrong, what to write instead."""
    path: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}; {self.remedy}"


class ConfigError(ValueError):
    """Every error of a config. `problems` has them as data."""

    def __init__(self, problems: "List[ConfigProblem]") -> None:
        super().__init__("\n".join(["OptimizationConfig:", *(f"  {each}" for each in problems)]))
        self.problems = problems


@dataclasses.dataclass
class OptimizationConfig:
    """Settings of the optimizer. What a field does here stands beside it."""
    # GPU settings
    use_gpu: bool = True                       # the first of gpu_ids that is there; else the CPU, and a note
    gpu_ids: List[int] = dataclasses.field(default_factory=lambda: [0])
    mixed_precision: bool = True               # weights in bfloat16 or float16 on a GPU; float32 on a CPU
    gradient_accumulation_steps: int = 4       # of training: no effect here

    # Memory management
    max_memory_usage: float = 0.8              # share of the device's memory that models may take
    enable_gradient_checkpointing: bool = True  # of training: no effect here
    enable_attention_slicing: bool = True      # not switched on where attention is SDPA: it would only slow down

    # Caching
    cache_enabled: bool = True
    cache_size: int = 1000                     # entries
    cache_ttl: int = 3600                      # seconds

    # Profiling
    enable_profiling: bool = False             # records a run, for `genscope report`
    profile_memory: bool = True                # with samples of memory
    profile_cpu: bool = True                   # with samples of CPU

    # Experiment tracking
    enable_wandb: bool = False
    enable_tensorboard: bool = True            # if it is installed
    experiment_name: str = "ai_video_optimization"

    # Async settings
    max_concurrent_tasks: int = 4
    task_timeout: float = 300.0                # seconds; the caller is told at once

    # Model settings
    model_name: str = "stabilityai/stable-diffusion-2-1"  # a folder, or a name in the local cache
    tokenizer_name: str = "openai/clip-vit-large-patch14"  # if it is here; else the model's own

    def to_dict(self) -> "Dict[str, Any]":
        return dataclasses.asdict(self)

    def void_settings(self) -> "Dict[str, str]":
        """Settings that are on and do nothing, with the reason."""
        void = {}
        if self.enable_gradient_checkpointing:
            void["enable_gradient_checkpointing"] = (
                "it saves memory in backward passes, and generation has none; set it to False")
        if self.gradient_accumulation_steps != 1:
            void["gradient_accumulation_steps"] = (
                "gradients are accumulated in training, and generation has none; set it to 1")
        return void


_FIELDS = {field.name: field for field in dataclasses.fields(OptimizationConfig)}
_WHOLE: "Dict[str, Tuple[int, str]]" = {  # name -> (least, what to write)
    "gradient_accumulation_steps": (1, "write 1"),
    "cache_size": (1, "write a number of entries such as 1000, or cache_enabled=False"),
    "cache_ttl": (1, "write seconds such as 3600, or cache_enabled=False"),
    "max_concurrent_tasks": (1, "write 1 to 8: one device runs one generation at a time anyway"),
}
_FLAGS = tuple(name for name, field in _FIELDS.items() if field.type in ("bool", bool))
_TEXTS = ("experiment_name", "model_name", "tokenizer_name")


def optimization_config_errors(config: Any) -> "List[ConfigProblem]":
    """Every error of a config, or of a dict of its fields; empty if there is none."""
    if isinstance(config, dict):
        problems = [_unknown(str(name)) for name in config if name not in _FIELDS]
        config = OptimizationConfig(**{name: value for name, value in config.items() if name in _FIELDS})
    elif isinstance(config, OptimizationConfig):
        problems = [_unknown(name) for name in vars(config) if name not in _FIELDS]
    else:
        return [ConfigProblem("config", f"is a {type(config).__name__}", "give an OptimizationConfig or a dict")]
    for name in _FLAGS:
        value = getattr(config, name)
        if type(value) is not bool:
            problems.append(ConfigProblem(name, f"is {value!r}", "write True or False"))
    for name, (least, remedy) in _WHOLE.items():
        value = getattr(config, name)
        if type(value) is not int or value < least:
            problems.append(ConfigProblem(name, f"is {value!r}, no whole number of at least {least}", remedy))
    for name in _TEXTS:
        value = getattr(config, name)
        if not isinstance(value, str) or not value.strip():
            problems.append(ConfigProblem(name, f"is {value!r}", f"write a name such as {_FIELDS[name].default!r}"))
    problems += [problem for problem in (_ids(config.gpu_ids), _share(config.max_memory_usage),
                                         _timeout(config.task_timeout)) if problem is not None]
    return sorted(problems, key=lambda problem: list(_FIELDS).index(problem.path)
                  if problem.path in _FIELDS else len(_FIELDS))


def _unknown(name: str) -> ConfigProblem:
    near = difflib.get_close_matches(name, _FIELDS, 1)
    return ConfigProblem(name, "is no setting", f"did you mean {near[0]}?" if near else
                         "see OptimizationConfig for those there are")


def _ids(value: Any) -> Optional[ConfigProblem]:
    fine = isinstance(value, (list, tuple)) and all(type(each) is int and each >= 0 for each in value)
    if fine and len(set(value)) == len(value) and value:
        return None
    return ConfigProblem("gpu_ids", f"is {value!r}, no list of different device numbers", "write [0]")


def _number(value: Any) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:  # a whole number that no float holds
        return False


def _share(value: Any) -> Optional[ConfigProblem]:
    if _number(value) and 0 < value <= 1:
        return None
    hint = f"write {value / 100:g}" if _number(value) and 1 < value <= 100 else "write a share such as 0.8"
    return ConfigProblem("max_memory_usage", f"is {value!r}, no share above 0 and up to 1", hint)


def _timeout(value: Any) -> Optional[ConfigProblem]:
    if _number(value) and value > 0:
        return None
    return ConfigProblem("task_timeout", f"is {value!r}, no time above 0", "write seconds such as 300.0")


def validate_optimization_config(config: Any) -> bool:
    """Whether there is no error; optimization_config_errors() tells them."""
    return not optimization_config_errors(config)


def create_optimization_config(**kwargs: Any) -> OptimizationConfig:
    """An unknown name is a ConfigError. Values are checked by validate_optimization_config()."""
    unknown = [_unknown(name) for name in kwargs if name not in _FIELDS]
    if unknown:
        raise ConfigError(unknown)
    return OptimizationConfig(**kwargs)
