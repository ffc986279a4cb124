"""Cells of a suite on four virtual Slurm nodes; one of them is lost."""
import subprocess
import threading
import time
import unittest

import slurm_cluster
from bench_case import GENSCOPE, BenchCase


@unittest.skipIf(slurm_cluster.missing(), slurm_cluster.missing())
class Slurm(BenchCase):
    def test_a_suite_is_run_by_one_command(self):
        with slurm_cluster.Cluster() as cluster:
            self.genscope("run", self.suite(), "--launch", "slurm", "--out", self.folder / "out",
                          "--json", env=cluster.env)
            plans = list((self.folder / "out").rglob("plan.json"))
            self.assertEqual(len(plans), 1)
        self.folder = plans[0].parent
        self.assert_every_cell_once(self.gathered())

    def test_the_worst_code_of_the_cells_is_the_result(self):
        with slurm_cluster.Cluster() as cluster:
            self.genscope("run", self.suite(extra="test {ms} != 40"), "--launch", "slurm", "--out",
                          self.folder / "out", expect=4, env=cluster.env)

    def test_a_lost_node_costs_no_cell(self):
        plan = self.plan(extra="sleep 0.5")
        with slurm_cluster.Cluster() as cluster:
            job = subprocess.Popen(["sbatch", "--wait", "--array=0-5", "--exclusive", "--requeue",
                                    f"--output={self.folder}/task-%a.log", "--wrap",
                                    f"{GENSCOPE} bench cell {plan}"],
                                   env={**self.env, **cluster.env}, stdout=subprocess.PIPE, text=True)
            end = time.monotonic() + 60
            while not (self.folder / "ran").exists():  # somebody is at work
                self.assertLess(time.monotonic(), end, cluster.logs())
                time.sleep(0.1)
            cluster.lose("n1")
            waiting = threading.Timer(300, job.kill)
            waiting.start()
            job.wait()
            waiting.cancel()
            left = subprocess.run(["squeue", "-h"], env=cluster.env, capture_output=True, text=True).stdout
            self.assertEqual(left, "", "tasks are still waiting: " + cluster.logs())
        self.assert_every_cell_once(self.gathered())


if __name__ == "__main__":
    unittest.main()
