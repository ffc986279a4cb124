#!/usr/bin/env python3
"""Checks docs/coming-from.md.

coming_from_test.py ROOT [INCLUDE...]   ROOT: the checkout; INCLUDE: further folders of headers

1. Each name in a column C++ is declared in include/genscope: `Type`, `function`, `MACRO`,
   `Type::member`; each `genscope command` has a file in src/cli.
2. Each call of CALLS stands in the first column of its document's table.
3. A row of names, or one that says `not yet`: never neither. The same in the column Python, whose
   names exist in genscope.compat, or where they say; only if the package was built (PYTHONPATH).
"""
import importlib
import pathlib
import re
import sys

# Every call that the documents show, by document.
CALLS = {
    "000": """PerformanceMonitor monitor_generation start_timing end_timing start_step_timing
        end_step_timing validate_performance_target get_performance_summary
        get_before_after_comparison create_mmdit_performance_monitor
        monitor_generation_performance PipelineOptimizer configure_generation_settings
        PerformanceMetrics PerformanceMonitoringMiddleware""",
    "001": """create_performance_validator PerformanceValidator run_speed_improvement_validation
        run_end_to_end_performance_test run_gpu_utilization_benchmark
        run_multimodal_performance_benchmark run_regression_test_suite BenchmarkSuite
        BenchmarkResult GPUMonitor""",
    "002": """InferixProfiler ProfilingConfig session stage profile_function add_event
        get_current_metrics record_diffusion_step record_block_computation
        record_model_parameters DiffusionAnalyzer get_diffusion_analysis get_block_analysis
        get_model_analysis GPUMonitor CPUMonitor ProfilingReporter ProfilingIntegration
        aggregate_reports create_profiler_from_config get_profiling_summary
        profile_pipeline_function profile_method profile_session profile_diffusion_step
        profile_block_computation profile_model_parameters add_profiling_event max_data_points
        gpu_monitor_interval""",
    "003": """OptimizationConfig create_optimization_config validate_optimization_config
        create_performance_optimizer PerformanceOptimizer optimize_text_processing
        optimize_video_generation run_batch_optimization get_optimization_stats cleanup
        GPUManager get_memory_info ModelManager AsyncTaskManager PerformanceCache
        PerformanceProfiler ExperimentTracker calculate_memory_usage get_optimal_batch_size
        measure_execution_time retry_operation parallel_map""",
    "004": """PerformanceMonitor track print_summary get_metrics get_total_time
        get_operation_time clear to_csv duration_seconds cpu_delta_mb gpu_delta_mb operation
        track_performance monitor_performance EpochPerformanceMonitor on_epoch_start on_epoch_end
        on_batch_start on_batch_end get_statistics enable_memory_monitoring
        memory_monitor_batches""",
}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def body_of(text, name):
    """What stands between the braces of a type, or None."""
    head = re.search(r"\b(?:class|struct|enum class)\s+(?:\[\[\w+\]\]\s+)?%s\b[^;{]*\{" % name, text)
    if head is None:
        return None
    depth, at = 1, head.end()
    while depth and at < len(text):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[head.end():at]


class Headers:
    def __init__(self, folders):
        paths = sorted(p for folder in folders for p in pathlib.Path(folder).rglob("*.h"))
        self.texts = [COMMENT.sub("", p.read_text()) for p in paths]

    def has(self, name):
        if "::" in name:
            owner, member = name.split("::", 1)
            bodies = [body_of(text, owner) for text in self.texts]
            return any(body and re.search(r"\b%s\b" % member, body) for body in bodies)
        declared = (r"\b(?:class|struct|enum class|using)\s+(?:\[\[\w+\]\]\s+)?%s\b|#define %s\b|"
                    r"\b%s\s*\(|constexpr \w+ %s\b" % ((name,) * 4))
        return any(re.search(declared, text) for text in self.texts)


def rows(page):
    """(document, line, cells) of each row of the tables."""
    document = None
    for number, line in enumerate(page.splitlines(), 1):
        heading = re.match(r"## Document (\d{3})", line)
        if heading:
            document = heading.group(1)
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if document and line.startswith("| ") and cells[0] != "documented":
            yield document, number, cells


class Python:
    """The package; None of its names is checked if it was not built."""
    def __init__(self, root):
        self.sources = root / "python"
        try:
            self.built = importlib.import_module("genscope._core") is not None
        except ImportError:
            self.built = False
            print("the Python package is not built: its names are not checked")

    def has(self, name):
        if not self.built:
            return True
        words = name.split(".") if name.startswith("genscope.") else \
            ["genscope", "compat", *name.split(".")]
        if not self._module(words[:2]):
            return False
        found = importlib.import_module("genscope")
        for at, word in enumerate(words[1:], 1):
            if isinstance(found, type(sys)) and self._module(words[:at + 1]):
                found = importlib.import_module(".".join(words[:at + 1]))
            elif not hasattr(found, word):
                return False
            else:
                found = getattr(found, word)
        return True

    def _module(self, words):
        path = self.sources.joinpath(*words)
        return path.is_dir() or path.with_suffix(".py").is_file()


def is_command(root, words):
    """`run` has src/cli/run.cc, `bench ab` src/cli/bench/ab.cc."""
    folder = root / "src" / "cli"
    if words[0] == "bench":
        return len(words) > 1 and (folder / "bench" / f"{words[1]}.cc").is_file()
    return (folder / f"{words[0]}.cc").is_file()


def python_complaints(number, cell, python, root):
    names = re.findall(r"`([^`]+)`", cell)
    if not names and cell != "not yet":
        yield f"line {number}: neither a name nor `not yet` in the column Python"
    for name in names:
        if name.startswith("genscope "):
            if not is_command(root, name.split()[1:]):
                yield f"line {number}: there is no command `{name}`"
        elif not re.fullmatch(r"\w+(\.\w+)*", name):
            yield f"line {number}: `{name}` is not a name"
        elif not python.has(name):
            yield f"line {number}: `{name}` is not in the Python package"


def complaints(page, headers, root, python):
    documented = {document: "" for document in CALLS}
    for document, number, cells in rows(page):
        if len(cells) != 4:
            yield f"line {number}: {len(cells)} cells instead of 4"
            continue
        documented[document] += " " + cells[0]
        yield from python_complaints(number, cells[2], python, root)
        names = re.findall(r"`([^`]+)`", cells[1])
        if not names and cells[1] != "not yet":
            yield f"line {number}: neither a name nor `not yet` in the column C++"
        for name in names:
            if name.startswith("genscope "):
                if not is_command(root, name.split()[1:]):
                    yield f"line {number}: there is no command `{name}`"
            elif not re.fullmatch(r"\w+(::\w+)?", name):
                yield f"line {number}: `{name}` is not a name"
            elif not headers.has(name):
                yield f"line {number}: `{name}` is not declared in include/genscope"
    for document, calls in CALLS.items():
        for call in calls.split():
            if not re.search(r"\b%s\b" % call, documented[document]):
                yield f"document {document}: {call} is not in its table"


def main(args):
    root = pathlib.Path(args[0])
    headers = Headers([root / "include" / "genscope", *args[1:]])
    page = (root / "docs" / "coming-from.md").read_text()
    python = Python(root)
    found = list(complaints(page, headers, root, python))
    for complaint in found:
        print(f"docs/coming-from.md: {complaint}")
    # The check itself: each fault of a page is refused.
    faults = 6 if python.built else 5
    broken = page.replace("`PerformanceMonitor::track`", "`PerformanceMonitor::trck`") \
                 .replace("`genscope top`", "`genscope tap`") \
                 .replace("`track_performance`, `TrackOptions`", "soon") \
                 .replace("`monitor.clear()`", "`monitor.empty()`") \
                 .replace("`training.PerformanceMonitor.track`", "`training.PerformanceMonitor.trck`") \
                 .replace("`training.track_performance`", "planned")
    refused = len(list(complaints(broken, headers, root, python))) - len(found)
    if refused != faults:
        print(f"a page with {faults} faults has {refused} complaints more: the check is broken")
    return 1 if found or refused != faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
