#!/usr/bin/env python3
"""What a user waits for: what genscope adds to the start of a command, and what it takes while one runs.

waits.py GENSCOPE [--only start|idle] [--rounds N] [--seconds S] [--json FILE]

Beside each row of ours are those of the tools that one would take instead, measured in the same minutes. Run it by
the interpreter of `tools/venv waits`, which has psrecord, psutil, py-spy, pyinstrument and viztracer; time, strace
and perf are taken where they are installed. What is not there is left out and named.

  start  CPU time of the command and of all that it waited for, less the same of the bare command right before: N
         rounds in turns, the median of the differences, in brackets its 95 % interval (by order statistics). Wall
         times likewise; they need a quiet machine, CPU times hardly do.
  idle   the tool watches one process that computes, at 10 readings a second. After 3 seconds the CPU time of all its
         threads and helpers (schedstat) and how often they went to sleep are read, and S seconds later again. The
         watched process and what it started do not count. For genscope that is the whole of it: sampler, drain
         thread, the process that waits, and the helper of the GPU probes where there is one.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROWS = []
BUSY = "while True: sum(range(10000))"
PSUTIL = ("import psutil, sys, time\np = psutil.Process(int(sys.argv[1]))\n"
          "while True:\n  p.cpu_times(); p.memory_info(); p.num_threads(); p.io_counters(); time.sleep(0.1)")


def row(what, who, value, unit, note="", limit=None):
    kept = None if limit is None else value <= limit
    ROWS.append({"name": f"{what}: {who}", "value": value, "unit": unit, "limit": limit, "kept": kept})
    bar = "" if limit is None else f"<= {limit:g} {unit}  {'ok' if kept else 'BROKEN'}"
    print(f"{what:34} {who:22} {value:9.3f} {unit:10} {bar:24} {note}", flush=True)


def once(command, env, cwd):
    """CPU and wall milliseconds of a command, with all that it waited for."""
    with open(os.devnull, "r+b") as nothing:
        begin = time.monotonic()
        pid = os.posix_spawnp(command[0], command, env, file_actions=[
            (os.POSIX_SPAWN_DUP2, nothing.fileno(), fd) for fd in (0, 1, 2)])
        _, status, usage = os.wait4(pid, 0)
        wall = time.monotonic() - begin
    if os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return (usage.ru_utime + usage.ru_stime) * 1e3, wall * 1e3


def interval(values):
    """The median's 95 % interval: the order statistics at n/2 -+ 0.98 sqrt(n)."""
    ordered, half = sorted(values), 0.98 * len(values) ** 0.5
    low, high = int(len(values) / 2 - half), int(len(values) / 2 + half)
    return ordered[max(low, 0)], ordered[min(high, len(values) - 1)]


def start_rows(what, bare, wrappers, rounds, env, cwd, limits):
    for who, words in list(wrappers.items()):
        try:
            once(words, env, cwd)
        except RuntimeError as failure:  # ptrace that is not allowed, for example
            if who == "genscope":
                raise
            print(f"{who} does not work here and is left out: {failure}")
            del wrappers[who]
    cpu, wall = {who: [] for who in wrappers}, {who: [] for who in wrappers}
    for _ in range(rounds):
        for who, words in wrappers.items():
            base = once(bare, env, cwd) if bare else (0, 0)
            with_it = once(words, env, cwd)
            cpu[who].append(with_it[0] - base[0])
            wall[who].append(with_it[1] - base[1])
    for who in wrappers:
        low, high = interval(cpu[who])
        ours = who == "genscope"
        row(f"{what}, CPU", who, statistics.median(cpu[who]), "ms", f"[{low:.1f} .. {high:.1f}]",
            limits[0] if ours else None)
        if limits[1] is not None or not ours:
            row(f"{what}, wall", who, statistics.median(wall[who]), "ms", "", limits[1] if ours else None)


def start(genscope, rounds, env, cwd):
    python = sys.executable
    tools = pathlib.Path(python).parent
    ours = [genscope, "run", "--quiet", "--"]
    wrappers = {}
    for who, words in {"time": ["time", "-o", "/dev/null"], "strace": ["strace", "-f", "-o", "/dev/null"],
                       "perf stat": ["perf", "stat", "-o", "/dev/null"]}.items():
        if shutil.which(words[0]):
            wrappers[who] = [shutil.which(words[0]), *words[1:], "true"]
        else:
            print(f"{who} is not installed: left out")
    start_rows("run -- true", ["true"], {**wrappers, "genscope": [*ours, "true"]}, rounds, env, cwd, (6, 12))
    wrappers = {}
    for who, words in {"py-spy": ["record", "-o", f"{cwd}/spy", "-f", "raw", "--", python, "-c", "pass"],
                       "pyinstrument": ["-o", f"{cwd}/instrument", "-c", "pass"],
                       "viztracer": ["--quiet", "-o", f"{cwd}/viz.json", "--", f"{cwd}/pass.py"]}.items():
        if (tools / who).exists():
            wrappers[who] = [str(tools / who), *words]
        else:
            print(f"{who} is not installed: left out")
    pathlib.Path(cwd, "pass.py").write_text("pass\n")
    start_rows("run -- python -c pass", [python, "-c", "pass"], {**wrappers, "genscope": [*ours, python, "-c", "pass"]},
               max(5, rounds // 3), env, cwd, (20, None))
    start_rows("--version", [], {"genscope": [genscope, "--version"]}, rounds, env, cwd, (5, None))


def children_of(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        found += [int(word) for word in (task / "children").read_text().split()]
    return found


def taken(root, watched):
    """CPU nanoseconds and naps of all threads of `root` and its descendants, less the tree of `watched`."""
    cpu = naps = 0
    left = [root]
    while left:
        pid = left.pop()
        if pid == watched:
            continue
        left += children_of(pid)
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            cpu += int((task / "schedstat").read_text().split()[0])
            for line in (task / "status").read_text().splitlines():
                if line.startswith("voluntary_ctxt_switches"):
                    naps += int(line.split()[1])
    return cpu, naps


def watch(who, command, seconds, env, cwd, limits, pid=None):
    """`command` watches `pid`; without one it starts what it watches itself, as its first child."""
    tool = subprocess.Popen(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    try:
        time.sleep(3)
        busy = pid or next(child for child in children_of(tool.pid)
                           if b"range(10000)" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes())
        if tool.poll() is not None:  # its package is not installed
            print(f"{who} ended by itself: left out")
            return
        before, began = taken(tool.pid, busy), time.monotonic()
        time.sleep(seconds)
        after, took = taken(tool.pid, busy), time.monotonic() - began
        row("watch a busy process, CPU", who, (after[0] - before[0]) / took / 1e7, "% of core", "", limits[0])
        row("watch a busy process, wake-ups", who, (after[1] - before[1]) / took, "per s", "", limits[1])
    finally:
        if pid is None:
            os.kill(busy, signal.SIGTERM)
        elif tool.poll() is None:
            tool.kill()
        tool.wait()


def idle(genscope, seconds, env, cwd):
    python = sys.executable
    record = pathlib.Path(python).with_name("psrecord")
    victim = subprocess.Popen([python, "-c", BUSY])
    try:
        watch("psutil, 10 Hz", [python, "-c", PSUTIL, str(victim.pid)], seconds, env, cwd, (None, None), victim.pid)
        if record.exists():
            watch("psrecord, 10 Hz", [str(record), str(victim.pid), "--interval", "0.1", "--log", f"{cwd}/log"],
                  seconds, env, cwd, (None, None), victim.pid)
        else:
            print("psrecord is not installed: left out")
    finally:
        victim.kill()
        victim.wait()
    ours = [genscope, "run", "--quiet", "--live", "never", "--instrument", "none", "--", python, "-c", BUSY]
    # 10 readings a second, and 2 wake-ups beside them.
    watch("genscope, 10 Hz + 1 Hz", ours, seconds, env, cwd, (0.05, 12))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("genscope")
    arguments.add_argument("--only", choices=("start", "idle"))
    arguments.add_argument("--rounds", type=int, default=31)
    arguments.add_argument("--seconds", type=float, default=30)
    arguments.add_argument("--json", metavar="FILE")
    given = arguments.parse_args()
    genscope = str(pathlib.Path(given.genscope).resolve())
    with tempfile.TemporaryDirectory(prefix="genscope-waits-") as cwd:
        env = dict(os.environ, GENSCOPE_OUT=f"{cwd}/runs")
        print(f"load of this machine {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n"
              f"{'what':34} {'who':22} {'value':>9} {'unit':10} {'limit':24}")
        if given.only != "idle":
            start(genscope, given.rounds, env, cwd)
        if given.only != "start":
            idle(genscope, given.seconds, env, cwd)
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(ROWS, indent=1) + "\n")


if __name__ == "__main__":
    main()
