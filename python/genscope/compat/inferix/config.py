"""ProfilingConfig: the settings of document 002, with its defaults."""
from __future__ import annotations

import dataclasses
import re
from typing import Any, Dict, Optional

from ... import _core

_FORMATS = ("html", "json", "both", "text", "csv")


@dataclasses.dataclass
class ProfilingConfig:
    """Intervals in seconds. What is switched off is not even asked of the driver."""
    enabled: bool = False
    gpu_monitor_interval: float = 0.5
    cpu_monitor_interval: float = 1.0
    monitor_gpu_memory: bool = True
    monitor_gpu_utilization: bool = True
    monitor_gpu_temperature: bool = True
    monitor_gpu_power: bool = True
    monitor_cpu_usage: bool = True
    monitor_system_memory: bool = True
    real_time_display: bool = True
    display_interval: float = 5.0
    generate_final_report: bool = True
    save_raw_data: bool = False
    output_dir: Optional[str] = None  # None: ./profiling_reports
    report_format: str = "both"  # html, json, both; text and csv are ours
    max_data_points: int = 10000  # of each list that a session keeps; later ones are only counted
    profile_inference_steps: bool = True
    profile_vae_decode: bool = True
    profile_text_encoding: bool = True
    profile_diffusion_steps: bool = True
    profile_block_computation: bool = True
    profile_model_parameters: bool = True
    session_tags: Dict[str, Any] = dataclasses.field(default_factory=dict)
    keep_args: bool = False  # ours: secrets of the command line stay as they are

    def __post_init__(self) -> None:
        for name in ("gpu_monitor_interval", "cpu_monitor_interval", "display_interval"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, and is {getattr(self, name)!r}")
        if not self.max_data_points > 0:
            raise ValueError(f"max_data_points must be above 0, and is {self.max_data_points!r}")
        if self.report_format not in _FORMATS:
            raise ValueError(f"report_format must be one of {', '.join(_FORMATS)}, and is "
                             f"{self.report_format!r}")

    @classmethod
    def preset(cls, name: str, **changes: Any) -> "ProfilingConfig":
        """development, production or debugging (docs/config.md), with `changes`."""
        return cls(**{**_own(_core.preset(name)), **changes})

    @classmethod
    def from_yaml(cls, path: Any) -> "ProfilingConfig":
        """A settings file, read strictly; what it does not name has the defaults above. One that
        names no `enabled` is meant."""
        given = _core.load_config(str(path))
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if re.search(r"^\s*preset\s*:", text, re.M):
            return cls(**_own(given))
        named = set(re.findall(r"(?:^|[{,])\s*[\"']?(\w+)[\"']?\s*:", text, re.M)) | {"enabled"}
        return cls(**{key: value for key, value in _own(given).items() if key in named})


def _own(given: "dict[str, Any]") -> "dict[str, Any]":
    return {**given, "output_dir": given["output_dir"] or None}


# Of a stage that one of the profile_ switches turns off.
SWITCHED = {"text_encode": "profile_text_encoding", "text_encoding": "profile_text_encoding",
             "vae_decode": "profile_vae_decode", "vae_decoding": "profile_vae_decode"}


def skips(config: ProfilingConfig, stage: str) -> bool:
    switch = SWITCHED.get(stage)
    return switch is not None and not getattr(config, switch)


def skipped_spans(config: ProfilingConfig) -> "list[str]":
    """For a session: what the recorder leaves out as well."""
    names = [f"stage/{name}" for name in SWITCHED if skips(config, name)]
    return names if config.profile_inference_steps else [*names, "step"]
