#!/usr/bin/env python3
"""What `genscope run` with all hooks costs a real diffusers pipeline on the CPU.

pipeline.py [--pairs N] [--images N] [--json FILE]     $GENSCOPE_BIN: the command

The same program runs with and without genscope, taking turns; each makes images with a tiny FLUX-like
pipeline of the real classes and random weights (python/tests/torch/tiny.py) and prints how long the
images took, without start-up, and a hash of their bytes. The slowdown is the median over the pairs
of the ratio of their medians. Both are pinned to one core each, genscope's probes to the other.
"""
import argparse
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BAR = 1.02


def child(images, steps):
    sys.path.insert(0, str(ROOT / "python/tests/torch"))
    import torch
    import tiny
    torch.set_num_threads(1)
    pipe, arguments = tiny.flux(steps=steps)
    arguments.update(width=128, height=128)
    times, digest = [], hashlib.sha256()
    with torch.no_grad():
        tiny.run(pipe, arguments)
        for _ in range(images):
            begin = time.perf_counter()
            made = tiny.run(pipe, arguments)
            times.append(time.perf_counter() - begin)
            digest.update(made.tobytes())
    print(json.dumps({"median": statistics.median(times), "hash": digest.hexdigest(),
                      "hooked": "genscope" in sys.modules}))


def one(command, environment):
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--images", type=int, default=15)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.child:
        return child(options.images, options.steps)
    genscope = os.environ.get("GENSCOPE_BIN", "genscope")
    program = [sys.executable, str(pathlib.Path(__file__).resolve()), "--child", "--images",
               str(options.images), "--steps", str(options.steps)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    environment.pop("PYTHONPATH", None)
    ratios, wrong, spans = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(options.pairs):
            run = os.path.join(folder, str(pair))
            under = [genscope, "run", "--live", "never", "--no-gpu", "--run-dir", run, "--", *program]
            order = [(program, "plain"), (under, "hooked")]
            got = {name: one(command, environment) for command, name in
                   (order if pair % 2 == 0 else reversed(order))}
            assert got["hooked"]["hooked"] and not got["plain"]["hooked"]
            wrong += got["hooked"]["hash"] != got["plain"]["hash"]
            ratios.append(got["hooked"]["median"] / got["plain"]["median"])
            print(f"pair {pair + 1}: {got['plain']['median'] * 1e3:.1f} ms an image alone, "
                  f"{got['hooked']['median'] * 1e3:.1f} ms under genscope run: {ratios[-1]:.4f}",
                  flush=True)
        report = json.loads(subprocess.run([genscope, "report", run, "-f", "json"], check=True,
                                           capture_output=True, text=True).stdout)
        spans = report["recorder"]["spans"]
    median = statistics.median(ratios)
    print(f"{'what':58} {'measured':>9} {'bar':>6}")
    print(f"{'time of an image under genscope run, over alone, median':58} {median:9.4f} {BAR:6.2f}")
    print(f"{'images whose bytes differ':58} {wrong:9} {0:6}")
    print(f"{'spans an image':58} {spans / (options.images + 1):9.0f}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"ratios": ratios, "wrong": wrong}))


if __name__ == "__main__":
    main()
