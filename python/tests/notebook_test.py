#!/usr/bin/env python3
"""What a notebook shows of a run, and %%genscope, without IPython: tests/peer has a real kernel."""
import html
import html.parser
import re
import sys
import types
import unittest

import genscope as gs
from genscope import notebook
from harness import ProgramCase

RECORD = '''
import time
import genscope as gs
with gs.session("s"):
    with gs.stage("denoise <b>"):
        for i in gs.steps(range(6)): time.sleep(0.02 if i else 0.05)
    with gs.stage("vae_decode"): time.sleep(0.1)
print("done")
'''


class Balance(html.parser.HTMLParser):
    """Whether every element is closed, in order."""
    def __init__(self):
        super().__init__()
        self.open, self.wrong = [], []

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


class Notebook(ProgramCase):
    def shown(self, program=RECORD):
        self.python(program)
        return gs.load(self.recorded().run)

    def test_the_view_has_stages_steps_and_a_headline(self):
        run = self.shown()
        text = run._repr_html_()
        check = Balance()
        check.feed(text)
        self.assertEqual((check.open, check.wrong), ([], []))
        self.assertIn(html.escape(run.summary["headline"]), text)
        self.assertIn("denoise &lt;b&gt;", text)
        self.assertNotIn("<script", text)
        self.assertIn("6 steps, median", text)
        self.assertEqual(text.count("<rect"), 6)
        widths = [float(w) for w in re.findall(r"width:([\d.]+)%;background", text)]
        self.assertAlmostEqual(sum(widths), 100, places=1)

    def test_parts_are_the_wall_time(self):
        summary = self.shown().summary
        parts = dict(notebook.parts(summary))
        self.assertEqual(set(parts), {"denoise <b>", "vae_decode", notebook.OUTSIDE})
        self.assertEqual(sum(parts.values()), summary["stage_tree"]["wall_ns"])
        self.assertEqual(next(iter(parts)), "denoise <b>")

    def test_many_stages_are_put_together_and_no_time_is_lost(self):
        nodes = [{"name": f"s{i}", "self_ns": 1000 * (i + 1)} for i in range(20)]
        parts = notebook.parts({"stage_tree": {"nodes": nodes, "outside_ns": 90000}})
        self.assertEqual(len(parts), 10)
        self.assertEqual(parts[8], ("12 more", 78000))
        self.assertEqual(sum(ns for _, ns in parts), 300000)

    def test_a_run_without_marks_shows_what_there_is(self):
        text = self.shown('import genscope as gs\nwith gs.session("s"): pass')._repr_html_()
        self.assertIn("<b>", text)
        self.assertNotIn("<svg", text)

    def test_times_that_are_not_known_are_not_zero(self):
        self.assertEqual(notebook.seconds(None), "not measured")

    def test_the_magic_records_the_cell(self):
        shell = types.SimpleNamespace()
        magics, displayed = {}, []
        names = {"gs": gs}

        def run_cell(cell):
            try:
                exec(cell, names)
                return types.SimpleNamespace(success=True)
            except Exception as error:
                return types.SimpleNamespace(success=False, error_in_exec=error, error_before_exec=None)
        shell.run_cell = run_cell
        shell.register_magic_function = lambda function, kind: magics.update({function.__name__: (function, kind)})
        double = types.ModuleType("IPython.display")
        double.display = displayed.append
        package = types.ModuleType("IPython")
        package.display = double
        sys.modules.update({"IPython": package, "IPython.display": double})
        self.addCleanup(lambda: [sys.modules.pop(n) for n in ("IPython", "IPython.display")])
        import os
        os.environ["GENSCOPE_OUT"] = str(self.folder / "runs")
        self.addCleanup(os.environ.pop, "GENSCOPE_OUT", None)

        gs.load_ipython_extension(shell)
        magic, kind = magics["genscope"]
        self.assertEqual(kind, "cell")
        magic("--no-hooks my cell", "with gs.stage('denoise'): x = 1")
        self.assertEqual(names["x"], 1)
        self.assertEqual([s["name"] for s in displayed[0].stages() if s["kind"] == "stage"], ["denoise"])
        self.assertEqual(displayed[0].summary["run"]["name"], "my cell")
        self.assertEqual(gs.last().path, os.path.realpath(displayed[0].path))
        magic("--no-hooks", "1 / 0")  # shown by the shell; recorded as a failure
        self.assertEqual(len(displayed), 2)
        with self.assertRaisesRegex(ValueError, "NAME"):
            magic("--nohooks", "pass")


if __name__ == "__main__":
    unittest.main()
