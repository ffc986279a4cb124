"""The Markdown of the repository: its files, its code blocks and the comments that say what they are."""
import dataclasses
import os
import pathlib
import re

SKIP = {".git", "build", "node_modules", "genscope-runs", "__pycache__", ".venv"}
FENCE = re.compile(r"^\s*(```+|~~~+)\s*(\S*)")
MARK = re.compile(r"^\s*<!--\s*(file|output|runs|not run)(?:\s*\((\d+)\))?\s*:?\s*(.*?)\s*-->\s*$")


@dataclasses.dataclass
class Block:
    """A fenced code block. `first` and `last` are the numbers of its lines, from 1, without the
    fences; `mark` is the comment right before it as (what, exit code, text), or None."""
    first: int
    last: int
    language: str
    lines: "list[str]"
    mark: "tuple[str, int, str] | None"


@dataclasses.dataclass
class Page:
    path: pathlib.Path
    text: "list[str]"  # every line
    prose: "list[tuple[int, str]]"  # numbered lines outside of code blocks
    blocks: "list[Block]"
    stray: "list[tuple[int, str]]"  # marks that no block follows


def files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIP)
        yield from (pathlib.Path(folder, n) for n in sorted(names) if n.endswith(".md"))


def read(path):
    page = Page(path, path.read_text().splitlines(), [], [], [])
    fence, mark, marked_at, open_block = None, None, 0, None
    for number, line in enumerate(page.text, 1):
        found = FENCE.match(line)
        if fence is None and found:
            fence = found.group(1)
            open_block = Block(number + 1, number, found.group(2), [], mark)
            mark = None
        elif fence is not None:
            word = line.strip()
            if found and word == fence[0] * len(word) and len(word) >= len(fence):
                page.blocks.append(open_block)
                fence = None
            else:
                open_block.lines.append(line)
                open_block.last = number
        else:
            page.prose.append((number, line))
            if mark and line.strip():
                page.stray.append((marked_at, mark[2]))
                mark = None
            told = MARK.match(line)
            if told:
                mark, marked_at = (told.group(1), int(told.group(2) or 0), told.group(3)), number
    if mark:
        page.stray.append((marked_at, mark[2]))
    return page
