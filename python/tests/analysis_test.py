#!/usr/bin/env python3
"""gs.load, report, advise, compare, inspect, predict; columns, notebooks, types of errors."""
import json
import os
import struct
import unittest

import genscope as gs
from harness import ProgramCase

PROGRAM = '''
import genscope as gs
with gs.session("s", tags={"model": "<script>alert(1)</script>"}):
    with gs.stage("text_encoding"): pass
    with gs.stage("denoise", steps=5):
        for i in gs.steps(range(5)):
            gs.counter("latent", i / 2)
    try:
        with gs.stage("vae_decode"): raise ValueError
    except ValueError: pass
'''


class Analysis(ProgramCase):
    def run_of(self):
        self.python(PROGRAM)
        return self.recorded()

    def test_columns(self):
        recorded = self.run_of()
        run = gs.load(recorded.run)
        self.assertEqual(len(run.spans), len(recorded.spans))
        for got, wanted in zip(run.spans, recorded.spans):
            self.assertEqual(got["name"], wanted["name"])
            self.assertEqual(got["kind"], wanted["kind"])
            self.assertEqual(got["begin_ns"], wanted["begin_ns"])
            self.assertEqual(got["duration_ns"], wanted["duration_ns"])
            self.assertEqual(got["parent"], -1 if wanted["parent"] is None else wanted["parent"])
            self.assertEqual(got["device_ns"], -1)
            self.assertEqual(bool(got["failed"]), "failed" in wanted["flags"])
        self.assertEqual(list(run.counters["value"]), [0, .5, 1, 1.5, 2])
        self.assertEqual(run.counters["name"][1:3], ["latent", "latent"])
        self.assertEqual(run.spans.to_dict()["name"][0], "s")

    def test_arrow_structs_hold_the_columns(self):
        schema, array = gs.load(self.run_of().run).spans.__arrow_c_array__()
        self.assertIn('"arrow_schema"', repr(schema))
        self.assertIn('"arrow_array"', repr(array))
        del schema, array  # their own release

    def test_reports_advice_and_comparison(self):
        run = self.run_of().run
        self.assertIn("denoise", gs.report(run))
        self.assertEqual(json.loads(gs.report(run, "json"))["schema"], "genscope.report/1")
        path = gs.report(run, "html", to=self.folder / "r.html")
        page = open(path).read()
        self.assertTrue(page.lstrip().lower().startswith("<!doctype html"))
        self.assertNotIn("<script>alert(1)", page)
        self.assertEqual(os.listdir(self.folder).count("r.html"), 1)
        by_name = gs.report(run, to=self.folder / "named.html")
        self.assertEqual(open(by_name).read()[:15].lower(), "<!doctype html>")
        trace = json.loads(gs.report(run, "chrome"))
        self.assertIn("denoise", {event["name"] for event in trace["traceEvents"] if event["ph"] == "X"})
        with open(gs.report(run, to=self.folder / "run.pftrace"), "rb") as file:
            self.assertIn(b"denoise", file.read())
        for wrong in (lambda: gs.report(run, to=self.folder / "r.pdf"), lambda: gs.report(run, "perfetto"),
                      lambda: gs.compare(run, run, to=self.folder / "c.csv")):
            with self.assertRaisesRegex(ValueError, "give format=|name a file"):
                wrong()
        self.assertFalse((self.folder / "r.pdf").exists())
        self.assertIn("findings", gs.advise(run))
        page = gs.compare(run, run, to=self.folder / "c.html", force=True)
        self.assertIn("genscope-data", open(page).read())
        compared = gs.compare(run, run, force=True)
        self.assertEqual(compared["schema"], "genscope.compare/2")
        self.assertIn("denoise", gs.compare(run, run, format="text", force=True))
        several = gs.compare([run, run], (run,), force=True)
        self.assertEqual([len(several[side]["runs"]) for side in ("before", "after")], [2, 1])
        self.assertTrue(several["incomparable"], "a run given twice counts once")
        with self.assertRaises(ValueError):
            gs.compare([], run)
        self.assertGreaterEqual(len(gs.load(run).stages()), 3)

    def test_figures_for_trackers_have_the_wall_time(self):
        from genscope.tracking import figures
        run = gs.load(self.run_of().run)
        self.assertEqual(figures(run)["genscope/wall_seconds"], run.summary["run"]["wall_ns"] * 1e-9)

    def test_notebooks_show_a_table_and_escape(self):
        self.python('''
import genscope as gs
with gs.session("s"):
    with gs.stage("<img src=x onerror=alert(1)>"): pass
''')
        text = gs.load(self.recorded().run)._repr_html_()
        self.assertIn("&lt;img", text)
        self.assertNotIn("<img", text)

    def test_models_and_predictions(self):
        header = json.dumps({"w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}).encode()
        file = self.folder / "m.safetensors"
        file.write_bytes(struct.pack("<Q", len(header)) + header + bytes(16))
        model = gs.inspect(file)
        self.assertEqual(model["parameters"], 4)
        prediction = gs.predict("flux-dev", "RTX 4090", width=1024, height=1024, steps=28)
        self.assertGreater(prediction["floor"]["step_seconds"], 0)
        self.assertIsNone(prediction["measured"])
        measured = gs.predict("flux-dev", "RTX 4090", measured_seconds=0.62)
        self.assertGreater(measured["measured"]["mfu_ratio"], 0)

    def test_errors_name_the_file_and_the_remedy(self):
        with self.assertRaisesRegex(FileNotFoundError, "nowhere"):
            gs.load("/nowhere")
        with self.assertRaisesRegex(ValueError, "text, json, html, md, csv"):
            gs.report("/nowhere", "pdf")
        with self.assertRaisesRegex((ValueError, FileNotFoundError), "flux"):
            gs.predict("flux-devv", "RTX 4090")
        with self.assertRaisesRegex(ValueError, "wandb, mlflow"):
            gs.track_to("excel")
        bad = self.folder / "trace-1.gst"
        bad.write_bytes(b"nothing of the kind" * 100)
        with self.assertRaises(ValueError):
            gs.load(bad)


if __name__ == "__main__":
    unittest.main()
