#!/usr/bin/env python3
"""What help() says: every public name has an example, and the examples run."""
import doctest
import inspect
import os
import subprocess
import sys
import unittest

import genscope as gs
from harness import ProgramCase

RECORD = '''
import genscope as gs
with gs.session("example") as session:
    with gs.stage("text_encoding"): pass
    with gs.stage("denoising"):
        for i in gs.steps(range(20)): sum(range(2000))
    with gs.stage("vae_decode"): pass
print(session.run_dir)
'''


def surroundings(run_dir):
    """The names that examples use."""
    return {"gs": gs, "run_dir": run_dir, "prompt": "a cat", "latent": [0.0], "image": b"", "data": 1,
            "batches": [1, 2], "encode": lambda prompt: prompt, "decode": lambda latent: b"",
            "denoise": lambda latent, step: latent, "train": lambda data: 0.5, "save": lambda image: None,
            "load_model": lambda: None}


class Documentation(ProgramCase):
    def setUp(self):
        super().setUp()
        done = self.python(RECORD)
        self.run_dir = done.stdout.strip()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        kept = {key: os.environ.get(key) for key in ("GENSCOPE_OUT",)}
        self.addCleanup(lambda: [os.environ.pop(k, None) if v is None else os.environ.update({k: v})
                                 for k, v in kept.items()])
        os.environ["GENSCOPE_OUT"] = str(self.folder / "runs")

    def public(self):
        for name in gs.__all__:
            thing = getattr(gs, name)
            if not inspect.ismodule(thing):
                yield name, thing

    def test_every_public_name_has_an_example(self):
        for name, thing in self.public():
            with self.subTest(name):
                self.assertIn(">>> ", thing.__doc__ or "")
                self.assertIn(f"gs.{name}(" if name not in ("Run", "Span", "Session", "profile")
                              else "gs.", thing.__doc__)

    def test_the_examples_run(self):
        tried = 0
        for name, thing in self.public():
            test = doctest.DocTestParser().get_doctest(
                thing.__doc__, surroundings(self.run_dir), name, name, 0)
            said = []
            result = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
            tried += result.attempted
            self.assertEqual(result.failed, 0, "".join(said))
        self.assertGreater(tried, 30)

    def test_methods_of_a_run_are_described(self):
        for name, member in inspect.getmembers(gs.Run):
            if not name.startswith("_"):
                self.assertTrue(inspect.getdoc(member), name)

    def test_the_manual_fits_on_a_screen_and_names_everything(self):
        lines = gs.__doc__.splitlines()
        self.assertLessEqual(len(lines), 36)
        self.assertLessEqual(max(map(len, lines)), 96)
        for name in gs.__all__:
            if name not in ("Session", "Span", "analysis", "tracking"):  # shown as what makes them
                self.assertRegex(gs.__doc__, rf"\b{name}\b")

    def test_help_begins_with_the_manual(self):
        import pydoc
        text = pydoc.plain(pydoc.render_doc(gs))
        self.assertIn("Record    session", text[:4000])

    def test_the_package_is_the_command(self):
        done = subprocess.run([sys.executable, "-m", "genscope", "--version"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(gs.__version__, done.stdout)

    def test_last_is_the_newest(self):
        first = gs.last().path
        self.assertEqual(os.path.realpath(self.run_dir), first)
        with gs.session("second", out=str(self.folder / "elsewhere")) as session:
            pass
        self.assertEqual(gs.last().path, os.path.realpath(session.run_dir))
        self.assertEqual(gs.last(1).path, first)
        with self.assertRaisesRegex(FileNotFoundError, "has 2 runs"):
            gs.last(2)
        with self.assertRaisesRegex(ValueError, "give 0 for the newest"):
            gs.last(-1)

    def test_misuse_is_told_what_to_do(self):
        def function(): pass
        for call, error, words in (
                (lambda: gs.stage(function), TypeError, "put @gs.profile above it"),
                (lambda: gs.stage(3), TypeError, "must be a str, not int"),
                (lambda: gs.stage("a", "b"), TypeError, r'stage\("vae_decode", tiles=4\)'),
                (lambda: gs.steps(20), TypeError, r"write gs.steps\(range\(20\)\)"),
                (lambda: gs.steps(None), TypeError, "not NoneType"),
                (lambda: gs.profile(3), TypeError, "goes above a function"),
                (lambda: gs.wrap(3), TypeError, "takes a module or a function, not int"),
                (lambda: gs.event(), TypeError, "give one name"),
                (lambda: gs.counter("loss"), TypeError, "give a name and a number"),
                (lambda: gs.load(3), TypeError, r"gs.last\(\) is the newest"),
                (lambda: gs.load("nowhere"), FileNotFoundError, "nowhere"),
                (lambda: gs.stagee, AttributeError, "did you mean 'stage'"),
                (lambda: gs.report(self.run_dir, "pdf"), ValueError, "give one of text"),
        ):
            with self.assertRaisesRegex(error, words):
                call()

    def test_no_run_says_how_to_record_one(self):
        os.environ["GENSCOPE_OUT"] = str(self.folder / "empty")
        from genscope import _mark
        kept, _mark._last_run_dir = _mark._last_run_dir, ""
        try:
            with self.assertRaisesRegex(FileNotFoundError, "genscope run -- python"):
                gs.last()
        finally:
            _mark._last_run_dir = kept


if __name__ == "__main__":
    unittest.main()
