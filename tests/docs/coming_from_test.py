#!/usr/bin/env python3
"""Checks docs/coming-from.md.

coming_from_test.py ROOT [INCLUDE...]   ROOT: the checkout; INCLUDE: further folders of headers

1. Each name in a column C++ is declared in include/genscope: `Type`, `function`, `MACRO`,
   `Type::member`; each `genscope command` has a file in src/cli.
2. Each call of CALLS stands in the first column of its document's table.
3. A row of names, or one that says `not yet`: never neither.
"""
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


def complaints(page, headers, root):
    documented = {document: "" for document in CALLS}
    for document, number, cells in rows(page):
        if len(cells) != 4:
            yield f"line {number}: {len(cells)} cells instead of 4"
            continue
        documented[document] += " " + cells[0]
        names = re.findall(r"`([^`]+)`", cells[1])
        if not names and cells[1] != "not yet":
            yield f"line {number}: neither a name nor `not yet` in the column C++"
        for name in names:
            if name.startswith("genscope "):
                if not (root / "src" / "cli" / (name.split()[1] + ".cc")).is_file():
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
    found = list(complaints(page, headers, root))
    for complaint in found:
        print(f"docs/coming-from.md: {complaint}")
    # The check itself: a page with four faults is refused four times.
    broken = page.replace("`PerformanceMonitor::track`", "`PerformanceMonitor::trck`") \
                 .replace("`genscope top`", "`genscope tap`") \
                 .replace("`track_performance`, `TrackOptions`", "soon") \
                 .replace("`monitor.clear()`", "`monitor.empty()`")
    refused = len(list(complaints(broken, headers, root))) - len(found)
    if refused != 4:
        print(f"a page with 4 faults has {refused} complaints more: the check is broken")
    return 1 if found or refused != 4 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
