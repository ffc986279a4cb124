"""Runs the commands that pages show, and compares what they print with what the page says.

    <!-- output: genscope advise genscope-runs/before -->     what the next block must look like
    <!-- output (6): genscope compare a b -->                 the same, and the exit code
    <!-- runs -->                                             each line of the next block ends with 0
    <!-- not run: needs a GPU -->                             why the commands of the next block are not

A block after `output` may begin with lines `$ command`, which stay as they are: they say what the
reader types, the comment says what is run. A line `...` stands for any number of lines.

Compared is the shape: numbers with their units, times, addresses and bars may differ. What the
commands read lies in a folder made for them: the runs of tests/docs/runs in `genscope-runs/`, and
the files of FILES.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

FILES = ("examples/python/gen.py", "examples/quickstart.cc", "examples/rules.yaml")
UNIT = r"(?:\s?(?:ns|us|ms|s|min|h|B|KiB|MiB|GiB|TiB|kB|MB|GB|J|W|Wh|MHz|GHz|C|x)\b|\s?%)?"
QUANTITY = re.compile(r"(?<![A-Za-z_])[+-]?\d[\d,]*(?:[.:]\d+)*(?:e[+-]?\d+)?" + UNIT)
SECONDS = 60


def shape(line):
    """A line without what differs from run to run."""
    line = re.sub(r"\x1b\[[0-9;]*m", "", line)
    line = re.sub(r"[▁▂▃▄▅▆▇█▏▎▍▌▋▊▉░▒▓·]+", "~", line)
    line = re.sub(r"/tmp/[^\s,;)]*/", "", line)
    line = re.sub(r"\b[0-9a-f]{12,}\b", "#", line)
    line = QUANTITY.sub("#", line)
    line = re.sub(r"#(?:\s*[-–]\s*#)+", "#", line)  # dates, ranges
    line = re.sub(r"-{3,}", "-", line)
    return re.sub(r"\s+", " ", line.replace("~", " ")).strip()


def parts(lines):
    """(what the reader types, the lines before `...`, those behind it or None if there is none)."""
    typed = 0
    while typed < len(lines) and (lines[typed].startswith("$ ") or
                                  (typed and lines[typed - 1].endswith("\\"))):
        typed += 1
    shown = lines[typed:]
    if "..." not in shown:
        return lines[:typed], shown, None
    cut = shown.index("...")
    return lines[:typed], shown[:cut], shown[cut + 1:]


def fits(block, printed):
    """Whether the block shows what was printed."""
    _, head, tail = parts([line.rstrip() for line in block])
    head, printed = [shape(x) for x in head], [shape(x) for x in printed]
    if tail is None:
        return head == printed
    tail = [shape(x) for x in tail]
    return len(printed) >= len(head) + len(tail) and printed[:len(head)] == head and \
        printed[len(printed) - len(tail):] == tail


def renewed(block, printed):
    """The block with what was printed; as many lines before and behind `...` as there were."""
    typed, head, tail = parts(block)
    if tail is None:
        return typed + printed
    if len(printed) <= len(head) + len(tail):
        return typed + printed
    return typed + printed[:len(head)] + ["..."] + (printed[-len(tail):] if tail else [])


class Folder:
    """Where the commands run."""

    def __init__(self, root, programs, python):
        self._held = tempfile.TemporaryDirectory(prefix="genscope-docs-")
        self.path = pathlib.Path(self._held.name)
        shutil.copytree(root / "tests" / "docs" / "runs", self.path / "genscope-runs")
        for name in FILES:
            shutil.copy(root / name, self.path)
        (self.path / "home").mkdir()
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GENSCOPE_", "NO_COLOR"))}
        self.environment = {**kept, "PATH": f"{programs}:{kept.get('PATH', '')}", "COLUMNS": "100",
                            "TERM": "dumb", "LC_ALL": "C.UTF-8", "HOME": str(self.path / "home"),
                            "PYTHONPATH": str(python), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, command):
        """(exit code, lines)"""
        done = subprocess.run(["bash", "-c", command], cwd=self.path, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=SECONDS)
        lines = [line.rstrip() for line in done.stdout.decode(errors="replace").splitlines()]
        while lines and not lines[-1]:
            lines.pop()
        return done.returncode, lines

    def close(self):
        self._held.cleanup()


def typed_commands(block):
    """The commands of a block, each on its line; `$ ` and comments are taken off."""
    joined = ""
    for line in block.lines:
        joined += line.strip().removeprefix("$ ")
        if joined.endswith("\\"):
            joined = joined[:-1]
            continue
        if joined and not joined.startswith("#"):
            yield joined
        joined = ""


def not_run(page):
    """Line numbers of `$ genscope` that no test runs and that do not say why."""
    for block in page.blocks:
        if block.mark is None or block.mark[0] == "file":
            for number, line in enumerate(block.lines, block.first):
                if line.startswith("$ genscope "):
                    yield number


def check(page, folder, update):
    """(line number, complaint) of a page; with `update` it is rewritten where shapes differ."""
    changed = False
    text = list(page.text)
    for block in reversed(page.blocks):  # from the end, so that line numbers stay
        what, expected, command = block.mark or (None, 0, "")
        if what == "runs":
            for typed in typed_commands(block):
                code, lines = folder.run(typed)
                if code != 0:
                    yield block.first, f"`{typed}` ends with {code}: {' / '.join(lines[-3:])}"
        elif what == "output":
            code, lines = folder.run(command)
            if code != expected:
                yield block.first, f"`{command}` ends with {code}, not {expected}: " \
                                   f"{' / '.join(lines[-3:])}"
            elif not fits(block.lines, lines):
                if update:
                    text[block.first - 1:block.last] = renewed(block.lines, lines)
                    changed = True
                else:
                    yield block.first, f"`{command}` prints something else now; " \
                                       "tools/check_docs --update shows it"
    if changed:
        page.path.write_text("\n".join(text) + "\n")
