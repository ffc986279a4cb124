#!/usr/bin/env python3
"""What a span costs in Python, against an empty `with` on a C type, in one run.

spans.py [--bursts N] [--json FILE]    PYTHONPATH: the package to measure, built for release

Bursts of 1,000 of each kind take turns; the figure of a kind is the median of its bursts less that
of an empty loop. The host is noisy: ratios are of one run, and a burst that was interrupted is far
from the median. Peers are measured where they are installed.
"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CALLS = 1000


def build_floor(folder):
    out = os.path.join(folder, "floor" + sysconfig.get_config_var("EXT_SUFFIX"))
    subprocess.run(["cc", "-O3", "-fPIC", "-shared", "-I", sysconfig.get_paths()["include"],
                    os.path.join(HERE, "floor.c"), "-o", out], check=True)
    sys.path.insert(0, folder)
    import floor
    return floor.Empty()


# Each source is the body of a loop; compiled alike, so that they differ in nothing else.
def burst_of(source, names):
    code = ("def burst(clock=clock):\n"
            "    t0 = clock()\n"
            f"    for _ in range({CALLS}):\n"
            f"        {source}\n"
            "    return clock() - t0\n")
    scope = {"clock": time.perf_counter_ns, **names}
    exec(code, scope)
    return scope["burst"]


@contextlib.contextmanager
def by_generator(log, name):
    begin = time.perf_counter_ns()
    try:
        yield
    finally:
        log.append((name, begin, time.perf_counter_ns()))


class Module:
    def __init__(self):
        self.forward = self.work

    def work(self, x):
        return x


def measured(sources, names, bursts, before=lambda: None):
    functions = {label: burst_of(source, names) for label, source in sources.items()}
    for function in functions.values():
        function()
    times = {label: [] for label in functions}
    for _ in range(bursts):
        before()
        for label, function in functions.items():
            times[label].append(function())
    return {label: statistics.median(values) / CALLS for label, values in times.items()}


def peers(names, log):
    sources = {"contextlib generator, clock, list": "with generator(log, 'x'): pass"}
    try:
        import torch
        names["record_function"] = torch.profiler.record_function
        sources["torch.profiler.record_function, no profiler"] = "with record_function('x'): pass"
    except ImportError:
        pass
    try:
        from viztracer import VizTracer
        tracer = VizTracer(verbose=0)
        names["event"] = tracer.log_event
        sources["viztracer log_event, not tracing"] = "with event('x'): pass"
    except ImportError:
        pass
    return sources


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bursts", type=int, default=800)
    parser.add_argument("--json")
    options = parser.parse_args()
    import genscope as gs
    import asyncio  # noqa: F401  as in every program with torch
    log = []
    with tempfile.TemporaryDirectory() as folder:
        module, plain = Module(), Module()
        names = {"empty": build_floor(folder), "gs": gs, "stage": gs.stage, "prebuilt": gs.stage("x"),
                 "begin": gs.begin, "end": gs.end, "generator": by_generator, "log": log,
                 "plain": plain, "module": gs.wrap(module, "net"), "step": gs.step}
        loop = {"loop": "pass", "empty with on a C type": "with empty: pass"}
        spans = {
            "with prebuilt": "with prebuilt: pass",
            "with gs.stage('x')": "with stage('x'): pass",
            "with gs.step(3)": "with step(3): pass",
            "begin('x') end()": "begin('x'); end()",
        }
        calls = {"call of a forward": "plain.forward(1)",
                 "call of a wrapped forward": "module.forward(1)"}
        session = gs.Session("bench", out=folder, quiet=True)
        assert session.active, session.error

        def tidy():
            log.clear()
        on = measured({**loop, **spans, **calls}, names, options.bursts, tidy)
        lost = gs.stats()["dropped_spans"]
        gs.set_enabled(False)
        off = measured({**loop, "disabled, with prebuilt": "with prebuilt: pass",
                        "disabled, with gs.stage('x')": "with stage('x'): pass"}, names,
                       options.bursts)
        session.close()
        # Last, with a floor of their own: a profiler may leave the interpreter slower than it was.
        others = measured({**loop, **peers(names, log)}, names, options.bursts // 4, tidy)
    show(on, off, others, lost, options.json)


BARS = {"with prebuilt": 2.1, "with gs.stage('x')": 2.6, "begin('x') end()": 1.6,
        "disabled, with prebuilt": 1.2}


def show(on, off, others, lost, path):
    rows = []
    for table in (on, off, others):
        floor = table["empty with on a C type"] - table["loop"]
        for label, ns in table.items():
            if label in ("loop",) or (table is not on and label == "empty with on a C type"):
                continue
            rows.append({"what": label, "ns": ns - table["loop"], "ratio": (ns - table["loop"]) / floor,
                         "bar": BARS.get(label)})
    extra = on["call of a wrapped forward"] - on["call of a forward"]
    print(f"{sys.implementation.name} {sys.version.split()[0]}, {lost} spans lost")
    print(f"{'what':46} {'ns':>8} {'x empty with':>13} {'bar':>6}")
    for row in rows:
        bar = f"{row['bar']:.1f}" if row["bar"] else ""
        print(f"{row['what']:46} {row['ns']:8.1f} {row['ratio']:13.2f} {bar:>6}")
    print(f"{'wrapped forward, more than a plain call':46} {extra:8.1f} {'':13} {'80 ns':>6}")
    if path:
        with open(path, "w") as file:
            json.dump({"rows": rows, "wrapped_extra_ns": extra, "dropped_spans": lost}, file, indent=1)


if __name__ == "__main__":
    main()
