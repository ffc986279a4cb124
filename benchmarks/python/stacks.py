#!/usr/bin/env python3
"""What sampling the stacks of a Python program costs, beside py-spy and pyinstrument.

stacks.py GENSCOPE [--rate HZ] [--rounds N] [--json FILE]

A program does a fixed amount of work in functions that call one another, some 3 s of CPU time. Each round runs it bare,
under `genscope run --no-stacks`, under `genscope run --stacks`, and under the others at the same rate, one after the other.
What counts is the CPU time of the command and of all that it waited for, as a ratio to the bare run of the same round:
the median over the rounds, in brackets the quartiles. For genscope it is the difference of its two rows, so that
starting it and writing its report is in neither; for the others the whole, since they have no such switch.

Run it by the interpreter of `tools/venv waits`, which has py-spy and pyinstrument; who is not there is named and left out.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "waits"))
from waits import once  # noqa: E402

WORK = """
import sys
def leaf(n):
    total = 0
    for i in range(n):
        total += i * i
    return total
def middle(depth, n):
    return leaf(n) if depth == 0 else middle_too(depth - 1, n)
def middle_too(depth, n):
    return middle(depth, n)
for _ in range(int(sys.argv[1])):
    middle(12, 10_000)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("genscope")
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=6000)
    parser.add_argument("--json")
    options = parser.parse_args()
    tools = pathlib.Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "work.py")
        program.write_text(WORK)
        bare = [sys.executable, str(program), str(options.calls)]
        run = [str(pathlib.Path(options.genscope).resolve()), "run", "--quiet", "--no-gpu", "--live", "never"]
        commands = {
            "bare": bare,
            "genscope without": [*run, "--no-stacks", "--", *bare],
            "genscope with": [*run, "--stacks", "--stacks-rate", str(options.rate), "--", *bare],
            "py-spy": [str(tools / "py-spy"), "record", "-r", str(options.rate), "-f", "raw", "-o", f"{folder}/spy", "--",
                       *bare],
            "pyinstrument": [str(tools / "pyinstrument"), "-i", str(1 / options.rate), "-o", f"{folder}/instrument",
                             *bare[1:]],
        }
        env = {**os.environ, "GENSCOPE_OUT": f"{folder}/runs"}
        for who in ("py-spy", "pyinstrument"):
            if not (tools / who).exists():
                print(f"{who} is not installed: left out")
                del commands[who]
        ratios = {who: [] for who in commands}
        for _ in range(options.rounds):
            base = None
            for who, command in list(commands.items()):
                try:
                    cpu, _ = once(command, env, folder)
                except RuntimeError as failure:  # ptrace that is not allowed, for example
                    if who.startswith(("bare", "genscope")):
                        raise
                    print(f"{who} does not work here and is left out: {failure}")
                    del commands[who], ratios[who]
                    continue
                base = base or cpu
                ratios[who].append(cpu / base)
    ratios["genscope, stacks alone"] = [1 + b - a for a, b in zip(ratios["genscope without"], ratios["genscope with"])]
    rows = []
    print(f"{options.rate} samples a second, {options.rounds} rounds; CPU time beyond the bare run")
    for who, values in ratios.items():
        if who == "bare":
            continue
        middle = statistics.median(values)
        low, _, high = statistics.quantiles(values, n=4)
        print(f"  {who:24} {100 * (middle - 1):6.2f} %   [{100 * (low - 1):.2f} .. {100 * (high - 1):.2f}]")
        rows.append({"name": f"stacks: {who}", "value": middle, "unit": "ratio", "ratio_to": "bare", "ratio": middle})
    if options.json:
        pathlib.Path(options.json).write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
