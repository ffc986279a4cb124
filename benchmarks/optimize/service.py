#!/usr/bin/env python3
"""A service at twice its capacity: examples/service against FastAPI with a thread pool, open loop.

service.py --genscope PROGRAM [--seconds S] [--slo S] [--json FILE]
Run it with the interpreter of tools/torch, PYTHONPATH at the built package. Requests all differ: no cache helps.

For each service, in turns:
1. capacity: answers a second with 8 users who ask in turn.
2. overload: twice that rate, Poisson, with SLO seconds for each answer.
Goodput is answers within the SLO a second. p99 is of the requests that were accepted (answered with 200).
"""
import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
SERVICES = {"examples/service": ("app:app", HERE.parents[1] / "examples" / "service"),
            "FastAPI, thread pool": ("service_plain:app", HERE)}


class Server:
    def __init__(self, name, slo):
        module, folder = SERVICES[name]
        with socket.socket() as made:
            made.bind(("127.0.0.1", 0))
            self.port = made.getsockname()[1]
        self.out = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", module, "--port", str(self.port), "--log-level", "error"],
            cwd=folder, env={**os.environ, "SLO": str(slo), "GENSCOPE_OUT": self.out.name, "OMP_NUM_THREADS": "1"})
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        while True:
            try:
                urllib.request.urlopen(self.url + "/stats").read()
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
    """The requests: seconds from arrival, or None for one that was not answered with 200."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as raw:
        body = json.dumps({"prompt": "a red cat", "seed": 0, "deadline": slo}).replace('"seed": 0', '"seed": {seed}')
        subprocess.run([program, "bench", "load", server.url + "/generate", "--endpoint", "json", "--data", body,
                        "--duration", f"{seconds}s", "--timeout", "60s", "--max-failed", "100", "--warmup", "8",
                        "--raw", raw.name, "--no-keep", "--seed", str(seed), *how], check=False, stdout=subprocess.DEVNULL)
        return [json.loads(line) for line in open(raw.name)][1:]  # the first has the settings


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--genscope", required=True)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--slo", type=float, default=1.0)
    parser.add_argument("--json")
    given = parser.parse_args()
    rows = []
    for name in SERVICES:
        with Server(name, given.slo) as server:  # seeds differ, so that no request comes twice
            lines = load(given.genscope, server, given.slo * 30, given.seconds / 2, 1, "--concurrency", "8")
            capacity = len([line for line in lines if ok(line)]) / (given.seconds / 2)
            lines = load(given.genscope, server, given.slo, given.seconds, 2, "--rate", f"{2 * capacity:.2f}")
        times = [latency(line) for line in lines if ok(line)]
        goodput = len([each for each in times if each <= given.slo]) / given.seconds
        rows.append((name, capacity, len(lines), len(times), goodput, goodput / capacity, quantile(times, 0.5),
                     quantile(times, 0.99)))
    print(f"twice the capacity for {given.seconds:g} s, SLO {given.slo:g} s")
    print(f"{'':22}{'capacity':>10}{'asked':>7}{'answered':>10}{'goodput':>10}{'of capacity':>13}{'p50':>8}{'p99':>8}")
    for name, capacity, asked, answered, goodput, share, p50, p99 in rows:
        print(f"{name:22}{capacity:8.1f}/s{asked:7}{answered:10}{goodput:8.1f}/s{share:13.0%}{seconds(p50)}{seconds(p99)}")
    if given.json:
        made = [{"name": f"{row[0]}: goodput of capacity", "value": row[5], "unit": "ratio"} for row in rows]
        made += [{"name": f"{row[0]}: p99", "value": row[7], "unit": "s"} for row in rows]
        pathlib.Path(given.json).write_text(json.dumps(made, indent=1))


def seconds(value):
    return f"{value:7.2f}s" if value is not None else f"{'none':>8}"


def ok(line):
    return line["class"] == "ok"


def latency(line):
    return (line["done_ns"] - line["scheduled_ns"]) * 1e-9


if __name__ == "__main__":
    main()
