#!/usr/bin/env python3
"""A service at twice its capacity: examples/service against FastAPI with a thread pool, open loop.

service.py --genscope PROGRAM [--seconds S] [--slo S] [--rounds N] [--json FILE]
Run it with the interpreter of tools/torch, PYTHONPATH at the built package. Requests all differ: no cache helps.

The services take turns, each --rounds times; a round starts the server anew:
1. capacity: answers a second with 16 users who ask in turn, for half of --seconds.
2. overload: twice that rate, Poisson, with SLO seconds for each answer, for --seconds.
3. capacity again: a machine that became faster or slower meanwhile shows. The capacity is the mean of both.
Goodput is answers within the SLO a second. p99 is of the requests that were accepted (answered with 200).
The bar is on the median round: ours at least 90 % and p99 within the SLO, where the thread pool is below 30 %.
"""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
OURS, PLAIN = "examples/service", "FastAPI, thread pool"
SERVICES = {OURS: ("app:app", HERE.parents[1] / "examples" / "service"), PLAIN: ("service_plain:app", HERE)}
USERS = 16


def python_path():
    """Absolute: the servers run in folders of their own."""
    return os.pathsep.join(os.path.abspath(part) for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part)


class Server:
    def __init__(self, name, slo):
        module, folder = SERVICES[name]
        with socket.socket() as made:
            made.bind(("127.0.0.1", 0))
            self.port = made.getsockname()[1]
        self.out = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", module, "--port", str(self.port), "--log-level", "error"],
            cwd=folder, env={**os.environ, "PYTHONPATH": python_path(), "SLO": str(slo), "GENSCOPE_OUT": self.out.name,
                             "OMP_NUM_THREADS": "1"})
        self.url = f"http://127.0.0.1:{self.port}"

    def stats(self):
        with urllib.request.urlopen(self.url + "/stats") as answer:
            return json.load(answer)

    def __enter__(self):
        while True:
            try:
                self.stats()
                return self
            except OSError:
                if self.process.poll() is not None:
                    raise SystemExit("the server did not start")
                time.sleep(0.2)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.out.cleanup()


def load(program, server, slo, seconds, seed, *how):
    """The requests of a load test, a dict each. Theirs are the seeds from `seed` on: loads far apart share none."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as raw:
        body = json.dumps({"prompt": "a red cat", "seed": 0, "deadline": slo}).replace('"seed": 0', '"seed": {seed}')
        done = subprocess.run(
            [program, "bench", "load", server.url + "/generate", "--endpoint", "json", "--data", body, "--duration",
             f"{seconds}s", "--timeout", "60s", "--max-failed", "100", "--warmup", "8", "--raw", raw.name, "--no-keep",
             "--seed", str(seed), *how], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        with open(raw.name, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file][1:]  # the first has the settings
        if not lines:
            raise SystemExit(f"service.py: {done.stderr}")
        return lines


def answered(line):
    return line["class"] == "ok"


def latency(line):
    return (line["done_ns"] - line["scheduled_ns"]) * 1e-9


def capacity(given, server, seed):
    """Answers a second, without the first second: one user's answers then arrive where another asks."""
    lines = load(given.genscope, server, given.slo * 30, given.seconds / 2, seed, "--concurrency", str(USERS))
    first = min(line["scheduled_ns"] for line in lines) + 1_000_000_000
    ends = [line["done_ns"] for line in lines if answered(line) and line["done_ns"] >= first]
    return (len(ends) - 1) / ((max(ends) - min(ends)) * 1e-9) if len(ends) > 1 else 0.0


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else None


def one_round(given, name, number):
    with Server(name, given.slo) as server:
        before = capacity(given, server, 1_000_000)
        lines = load(given.genscope, server, given.slo, given.seconds, 2_000_000 + number, "--rate", f"{2 * before:.2f}")
        after = capacity(given, server, 3_000_000)
        hits = server.stats().get("cache", {}).get("hits", 0)
    if hits:
        raise SystemExit(f"service.py: {hits} answers came from the cache; seeds have to differ")
    times = [latency(line) for line in lines if answered(line)]
    within = len([each for each in times if each <= given.slo]) / given.seconds
    mean = (before + after) / 2
    return {"before": before, "after": after, "asked": len(lines), "answered": len(times), "goodput": within,
            "share": within / mean, "p50": quantile(times, 0.5), "p99": quantile(times, 0.99)}


def seconds(value):
    return f"{value:7.2f}s" if value is not None else f"{'none':>8}"


def text(name, it):
    return (f"{name:22}{it['before']:8.1f}/s{it['after']:7.1f}/s{it['asked']:7}{it['answered']:10}{it['goodput']:8.1f}/s"
            f"{it['share']:13.0%}{seconds(it['p50'])}{seconds(it['p99'])}   load {os.getloadavg()[0]:.1f}")


def judged(rounds, slo):
    """The rows, with their bars."""
    def middle(name, what):
        values = [one[what] for one in rounds[name] if one[what] is not None]
        return statistics.median(values) if values else None

    ours, p99, plain = middle(OURS, "share"), middle(OURS, "p99"), middle(PLAIN, "share")
    return [{"name": f"{OURS}: goodput of capacity", "value": ours, "unit": "ratio", "bar": "at least 0.9", "kept": ours >= 0.9},
            {"name": f"{OURS}: p99 of accepted", "value": p99, "unit": "s", "bar": f"at most {slo:g}",
             "kept": p99 is not None and p99 <= slo},
            {"name": f"{PLAIN}: goodput of capacity", "value": plain, "unit": "ratio", "bar": "below 0.3", "kept": plain < 0.3}]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--genscope", required=True)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--slo", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json")
    given = parser.parse_args()
    if given.seconds < 7 * given.slo:
        parser.error("--seconds: at least 7 times --slo; a queue without a bound answers in time whoever comes first: 2 * slo / seconds "
                     "of the capacity")
    print(f"twice the capacity for {given.seconds:g} s, SLO {given.slo:g} s; capacity before and after")
    print(f"{'':22}{'before':>10}{'after':>9}{'asked':>7}{'answered':>10}{'goodput':>10}{'of capacity':>13}{'p50':>8}{'p99':>8}", flush=True)
    rounds = {name: [] for name in SERVICES}
    for number in range(given.rounds):
        for name in list(SERVICES)[::-1 if number % 2 else 1]:
            rounds[name].append(one_round(given, name, number))
            print(text(name, rounds[name][-1]), flush=True)
    rows = judged(rounds, given.slo)
    for row in rows:
        print(f"{row['name']:44}{row['value']:8.2f} {row['unit']:6} {row['bar']:14} {'kept' if row['kept'] else 'BROKEN'}")
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if all(row["kept"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
