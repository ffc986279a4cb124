"""What the tests of a command's output share: how the command is called, and how golden files are compared or
written anew.

A test file makes `texts(folder)`, the golden texts by name, and ends with `golden.main(FOLDER, texts)`:
FILE GENSCOPE runs its tests, FILE --approve GENSCOPE rewrites the golden files.
"""
import difflib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

_binary = ""


def genscope(*words, cwd, columns=120):
    """The command, apart from the settings and the terminal of whoever runs the tests."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GENSCOPE_")}
    env.update(COLUMNS=str(columns), TERM="dumb", NO_COLOR="1", LC_ALL="C.UTF-8")
    return subprocess.run([_binary, *map(str, words)], cwd=cwd, env=env, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, capture_output=True)


def compare(test, folder, texts):
    """Fails with a diff where a text is not that of its file in `folder`."""
    for name, now in texts.items():
        kept = (folder / name).read_text()
        diff = "".join(difflib.unified_diff(kept.splitlines(True), now.splitlines(True), name, "now"))
        test.assertEqual(diff, "", f"if it is right: {os.path.relpath(sys.argv[0])} --approve\n")


def main(folder, texts):
    global _binary
    approve = sys.argv[1:2] == ["--approve"]
    words = sys.argv[2 if approve else 1:]
    if not words:
        sys.exit(sys.modules["__main__"].__doc__)
    _binary = str(pathlib.Path(words[0]).resolve())
    if not approve:
        unittest.main("__main__", argv=[sys.argv[0], "-v", *words[1:]])
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in texts(pathlib.Path(scratch)).items():
            (folder / name).write_text(text)
