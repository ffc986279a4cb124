#!/usr/bin/env python3
"""What the calls of genscope.compat cost, beside what the originals must do at least, in one run.

compat.py [--bursts N] [--json FILE]    PYTHONPATH: the package to measure, built for release

Bursts of both take turns; a figure is the median of its bursts less that of an empty loop, in
microseconds of CPU time. Ours is of the whole process, up to when the recorder has written what the
burst told it; a yardstick's is of its own thread, so that nothing of ours is in it. The yardsticks
are in originals.py; "noted" is what the original itself took when it was run for
genscope, on a like machine (an empty loop is not subtracted there). Ratios are of one run.
"""
import argparse
import contextlib
import io
import json
import logging
import platform
import statistics
import sys
import tempfile
import time

import genscope
import originals

# call, ours, yardstick, calls in a burst, microseconds of the original, why there is no yardstick
NEEDS = None if originals.psutil else originals.NO_PSUTIL
INFERIX = [
    ("Inferix `stage()`, off", "with off.stage('x'): pass",
     "with their_off.stage('x'): pass", 1000, 0.70, None),
    ("Inferix `stage()`, session open", "with on.stage('x'): pass",
     "with theirs.stage('x'): pass", 1000, 1.53, None),
    ("... with metadata", "with on.stage('x', {'batch_size': 32}): pass",
     "with theirs.stage('x', {'batch_size': 32}): pass", 1000, 1.70, None),
    ("... three deep",
     "with on.stage('x'), on.stage('y'), on.stage('z'): pass",
     "with theirs.stage('x'), theirs.stage('y'), theirs.stage('z'): pass", 1000, 4.80, None),
    ("`add_event()`", "on.add_event('e', data)", "theirs.add_event('e', data)", 1000, 0.41, None),
    ("`record_diffusion_step()`",
     "on.record_diffusion_step(step=3, timestep=0.7, block_size=3, computation_time_ms=12.5)",
     "theirs.record_diffusion_step(step=3, timestep=0.7, block_size=3, computation_time_ms=12.5)",
     1000, 0.58, None),
]
OTHERS = [
    ("`track()`, off", "with track_off('x'): pass", "with their_track_off('x'): pass", 1000, 0.81,
     None),
    ("`track(..., aggregate=True)` with memory", "with track('x', aggregate=True): pass",
     "with their_track('x', aggregate=True): pass", 200, 41, NEEDS),
    ("quiet pair of batch calls", "start(9); end(9)", "their_start(9); their_end(9)", 1000, 0.22,
     None),
    ("... with a loss", "start(9); end(9, 0.5)", "their_start(9); their_end(9, 0.5)", 1000, None,
     None),
    ("step of a generation, begin and end", "generation.start_step_timing(); generation.end_step_timing()",
     "their_generation.start_step_timing(); their_generation.end_step_timing()", 1000, 0.36, None),
    ("`monitor_generation()`, log off", "with generate(model_name='m', num_steps=20): pass",
     "with their_generate(model_name='m', num_steps=20): pass", 100, 52, NEEDS),
    ("... and its metrics read",
     "with generate(model_name='m', num_steps=20) as g: pass\n        g.metrics",
     "with their_generate(model_name='m', num_steps=20) as g: pass\n        g.current", 100, None,
     NEEDS),
]


# Each source is the body of a loop; compiled alike, so that they differ in nothing else.
def burst_of(source, calls, names, ours):
    code = ("def burst(clock=clock, settle=settle):\n"
            "    t0 = clock()\n"
            f"    for _ in range({calls}):\n"
            f"        {source}\n"
            "    settle()\n"
            "    return clock() - t0\n")
    scope = {"clock": time.process_time_ns if ours else time.thread_time_ns,
             "settle": genscope._core.flush if ours else lambda: None, **names}
    exec(code, scope)
    return scope["burst"]


def measured(rows, names, bursts, tidy, yardsticks=True):
    """{call: (ours, theirs or None)} in microseconds."""
    functions = {("loop", 0): (burst_of("pass", 1000, names, False), 1000)}
    for label, ours, theirs, calls, _, absent in rows:
        functions[label, 0] = burst_of(ours, calls, names, True), calls
        if yardsticks and absent is None:
            functions[label, 1] = burst_of(theirs, calls, names, False), calls
    for function, _ in functions.values():
        function()
    times = {key: [] for key in functions}
    for _ in range(bursts):
        for key, (function, calls) in functions.items():
            tidy()
            times[key].append(function() / calls / 1000)
    found = {key: statistics.median(values) for key, values in times.items()}
    loop = found["loop", 0]
    return {row[0]: (found[row[0], 0] - loop,
                     found[row[0], 1] - loop if (row[0], 1) in found else None) for row in rows}


def inferix(bursts, folder):
    """With the settings that a program has which sets none but these."""
    from genscope.compat.inferix import InferixProfiler, ProfilingConfig
    on = InferixProfiler(ProfilingConfig(enabled=True, real_time_display=False, output_dir=folder))
    theirs = originals.Inferix(True)
    names = {"on": on, "off": InferixProfiler(ProfilingConfig()), "theirs": theirs,
             "their_off": originals.Inferix(False), "data": {"progress": 0.5}}
    with contextlib.redirect_stdout(io.StringIO()), on.session("bench"):
        return measured(INFERIX, names, bursts, theirs.clear)


def others(bursts, yardsticks):
    from genscope.compat import generation, training
    epochs = training.EpochPerformanceMonitor(verbose_batches=0)
    epochs.on_epoch_start()
    their_training, their_generations = originals.Training(verbose_batches=0), originals.Generations()
    monitor = generation.PerformanceMonitor(5.0)
    names = {"track": training.PerformanceMonitor().track,
             "track_off": training.PerformanceMonitor(enabled=False).track,
             "their_track": their_training.track,
             "their_track_off": originals.Training(enabled=False).track,
             "start": epochs.on_batch_start, "end": epochs.on_batch_end,
             "their_start": their_training.on_batch_start, "their_end": their_training.on_batch_end,
             "generate": monitor.monitor_generation, "their_generation": their_generations,
             "their_generate": their_generations.monitor_generation}

    def tidy():
        their_training.clear()
        their_generations.clear()
    with generation.PerformanceMonitor(1e6).monitor_generation("steps") as running:
        return measured(OTHERS, {**names, "generation": running}, bursts, tidy, yardsticks)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bursts", type=int, default=200)
    parser.add_argument("--json")
    options = parser.parse_args()
    import asyncio  # noqa: F401  as in every program with torch
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        found = others(options.bursts, True)
        with genscope.Session("bench", out=folder, quiet=True) as session:
            assert session.active, session.error
            recorded = others(options.bursts, False)
        found.update(inferix(options.bursts, folder))
        lost = genscope.stats()["dropped_spans"]
    show(found, recorded, lost, options.json)


def show(found, recorded, lost, path):
    def figure(value):
        return "" if value is None else f"{value:.2f} us" if value < 10 else f"{value:.0f} us"
    print(f"{platform.python_implementation()} {platform.python_version()}, {lost} spans lost"
          + (f"; no yardstick where memory is read: {NEEDS}" if NEEDS else ""))
    print("\n| call | here | while a run is recorded | yardstick | ratio | original, noted |")
    print("|---|---|---|---|---|---|")
    rows = []
    for label, _, _, _, noted, absent in INFERIX + OTHERS:
        ours, theirs = found[label]
        ratio = None if theirs is None else ours / theirs
        # A session of Inferix is a run of its own.
        more = recorded.get(label, (ours if label in found and "off" not in label else None,))[0]
        rows.append({"call": label, "us": ours, "recorded_us": more, "yardstick_us": theirs,
                     "ratio": ratio, "noted_us": noted, "absent": absent})
        print(f"| {label} | {figure(ours)} | {figure(more)} | {figure(theirs) or absent} | "
              f"{'' if ratio is None else f'{ratio:.2f}'} | {figure(noted)} |")
    if path:
        with open(path, "w") as file:
            json.dump({"rows": rows, "dropped_spans": lost, "python": sys.version}, file, indent=1)


if __name__ == "__main__":
    main()
