"""Document 001: PerformanceValidator, BenchmarkSuite, BenchmarkResult, GPUMonitor. The work is done
by genscope's core (include/genscope/compat/validator.h); docs/bench-validate.md says what differs
from the original."""
from __future__ import annotations

import contextlib
import datetime
import json
import logging
import math
import os
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from .. import _core
from ..bench._function import accepted
from ._benchmark import Absent, BenchmarkResult, BenchmarkSuite, plain, put_fields
from .inferix.monitors import GPUMonitor as _GPUMonitor

logger = logging.getLogger(__name__)


class GPUMonitor(_GPUMonitor):
    """Samples GPUs in the background; stop_monitoring() gives the statistics, None without a GPU
    (`absent` says why)."""

    def __init__(self, sampling_interval: float = 0.1, max_data_points: int = 10000,
                 device_ids: "Optional[List[int]]" = None) -> None:
        super().__init__(sampling_interval, max_data_points, device_ids)

    def start_monitoring(self) -> None:
        self.clear_data()
        super().start_monitoring()


# What a test may say, and the names under which functions take it.
_TAKEN = {
    "image_path": ("image_path", "image"),
    "model_name": ("model_name", "model"),
    "num_steps": ("num_steps", "num_inference_steps", "steps"),
    "batch_size": ("batch_size", "num_images_per_prompt", "batch"),
}


class _Generator:
    """A user's function for the core: called with what its signature takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._names, places, self._any = accepted(function)
        # Names that a second value in order would fill: an image, as the document passes it.
        self._second = len(places) > 1

    def name_of(self, what: str) -> Optional[str]:
        found = next((name for name in _TAKEN[what] if name in self._names), None)
        return found or (what if self._any else None)

    def takes_resolution(self) -> bool:
        return self._any or "resolution" in self._names or {"width", "height"} <= set(self._names)

    def passed(self) -> "List[str]":
        """Of resolution, num_steps, batch_size: those that reach the function."""
        names = ["resolution"] if self.takes_resolution() else []
        return names + [what for what in ("num_steps", "batch_size") if self.name_of(what)]

    def _arguments(self, image: Optional[str], model: Optional[str], resolution: "Optional[Tuple[int, int]]",
                   steps: Optional[int], batch: Optional[int]) -> "Tuple[Tuple[Any, ...], Dict[str, Any]]":
        named: "Dict[str, Any]" = {}
        for what, value in (("model_name", model), ("num_steps", steps), ("batch_size", batch)):
            name = self.name_of(what)
            if value is not None and name is not None:
                named[name] = value
        if resolution is not None:
            if "resolution" in self._names or (self._any and "width" not in self._names):
                named["resolution"] = resolution
            elif self.takes_resolution():
                named["width"], named["height"] = resolution
        if image is None:
            return (), named
        name = next((name for name in _TAKEN["image_path"] if name in self._names), None)
        return ((), {**named, name: image}) if name else ((image,), named)

    def __call__(self, prompt: str, *rest: Any) -> "Tuple[Optional[str], Optional[float]]":
        places, named = self._arguments(*rest)
        began = time.perf_counter_ns()
        try:
            made = self._function(prompt, *places, **named)
        except Exception as error:
            return f"{type(error).__name__}: {error}", None
        seconds = (time.perf_counter_ns() - began) * 1e-9
        return ("the function returned None" if made is None else None), seconds


def _result(text: str) -> BenchmarkResult:
    return put_fields(BenchmarkResult(), json.loads(text))


class PerformanceValidator:
    """Measures generators, judges them against targets, and two of them against each other.

        validator = create_performance_validator(target_improvement=50.0, target_time=5.0)
        results = validator.run_speed_improvement_validation(slow, fast, "a cat")
        results["validation_status"], results["improvement_factor"], results["improvement_interval"]

    A target is met if the conservative end of the interval meets it. From any thread.
    """

    def __init__(self, target_improvement_factor: float = 50.0, target_generation_time: float = 5.0, *,
                 runs_min: int = 5, runs_max: int = 20, budget_seconds: float = 60.0, warmup: int = 1,
                 gpu: bool = True, sampling_interval: float = 0.1) -> None:
        self.target_improvement_factor = float(target_improvement_factor)
        self.target_generation_time = float(target_generation_time)
        self.baseline_metrics: Any = None
        self._core = _core.PerformanceValidator(
            target_improvement_factor=self.target_improvement_factor,
            target_generation_time=self.target_generation_time, runs_min=runs_min, runs_max=runs_max,
            budget_seconds=float(budget_seconds), warmup=warmup, gpu=gpu,
            sampling_interval=float(sampling_interval))

    @property
    def benchmark_results(self) -> "List[BenchmarkResult]":
        return [_result(text) for text in self._core.results()]

    @property
    def hardware_info(self) -> "Dict[str, Any]":
        import sys
        info = json.loads(self._core.hardware())
        info["pytorch_version"] = getattr(sys.modules.get("torch"), "__version__", None)
        return info

    @contextlib.contextmanager
    def benchmark_generation(self, test_name: str, model_name: str = "", architecture_type: str = "MMDiT",
                             num_steps: int = 20, resolution: "Tuple[int, int]" = (1024, 1024),
                             multimodal_enabled: bool = False) -> "Iterator[Tuple[BenchmarkResult, Any]]":
        """Times its block: `with validator.benchmark_generation("name") as (result, monitor):`. The
        result has its figures when the block has ended; an exception makes it a failure and goes on."""
        from .generation import PerformanceMonitor
        monitor = PerformanceMonitor(self.target_generation_time)
        result = BenchmarkResult(test_name=test_name, model_name=model_name,
                                 architecture_type=architecture_type, num_steps=num_steps,
                                 resolution=tuple(resolution), multimodal_enabled=multimodal_enabled,
                                 target_time=self.target_generation_time)
        begun = self._core.begin(test_name, model_name, architecture_type, num_steps, tuple(resolution),
                                 multimodal_enabled)
        error: Optional[str] = None
        try:
            with monitor.monitor_generation(model_name=model_name, architecture_type=architecture_type,
                                            num_steps=num_steps, resolution=resolution):
                yield result, monitor
        except BaseException as raised:
            error = f"{type(raised).__name__}: {raised}"
            raise
        finally:
            put_fields(result, json.loads(begun.end(error)))
            _log(result)

    def set_baseline_metrics(self, metrics: Any) -> None:
        """Metrics with `total_generation_time`, a dict of them, or seconds. Every later result then
        has an improvement_factor."""
        seconds = metrics.get("total_generation_time") if isinstance(metrics, dict) else \
            getattr(metrics, "total_generation_time", metrics)
        if not isinstance(seconds, (int, float)) or not math.isfinite(seconds) or seconds <= 0:
            raise ValueError(f"a baseline needs a total_generation_time above 0, and has {seconds!r}")
        self._core.set_baseline(float(seconds))
        self.baseline_metrics = metrics

    def run_end_to_end_performance_test(self, generator_function: Callable[..., Any],
                                        test_prompts: "List[str]",
                                        model_name: str = "Qwen-Image") -> BenchmarkResult:
        """Each prompt once, after one call that does not count. total_time is the mean."""
        return _log(_result(self._core.end_to_end(_Generator(generator_function), list(test_prompts),
                                                  model_name)))

    def run_gpu_utilization_benchmark(self, generator_function: Callable[..., Any],
                                      test_prompt: str = "A beautiful landscape",
                                      duration_seconds: float = 30.0) -> BenchmarkResult:
        """Calls it for that long. total_time is that of one generation."""
        return _log(_result(self._core.gpu(_Generator(generator_function), test_prompt,
                                           float(duration_seconds))))

    def run_speed_improvement_validation(self, before_function: Callable[..., Any],
                                         after_function: Callable[..., Any],
                                         test_prompt: str = "A beautiful landscape") -> "Dict[str, Any]":
        """In turns, several runs each. PASSED if the lower end of the interval reaches the target."""
        found = json.loads(self._core.speed(_Generator(before_function), _Generator(after_function),
                                            test_prompt))
        for name in ("improvement_factor", "improvement_percent", "time_saved_seconds"):
            if found[name] is None:
                found[name] = Absent(found["reason"])
        logger.info("speed improvement: %s: %s", found["validation_status"], found["reason"])
        return found

    def run_multimodal_performance_benchmark(self, qwen2vl_function: Callable[..., Any],
                                             text_prompts: "List[str]",
                                             image_paths: "Optional[List[str]]" = None) -> BenchmarkResult:
        """The n-th prompt goes with the n-th image. Each time is the mean over the calls of its kind."""
        return _log(_result(self._core.multimodal(_Generator(qwen2vl_function), list(text_prompts),
                                                  image_paths)))

    def run_regression_test_suite(self, generator_function: Callable[..., Any],
                                  benchmark_suite: BenchmarkSuite,
                                  multimodal_function: Optional[Callable[..., Any]] = None) -> "Dict[str, Any]":
        """Every resolution, step count, batch size, and model if the function takes one; then the multimodal function,
        with the suite's qwen2vl_model if it takes one. What the function does not take is told in summary["notes"]."""
        generator = _Generator(generator_function)
        suite = benchmark_suite
        models = suite.models_to_test if generator.name_of("model_name") else []
        second = None if multimodal_function is None else _Generator(multimodal_function)
        found = json.loads(self._core.suite(
            generator, second, suite.name, suite.target_improvement_factor, suite.target_generation_time,
            suite.test_resolutions, suite.test_step_counts, suite.test_batch_sizes, models,
            suite.include_multimodal_tests, suite.qwen2vl_model, suite.runs_per_test, os.fspath(suite.baseline_path)))
        passed = generator.passed()
        missing = [name for name in ("resolution", "num_steps", "batch_size") if name not in passed]
        found["parameters_passed"] = passed
        if missing:
            found["summary"]["notes"].append(
                f"the function does not take {', '.join(missing)}: tests that differ only in these "
                "made the same call")
            if "num_steps" in missing:
                for test in found["test_results"]:
                    test["per_step_time"] = None  # nobody knows how many it made
        found["hardware_info"] = self.hardware_info
        return found

    def export_benchmark_results(self, filepath: Any) -> None:
        """Everything, as JSON. A file that cannot be written raises."""
        self._core.export(os.fspath(filepath))

    def get_performance_summary(self) -> "Dict[str, Any]":
        summary = json.loads(self._core.summary())
        if "hardware_info" in summary:
            summary["hardware_info"] = self.hardware_info
        return summary

    def clear_results(self) -> None:
        self._core.clear()
        self.baseline_metrics = None


def _log(result: BenchmarkResult) -> BenchmarkResult:
    logger.info("%s: %s, %.3f s (target %.1f s), score %.1f, success %s %%", result.test_name,
                "PASSED" if result.target_met else "FAILED", result.total_time, result.target_time,
                result.performance_score, format(result.success_rate, ".1f"))
    return result


def create_performance_validator(target_improvement: float = 50.0,
                                 target_time: float = 5.0) -> PerformanceValidator:
    return PerformanceValidator(target_improvement, target_time)


def create_default_benchmark_suite() -> BenchmarkSuite:
    return BenchmarkSuite(name="Default MMDiT Performance Benchmark")


@contextlib.contextmanager
def validate_performance_improvement(before_function: Callable[..., Any],
                                     after_function: Callable[..., Any],
                                     test_prompt: str = "A beautiful landscape",
                                     target_improvement: float = 50.0) -> "Iterator[Dict[str, Any]]":
    """Validates, and writes performance_validation_<time>.json into the current folder; the path is
    results["export_path"]."""
    validator = PerformanceValidator(target_improvement)
    stamp = datetime.datetime.now().strftime("%Y%m%d_%H%M%S")
    path = f"performance_validation_{stamp}.json"
    results = validator.run_speed_improvement_validation(before_function, after_function, test_prompt)
    results["export_path"] = path
    try:
        yield results
    finally:
        validator.export_benchmark_results(path)


def compare_before_after(before: Any, after: Any,
                         target_generation_time: Optional[float] = None) -> "Dict[str, Any]":
    """Two recorded runs (paths), or lists of runs: figures, and of several runs a verdict
    (docs/compare.md)."""
    sides = [[os.fspath(run) for run in (side if isinstance(side, (list, tuple)) else [side])]
             for side in (before, after)]
    return json.loads(_core.compare(sides[0], sides[1], "json",
                                    target_generation_time or 0.0, 0.02, False))


__all__ = ["Absent", "BenchmarkResult", "BenchmarkSuite", "GPUMonitor", "PerformanceValidator",
           "compare_before_after", "create_default_benchmark_suite", "create_performance_validator",
           "plain", "validate_performance_improvement"]
