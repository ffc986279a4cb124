"""Runs every cell of a plan on a Ray cluster: python ray_cells.py /shared/plan.json"""
import json
import subprocess
import sys

import ray


@ray.remote(max_retries=2)  # a lost node: the cell runs elsewhere; add num_gpus=1 where it needs one
def cell(plan, index):
    return subprocess.run(["genscope", "bench", "cell", plan, "--index", str(index)]).returncode


ray.init(address="auto")
plan = sys.argv[1]
cells = range(len(json.load(open(plan))["cells"]))
print(ray.get([cell.options(scheduling_strategy="SPREAD").remote(plan, i) for i in cells]))
