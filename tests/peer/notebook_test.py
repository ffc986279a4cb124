#!/usr/bin/env python3
"""The notebook view and %%genscope in a real kernel: tools/venv notebook has IPython and nbclient."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CELLS = [
    "%load_ext genscope",
    """%%genscope my cell
import genscope as gs
with gs.stage("denoise"):
    for i in gs.steps(range(5)):
        sum(range(200000))
with gs.stage("vae_decode"):
    picture = 7""",
    "gs.last()",
    "picture",
    "help(gs)",
    """%%genscope
1 / 0""",
]
# Runs in the other interpreter: executes the cells, prints their outputs as JSON.
PROGRAM = """
import json, sys
import nbformat
from nbclient import NotebookClient
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in json.load(sys.stdin)])
NotebookClient(book, timeout=120, kernel_name="python3", allow_errors=True).execute()
json.dump([cell.outputs for cell in book.cells], sys.stdout)
"""


class RealKernel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import json
        python = subprocess.run([ROOT / "tools" / "venv", "notebook"], check=True, text=True,
                                stdout=subprocess.PIPE).stdout.strip()
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "PYTHONPATH": str(ROOT / "build" / "dev" / "python"),
                           "GENSCOPE_OUT": f"{folder}/runs", "IPYTHONDIR": f"{folder}/ipython",
                           "JUPYTER_RUNTIME_DIR": f"{folder}/jupyter", "HOME": folder}
            done = subprocess.run([python, "-c", PROGRAM], input=json.dumps(CELLS), text=True, cwd=folder,
                                  env=environment, capture_output=True, timeout=300)
        assert done.returncode == 0, done.stderr
        cls.outputs = json.loads(done.stdout)

    def data(self, cell, kind):
        return "".join(output["data"].get(kind, "") for output in self.outputs[cell] if "data" in output)

    def test_the_magic_draws_the_run(self):
        for cell in (1, 2):
            page = self.data(cell, "text/html")
            self.assertIn("denoise: ", page)
            self.assertIn("5 steps, median", page)
            self.assertIn("vae_decode: ", page)

    def test_names_of_the_cell_stay(self):
        self.assertEqual(self.data(3, "text/plain"), "7")

    def test_help_is_the_manual(self):
        text = "".join(output.get("text", "") for output in self.outputs[4])
        self.assertIn("with gs.stage(\"vae_decode\", tiles=4):", text[:4000])

    def test_a_cell_that_fails_shows_its_error_and_its_run(self):
        kinds = [output["output_type"] for output in self.outputs[5]]
        self.assertIn("error", kinds)
        self.assertIn("text/html", str(self.outputs[5]))


if __name__ == "__main__":
    unittest.main()
