#!/usr/bin/env python3
"""What `genscope run` with all hooks costs a real diffusers pipeline on the CPU.

pipeline.py [--images N] [--steps N] [--json FILE]     $GENSCOPE_BIN: the command

Two processes live side by side, one under `genscope run` and one without, and make images by turns,
never both at once: a tiny FLUX-like pipeline of the real classes with random weights
(python/tests/torch/tiny.py). The slowdown is the median over the pairs of neighbours, which a noisy
host slows alike, with its 95 % interval by order statistics; of wall time and of user CPU time, with all
threads of the process. The bytes of each image are compared.
"""
import argparse
import hashlib
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BAR = 1.02


def child(steps):
    sys.path.insert(0, str(ROOT / "python/tests/torch"))
    import torch
    import tiny
    torch.set_num_threads(1)
    pipe, arguments = tiny.flux(steps=steps)
    arguments.update(width=64, height=64)
    with torch.no_grad():
        for _ in range(3):
            tiny.run(pipe, arguments)
        print(json.dumps({"hooked": "genscope" in sys.modules}), flush=True)
        for _ in sys.stdin:
            begin, user = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_utime
            made = tiny.run(pipe, arguments)
            seconds = time.perf_counter() - begin
            user = resource.getrusage(resource.RUSAGE_SELF).ru_utime - user
            print(json.dumps({"seconds": seconds, "user": user, "hash": hashlib.sha256(made.tobytes()).hexdigest()}),
                  flush=True)


class Maker:
    """A process that makes an image when asked."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env=environment)
        self.hooked = self.answer()["hooked"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args}: ended by itself")
        return json.loads(line) if line.startswith("{") else self.answer()

    def make(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def median_and_interval(values):
    """The median, and the order statistics between which it is with 95 % confidence."""
    ordered, half = sorted(values), 0.98 * len(values) ** 0.5
    low, high = int(len(values) / 2 - half), int(len(values) / 2 + half)
    return statistics.median(ordered), ordered[max(low, 0)], ordered[min(high, len(values) - 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.child:
        return child(options.steps)
    genscope = os.environ.get("GENSCOPE_BIN", "genscope")
    program = [sys.executable, str(pathlib.Path(__file__).resolve()), "--child", "--steps",
               str(options.steps)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    environment.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        plain = Maker(program, environment)
        hooked = Maker([genscope, "run", "--live", "never", "--no-gpu", "--run-dir", run, "--",
                        *program], environment)
        assert hooked.hooked and not plain.hooked
        ratios, users, times, wrong = [], [], [], 0
        for i in range(options.images):
            makers = (plain, hooked) if i % 2 == 0 else (hooked, plain)
            made = {maker: maker.make() for maker in makers}
            ratios.append(made[hooked]["seconds"] / made[plain]["seconds"])
            users.append(made[hooked]["user"] / made[plain]["user"])
            times.append(made[plain]["seconds"])
            wrong += made[hooked]["hash"] != made[plain]["hash"]
        plain.end()
        hooked.end()
        spans = json.loads(subprocess.run([genscope, "report", run, "-f", "json"], check=True,
                                          capture_output=True, text=True).stdout)["recorder"]["spans"]
    print(f"{options.images} pairs, {statistics.median(times) * 1e3:.1f} ms an image of "
          f"{options.steps} steps, {spans / (options.images + 3):.0f} spans an image")
    print(f"{'what':58} {'measured':>9} {'bar':>6}")
    for what, values in (("an image under genscope run over one alone, median", ratios),
                         ("user CPU time of it", users)):
        median, low, high = median_and_interval(values)
        print(f"{what:58} {median:9.4f} {BAR:6.2f}")
        print(f"{'  95 % interval':58} {low:9.4f} {high:6.4f}")
    print(f"{'images whose bytes differ':58} {wrong:9} {0:6}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"ratios": ratios, "user_ratios": users, "wrong": wrong}))


if __name__ == "__main__":
    main()
