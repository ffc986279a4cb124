#!/usr/bin/env python3
"""What a run keeps of a command line, and for whom."""
import base64
import gzip
import os
import re
import stat
import subprocess
import unittest

from support import BIN, PYTHON, RunCase

WORDS = ("--api-key", "sk-SECRET1", "--token=hf_SECRET2", "https://u:SECRET3@host/",
         "-H", "Authorization: Bearer SECRET4", "HF_TOKEN=SECRET5", "x?sig=SECRET6&n=1")


class Secrets(RunCase):
    def texts(self):
        """Every byte that the run left, and every report of it."""
        run = self.runs()[0]
        yield from ((path.name, path.read_bytes()) for path in run.iterdir() if path.is_file())
        page = re.search(rb'id="genscope-data">([^<]+)<', (run / "report.html").read_bytes())
        yield "data of report.html", gzip.decompress(base64.b64decode(page.group(1)))
        for form in ("text", "json", "csv", "md"):
            yield form, subprocess.run([BIN, "report", str(run), "--full", "-f", form],
                                       stdout=subprocess.PIPE, check=True).stdout

    def test_are_in_no_file_and_no_report(self):
        done = self.run_it("sh", "-c", "exit 0", "sh", *WORDS)
        self.assertNotIn(b"SECRET", done.stderr)
        for name, text in self.texts():
            self.assertNotIn(b"SECRET", text, name)
        self.assertIn("--token=***", self.manifest()["command"])

    def test_can_be_kept(self):
        self.run_it("sh", "-c", "exit 0", "sh", *WORDS, options=["--keep-args"])
        self.assertEqual(self.manifest()["command"][4:], list(WORDS))

    def test_the_command_gets_its_words_as_they_are(self):
        done = self.run_it(PYTHON, "-c", "import sys; print(sys.argv[1:])", *WORDS)
        self.assertEqual(done.stdout.decode().strip(), str(list(WORDS)))

    def test_modes_follow_the_umask(self):
        self.run_it("sh", "-c", "exit 0", preexec_fn=lambda: os.umask(0o077))
        run = self.runs()[0]
        for path in (run, *run.iterdir()):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077, 0, path)


if __name__ == "__main__":
    unittest.main()
