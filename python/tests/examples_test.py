#!/usr/bin/env python3
"""examples/python, run alone and under `genscope run`."""
import pathlib
import unittest

from harness import ProgramCase

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/python"


class Examples(ProgramCase):
    def test_by_hand(self):
        text = (EXAMPLES / "by_hand.py").read_text()
        for under in (False, True):
            with self.subTest(under=under):
                self.python(text, under=under)
                run = self.recorded()
                self.assertEqual([s["kind"] for s in run.children(run.one("denoise", "stage"))], ["step"] * 20)
                run.one("text_encoding", "stage")
                self.assertEqual(run.one("vae_decode")["args"], {"tiles": 4})


if __name__ == "__main__":
    unittest.main()
