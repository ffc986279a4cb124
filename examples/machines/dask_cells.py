"""Runs every cell of a plan on a Dask cluster: python dask_cells.py ADDRESS /shared/plan.json"""
import json
import subprocess
import sys

from distributed import Client


def cell(plan, index):
    return subprocess.run(["genscope", "bench", "cell", plan, "--index", str(index)]).returncode


client = Client(sys.argv[1])
plan = sys.argv[2]
cells = range(len(json.load(open(plan))["cells"]))
print(client.gather(client.map(cell, [plan] * len(cells), cells, pure=False)))
