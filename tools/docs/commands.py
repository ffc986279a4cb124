"""The commands that pages name, held against the help texts that the tests keep in tests/golden/help.

1. A command in a code block or in `code` names a subcommand that exists, and only options it has.
2. Each option and each exit code of a help text is in the page of its command.
"""
import re
import shlex

OPTION = re.compile(r"^  ((?:-\w,)?--[\w-]+(?:,--[\w-]+)*)(\S*)(.*)$")
CODE = re.compile(r"^  (\d+)\s{2,}\S")
CALL = re.compile(r"(?:^|[\s`(;|&])genscope ((?:--?[a-z]|[a-z]).*)$")
GLOBAL = {"--help", "--version", "--quiet", "--color"}
PAGES = {"run": "run.md", "serve": "serve.md", "top": "top.md", "doctor": "doctor.md",
         "predict": "predict.md", "bench": "bench*.md"}


class Help:
    """The help texts: commands, their options, which of these take a value, exit codes."""

    def __init__(self, folder):
        self.options, self.valued, self.codes = {}, {}, {}
        for path in folder.glob("*.txt"):
            name = path.stem.replace("_", " ", 1) if path.stem.startswith("bench_") else path.stem
            name = name.replace("baseline_", "baseline ")
            options, valued, codes = set(), set(), set()
            for line in path.read_text().splitlines():
                found = OPTION.match(line)
                if found:
                    names = [n for n in found.group(1).split(",")]
                    options.update(names)
                    if re.match(r" [A-Z]", found.group(3)):
                        valued.update(names)
                elif CODE.match(line):
                    codes.add(CODE.match(line).group(1))
            self.options[name], self.valued[name], self.codes[name] = options, valued, codes

    def command_of(self, words):
        """(name, the words behind it), or (None, words)."""
        for length in (3, 2, 1):
            name = " ".join(words[:length])
            if len(words) >= length and name in self.options and name != "genscope":
                if name == "bench" and words[1:] and words[1] not in ("-h", "--help"):
                    return "bench cmd", words[1:]
                return name, words[length:]
        return None, words


def words_of(call):
    """The words of one simple command: up to a pipe, a comment, the end of `code`."""
    lexer = shlex.shlex(call, posix=True, punctuation_chars="|&;()<>`")
    lexer.whitespace_split = True
    words = []
    try:
        for word in lexer:
            if word[0] in "|&;()<>`":
                break
            words.append(word)
    except ValueError:
        return None  # a quote that closes on another line
    return words


def calls(page):
    """(line number, text behind `genscope`) of each command that the page shows."""
    for block in page.blocks:
        if block.language in ("cpp", "c", "python", "yaml", "json", "cmake", "html"):
            continue
        joined, begin = "", 0
        for number, line in enumerate(block.lines, block.first):
            begin = begin if joined else number
            joined += line.strip()
            if joined.endswith("\\"):
                joined = joined[:-1]
                continue
            if re.match(r"^(?:\$ |# )?(?:\w+=\S+ )*genscope ", joined) or " && genscope " in joined \
                    or "$(genscope" in joined:
                found = CALL.search(joined)
                if found:
                    yield begin, found.group(1)
            joined = ""
    for number, line in page.prose:
        for code in re.findall(r"`(genscope [^`]*)`", line):
            found = CALL.search(code)
            if found:
                yield number, found.group(1)


def wrong_with(call, texts):
    """What is wrong with one command."""
    words = words_of(call)
    while words and words[0] in ("--quiet", "--color", "--version", "--help"):
        words = words[2:] if words[0] == "--color" else words[1:]
    if not words or not re.fullmatch(r"[a-z][a-z-]*", words[0]):
        return  # `genscope COMMAND`, `genscope --help`
    name, rest = texts.command_of(words)
    if name is None:
        if words[0] not in ("probe-child", "help", "python"):
            yield f"there is no command `genscope {words[0]}`"
        return
    known, takes = texts.options[name] | GLOBAL, texts.valued[name]
    other_program, skip = name in ("run", "demo"), False
    for word in rest:
        if skip:
            skip = False
        elif word == "--":
            if other_program:
                return
        elif word.startswith("--"):
            option = word.split("=")[0]
            if option not in known:
                yield f"`genscope {name}` has no option {option}"
            skip = option in takes and "=" not in word
        elif word.startswith("-") and len(word) == 2:
            skip = word in takes
        elif other_program:
            return  # `genscope run CMD`: what follows is CMD's


def undocumented(root, texts):
    """(page, complaint): options and exit codes of help texts that their page does not have."""
    for name in sorted(texts.options):
        pattern = PAGES.get(name.split()[0], "cli.md")
        text = "".join(p.read_text() for p in sorted((root / "docs").glob(pattern)))
        for option in sorted(texts.options[name] - (set() if name == "genscope" else GLOBAL)):
            if option.startswith("--") and not re.search(rf"(?<![\w-]){option}(?![\w-])", text):
                yield f"docs/{pattern}", f"`genscope {name}` has {option}, which is not described"
        general = (root / "docs" / "cli.md").read_text()
        for code in sorted(texts.codes[name]):
            if not re.search(rf"^\| {code} \|", text + general, re.M):
                yield f"docs/{pattern}", f"`genscope {name}` has exit code {code}, not described"
