#!/usr/bin/env python3
"""How often `genscope bench ab` is right on this machine, and what a run costs beside hyperfine.

commands.py BIN_DIR [--only NAME] [--comparisons N] [--first SEED] [--log FILE] [--json FILE]
commands.py --sum FILE [--json FILE]

BIN_DIR holds genscope, tinydiff and bench_fixed_work. Rows:
  aa_work, aa_tinydiff   the same command twice, on a loaded machine: how many are called different
  slower_quiet, slower_loaded   5 % more work: how many are found, how many are called faster
  thirty                 30 times as much work
  cost                   time and CPU of a run of `true`, against hyperfine's, in turns: what 480 runs more take.
                         start.*: what is left, of the program itself; no bar
Commands take some 5 ms (tinydiff more). Loaded: for each core a process that computes and sleeps in turns of random length (20 to
400 ms), and a comparison at a time for each core beside it. A hundred comparisons take 3 to 6 minutes: --log FILE
adds each comparison to a file, so that they can be made in pieces (--first 1 --comparisons 40, --first 41 ...), and
--sum FILE judges all that are in it.
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROWS = []


def row(name, value, unit, bar, kept, note=""):
    ROWS.append({"name": name, "value": value, "unit": unit, "bar": bar, "kept": kept, "note": note})
    print(f"{name:28} {value:>12} {unit:16} {bar:34} {'kept' if kept else 'BROKEN':7} {note}", flush=True)


def load():
    return os.getloadavg()[0]


class Bench:
    def __init__(self, folder, work_dir):
        self.genscope = folder / "genscope"
        self.tinydiff = folder / "tinydiff"
        self.work = folder / "bench_fixed_work"
        self.dir = work_dir

    def compare(self, a, b, seed, *more):
        """The comparison of the time, as the command makes it by default."""
        env = dict(os.environ, GENSCOPE_OUT=str(self.dir / "runs"))
        done = subprocess.run([self.genscope, "bench", "ab", "-N", a, b, "--json", "--seed", str(seed), *more],
                              cwd=self.dir, env=env, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(f"commands.py: {done.stderr}{done.stdout}")
        return json.loads(done.stdout)["comparisons"][0]

    def many(self, a, b, seeds, workers):
        """Each comparison as it ends, in the order of the seeds."""
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            yield from zip(seeds, pool.map(lambda seed: self.compare(a, b, seed), seeds))

    def rounds_for(self, seconds):
        """How much work takes so long here, on a CPU of its own."""
        rounds = 1_000_000
        while True:
            times = []
            for _ in range(5):
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                subprocess.run([self.work, str(rounds)], stdout=subprocess.DEVNULL, check=True)
                times.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
            took = min(times)
            if took >= 0.05:
                return int(rounds * seconds / took)
            rounds *= 2


class Neighbours:
    """Processes that compute and sleep in turns of random length, one for each core; gone at the end."""

    def __enter__(self):
        self.pids = [self.start(seed) for seed in range(os.cpu_count() or 1)]
        return self

    def __exit__(self, *_):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    @staticmethod
    def start(seed):
        pid = os.fork()
        if pid:
            return pid
        parent, chance = os.getppid(), random.Random(seed)
        while os.getppid() == parent:
            until = time.monotonic() + chance.uniform(0.02, 0.4)
            while time.monotonic() < until:
                pass
            time.sleep(chance.uniform(0.02, 0.4))
        os._exit(0)


def judge(name, found, minutes, loads):
    """The row of these comparisons: each has `verdict`, `n` and `ratio`."""
    calls = [one["verdict"] for one in found]
    counts = ", ".join(f"{calls.count(verdict)} {verdict}" for verdict in sorted(set(calls)))
    note = (f"{counts}; {statistics.median(one['n'] for one in found):g} pairs (median); {minutes:.1f} min; "
            f"load {min(loads):.1f} to {max(loads):.1f}")
    total = len(found)
    if name.startswith("aa_"):
        false, allowed = calls.count("regressed") + calls.count("improved"), max(1, total // 100)
        return row(name, false, f"of {total} false", f"at most {allowed}", false <= allowed, note)
    bar = 0.92 if name == "slower_quiet" else 0.60
    return row(name, calls.count("regressed"), f"of {total} found", f"at least {bar:.0%}, never reversed",
               calls.count("regressed") >= bar * total and "improved" not in calls, note)


def measure(bench, name, a, b, args):
    loaded = name != "slower_quiet"
    loads, found, minutes = [load()], [], [time.monotonic() / 60]
    seeds = range(args.first, args.first + args.comparisons)
    with Neighbours() if loaded else contextlib.nullcontext():
        for seed, one in bench.many(a, b, seeds, (os.cpu_count() or 1) if loaded else 1):
            found.append(one)
            loads.append(load())
            minutes.append(time.monotonic() / 60)
            if args.log:  # at once: a run that is stopped keeps what it has
                keep(args.log, {"name": name, "seed": seed, "verdict": one["verdict"], "n": one["n"], "ratio": one.get("ratio"),
                                "ci": one.get("ci"), "minutes": minutes[-1] - minutes[-2], "loads": loads[-2:]})
    judge(name, found, minutes[-1] - minutes[0], loads)


def keep(path, line):
    with open(path, "a", encoding="utf-8") as log:
        log.write(json.dumps(line) + "\n")


def sum_up(path):
    with open(path, encoding="utf-8") as log:
        lines = [json.loads(line) for line in log]
    for name in dict.fromkeys(line["name"] for line in lines):
        found = list({line["seed"]: line for line in lines if line["name"] == name}.values())
        judge(name, found, sum(one["minutes"] for one in found), [v for one in found for v in one["loads"]])


def thirty(bench):
    rounds = bench.rounds_for(0.060)  # a process takes a millisecond of its own
    one = bench.compare(f"{bench.work} {rounds * 30}", f"{bench.work} {rounds}", 1)
    times, (low, high) = 1 / one["ratio"], (1 / end for end in reversed(one["ci"]))
    row("thirty", round(times, 1), "x as fast", "the interval holds 30 or is near", 27 < times < 33,
        f"95 %: {low:.1f} to {high:.1f}; {one['verdict']}")


def cost(bench, few=20, many=500, rounds=9):
    if not shutil.which("hyperfine"):
        print("cost                         skipped: hyperfine is not installed (apt-get install hyperfine)", flush=True)
        return
    commands = {
        ("hyperfine", "-N"): ["hyperfine", "-N", "--warmup", "1", "--style", "none", "true", "--runs"],
        ("genscope", "-N"): [bench.genscope, "bench", "-N", "--warmup", "1", "true", "--units"],
        ("hyperfine", "sh"): ["hyperfine", "--shell=sh", "--warmup", "1", "--style", "none", "true", "--runs"],
        ("genscope", "sh"): [bench.genscope, "bench", "--shell", "/bin/sh", "--warmup", "1", "true", "--units"],
    }
    took = {(*key, runs): [] for key in commands for runs in (few, many)}
    env = dict(os.environ, GENSCOPE_OUT=str(bench.dir / "runs"))
    for _ in range(rounds):
        for runs in (few, many):
            for key, words in commands.items():
                began = time.monotonic()
                child = subprocess.Popen([*words, str(runs)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                         env=env, cwd=bench.dir)
                _, _, usage = os.wait4(child.pid, 0)
                took[(*key, runs)].append((time.monotonic() - began, usage.ru_utime + usage.ru_stime))
    for how in ("-N", "sh"):
        for place, what in enumerate(("wall", "cpu")):
            each, start = {}, {}
            for tool in ("genscope", "hyperfine"):
                rows = zip(took[(tool, how, few)], took[(tool, how, many)])
                each[tool] = [(b[place] - a[place]) / (many - few) * 1e6 for a, b in rows]
                start[tool] = statistics.median(a[place] for a in took[(tool, how, few)]) * 1e6
                start[tool] -= few * statistics.median(each[tool])
            ours, theirs = (statistics.median(each[tool]) for tool in ("genscope", "hyperfine"))
            ratio = statistics.median(g / h for g, h in zip(each["genscope"], each["hyperfine"]))
            name = f"{how.strip('-')}.{what}"
            row(f"cost.{name}", round(ours), "us a run", f"no more than hyperfine: {theirs:.0f}",
                ratio <= 1, f"median ratio {ratio:.2f}; {rounds} x {many - few} runs; load {load():.1f}")
            row(f"start.{name}", round(start["genscope"] / 1000, 1), "ms", "", True,
                f"hyperfine: {start['hyperfine'] / 1000:.1f}")


def measure_all(args):
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args.bin_dir.resolve(), pathlib.Path(folder))
        rounds = bench.rounds_for(0.005)
        work, more = f"{bench.work} {rounds}", f"{bench.work} {rounds * 105 // 100}"
        picture = f"{bench.tinydiff} --size 32 --steps 1 --threads 1 --out /dev/null"
        sides = {"slower_quiet": (work, more), "slower_loaded": (work, more), "aa_work": (work, work),
                 "aa_tinydiff": (picture, picture)}
        if args.only in "cost":
            cost(bench)
        if args.only in "thirty":
            thirty(bench)
        for name, (a, b) in sides.items():
            if args.only in name:
                measure(bench, name, a, b, args)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin_dir", type=pathlib.Path, nargs="?")
    parser.add_argument("--only", default="")
    parser.add_argument("--comparisons", type=int, default=100)
    parser.add_argument("--first", type=int, default=1, help="seed of the first comparison")
    parser.add_argument("--log", help="add each comparison to this file")
    parser.add_argument("--sum", help="judge the comparisons of this file, measure nothing")
    parser.add_argument("--json")
    args = parser.parse_args()
    if args.sum:
        sum_up(args.sum)
    elif args.bin_dir is None:
        parser.error("give BIN_DIR, such as build/release/bin, or --sum FILE")
    else:
        measure_all(args)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(ROWS, indent=1) + "\n")
    return 0 if all(one["kept"] for one in ROWS) else 1


if __name__ == "__main__":
    sys.exit(main())
