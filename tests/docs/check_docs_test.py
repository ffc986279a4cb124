#!/usr/bin/env python3
"""tools/check_docs: what it accepts and what it refuses, on small pages; and the shape of outputs."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
from docs import commands, markdown, outputs  # noqa: E402

TEXTS = commands.Help(ROOT / "tests" / "golden" / "help")


def page(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "page.md")
        path.write_text(text)
        return markdown.read(path)


class Commands(unittest.TestCase):
    def wrong(self, call):
        return list(commands.wrong_with(call, TEXTS))

    def test_what_exists_is_accepted(self):
        for call in ("report RUN -o report.html", "run -- python gen.py --no-such-option", "--quiet report x",
                     "run python gen.py --steps 4", "run --out x python gen.py --steps 4",
                     "bench ab 'a --x' 'b --y' --effect 3", "bench 'sleep 1' --units 4", "bench -N 'x' --units 4",
                     "bench baseline set main --note 'x'", "report RUN --json | jq --raw-output .x",
                     "demo -- --steps 4", "bench frontier 'gen --batch {batch}' --parameter batch 1..64"):
            self.assertEqual(self.wrong(call), [], call)

    def test_what_does_not_exist_is_refused(self):
        for call, words in (("reprot RUN", "no command"), ("report RUN --htlm", "no option --htlm"),
                            ("run --sreve -- x", "no option --sreve"), ("bench ab a b --efect 3", "--efect"),
                            ("bench -N x --unitz 4", "`genscope bench cmd` has no option --unitz")):
            self.assertIn(words, "".join(self.wrong(call)), call)

    def test_commands_of_a_page_are_found(self):
        found = commands.calls(page("`genscope top --once`\n\n```\n$ genscope report \\\n    RUN --json\n"
                                    "x && genscope doctor\n```\n```cpp\ngenscope nothing\n```\n"))
        self.assertEqual(sorted(found), [(1, "top --once"), (4, "report RUN --json"), (6, "doctor")])


class Outputs(unittest.TestCase):
    def fits(self, shown, printed):
        return outputs.fits(shown.splitlines(), printed.splitlines())

    def test_numbers_times_and_bars_may_differ(self):
        self.assertTrue(self.fits("decode  1.41 s  53.5 %  [██··]", "decode   755ms  9 %  [█···]"))
        self.assertTrue(self.fits("  12.0 KiB read", "  4.1 MiB read"))
        self.assertTrue(self.fits("started  2026-11-18 20:32:34 UTC", "started  2027-01-02 01:02:03 UTC"))

    def test_words_may_not(self):
        self.assertFalse(self.fits("decode 1.41 s", "encode 1.41 s"))
        self.assertFalse(self.fits("decode 1.41 s", "decode n/a"))
        self.assertFalse(self.fits("one", "one\ntwo"))

    def test_dots_stand_for_lines(self):
        self.assertTrue(self.fits("$ genscope x\na\n...\nz", "a\nb\nc\nz"))
        self.assertFalse(self.fits("a\n...\nz", "a\nb"))
        self.assertFalse(self.fits("a\nb\n...\nb\nz", "a\nb\nz"))  # a line counts once

    def test_an_update_keeps_what_is_typed_and_the_length(self):
        block = ["$ genscope x", "a", "...", "z"]
        self.assertEqual(outputs.renewed(block, ["1", "2", "3", "4"]), ["$ genscope x", "1", "...", "4"])
        self.assertEqual(outputs.renewed(["$ x", "a", "..."], ["1", "2", "3"]), ["$ x", "1", "..."])
        self.assertEqual(outputs.renewed(block, ["1"]), ["$ genscope x", "1"])

    def test_a_command_that_no_test_runs_is_refused(self):
        text = "```\n$ genscope report x\n```\n"
        self.assertEqual(list(outputs.not_run(page(text))), [2])
        for mark in ("<!-- runs -->", "<!-- output: genscope report x -->", "<!-- not run: needs a GPU -->"):
            self.assertEqual(list(outputs.not_run(page(mark + "\n" + text))), [])


class Readme(unittest.TestCase):
    def test_python_and_cpp_come_before_line_40(self):
        first = {}
        for block in markdown.read(ROOT / "README.md").blocks:
            first.setdefault(block.language, block.first)
        self.assertLess(first["python"], 40)
        self.assertLess(first["cpp"], 40)


if __name__ == "__main__":
    unittest.main()
