#!/usr/bin/env python3
"""How often `genscope compare` is right, three runs a side, on this machine as it is.

compare_verdicts.py [--rounds N] [--seconds S] [--bin FOLDER] [--json FILE]
                                          default: 60 rounds or 360 s, what comes first; build/release/bin

A round records compare_work (fixed work: encode, 8 steps, decode) twelve times under `genscope run`, in turns:
three times as it is, three times as it is again, three with 20 % more work in each step, three with 20 % more in
the decoder. `unchanged` counts a verdict on the total, and on any row, of the first three against the second:
each is a false alarm. A change counts as found if the total, or the row that it is in, is regressed.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIDES = {"before": (1, 1), "same": (1, 1), "steps": (1.2, 1), "decode": (1, 1.2)}
ROWS = {"steps": ("steady step", "denoising", "CPU time"), "decode": ("vae_decode", "CPU time")}
MOVED = ("regressed", "improved")


def record(binaries, run, work):
    subprocess.run([binaries / "genscope", "--quiet", "run", "--live", "never", "--run-dir", run, "--",
                    binaries / "compare_work", *map(str, work)], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def compare(binaries, before, after):
    done = subprocess.run([binaries / "genscope", "compare", "--json", *before, "--", *after], capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise SystemExit(f"compare ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def one_round(binaries, folder, index):
    runs = {side: [] for side in SIDES}
    for turn in range(3):
        order = list(SIDES)
        if (index + turn) % 2:
            order.reverse()  # so that a drift hits no side alone
        for side in order:
            run = str(folder / f"{side}{turn}")
            record(binaries, run, SIDES[side])
            runs[side].append(run)
    return {side: compare(binaries, runs["before"], runs[side]) for side in ("same", "steps", "decode")}


def judge(document, side):
    rows = {row["name"]: row["verdict"] for row in document["rows"] if row["kind"] != "run"}
    if side == "same":
        return {"total": document["verdict"] in MOVED, "any row": any(v in MOVED for v in rows.values()),
                "verdict": document["verdict"]}
    return {"total": document["verdict"] == "regressed",
            "row": any(rows.get(name) == "regressed" for name in ROWS[side]),
            "reversed": document["verdict"] == "improved" or any(rows.get(n) == "improved" for n in ROWS[side]),
            "verdict": document["verdict"], "rows": {name: rows.get(name) for name in ROWS[side]}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=360)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    began, results = time.monotonic(), []
    for index in range(options.rounds):
        if results and time.monotonic() - began > options.seconds:
            break
        with tempfile.TemporaryDirectory() as folder:
            documents = one_round(options.bin, pathlib.Path(folder), index)
        results.append({side: judge(document, side) for side, document in documents.items()})
    rounds = len(results)
    count = lambda side, test: sum(1 for r in results if test(r[side]))  # noqa: E731
    table = {
        "unchanged: total called": count("same", lambda r: r["total"]),
        "unchanged: any row called": count("same", lambda r: r["any row"]),
        "unchanged: slower machine": count("same", lambda r: r["verdict"] == "slower_machine"),
        "steps +20 %: total found": count("steps", lambda r: r["total"]),
        "steps +20 %: total or row found": count("steps", lambda r: r["total"] or r["row"]),
        "steps +20 %: reversed": count("steps", lambda r: r["reversed"]),
        "decoder +20 %: row found": count("decode", lambda r: r["row"]),
        "decoder +20 %: reversed": count("decode", lambda r: r["reversed"]),
    }
    load = os.getloadavg()[0]
    print(f"{rounds} rounds, {time.monotonic() - began:.0f} s, load {load:.1f} on {os.cpu_count()} CPUs")
    for name, value in table.items():
        print(f"{name:<34}{value:>5}  {100 * value / rounds:5.1f} %")
    if options.json:
        options.json.write_text(json.dumps({"rounds": rounds, "load": load, "table": table,
                                            "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
