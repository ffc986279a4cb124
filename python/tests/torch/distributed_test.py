"""Collectives of torch.distributed as waits, on two real ranks."""
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

from harness import spans_of

BIN = os.environ["GENSCOPE_BIN"]
PROGRAM = """
    import os
    import time
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    value = torch.ones(4) * (rank + 1)
    for step in range(6):
        time.sleep(0.4 if rank == 1 else 0.01)
        dist.all_reduce(value)
        value /= 2
    parts = [torch.zeros(4) for _ in range(2)]
    dist.all_gather(parts, value)
    work = dist.all_reduce(value, async_op=True)
    work.wait()
    dist.barrier()
    with open(f"{os.path.dirname(os.path.abspath(__file__))}/said-{rank}", "w") as file:  # Gloo prints, too
        file.write(f"{parts[0].tolist()} {value.tolist()}")
    """


class Collectives(unittest.TestCase):
    def test_the_late_rank_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path, run = os.path.join(folder, "program.py"), os.path.join(folder, "run")
            with open(path, "w", encoding="utf-8") as file:
                file.write(textwrap.dedent(PROGRAM))
            done = subprocess.run(
                [BIN, "run", "--live", "never", "--no-gpu", "--run-dir", run, "--", sys.executable, "-m",
                 "torch.distributed.run", "--nproc_per_node", "2", path],
                capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
            self.assertEqual(done.returncode, 0, done.stderr)
            for rank in (0, 1):
                with open(os.path.join(folder, f"said-{rank}"), encoding="utf-8") as file:
                    self.assertEqual(file.read(), "[1.5, 1.5, 1.5, 1.5] [3.0, 3.0, 3.0, 3.0]")
            spans = [s for s in spans_of(run) if s["kind"] == "function"]
            by_process = {}
            for span in spans:
                by_process.setdefault(span["pid"], []).append(span["name"])
            # Nothing for the one that does not wait; an argument says how much there was to send.
            self.assertEqual(sorted(by_process.values()),
                             [["all_reduce"] * 6 + ["all_gather", "barrier"]] * 2)
            self.assertEqual(spans[0]["args"]["bytes"], 16)
            told = json.loads(subprocess.run([BIN, "aggregate", run, "--json"], check=True,
                                             capture_output=True, text=True).stdout)
            self.assertEqual([(s["role"], s["rank"]) for s in told["stragglers"]
                              if s["role"] == "culprit"], [("culprit", "rank 1")])


if __name__ == "__main__":
    unittest.main()
