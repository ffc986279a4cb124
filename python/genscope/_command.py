"""The `genscope` command of a wheel: becomes the program beside this file."""
from __future__ import annotations

import os
import sys


def path() -> str:
    """The program: in a wheel bin/ of the package, in a build tree or a prefix where CMake put it."""
    here = os.path.dirname(os.path.abspath(__file__))
    tried = [os.path.join(here, "bin", "genscope"),
             os.path.join(here, "..", "..", "bin", "genscope"),
             os.path.join(here, "..", "..", "..", "..", "bin", "genscope")]
    for candidate in tried:
        if os.access(candidate, os.X_OK):
            return os.path.normpath(candidate)
    raise FileNotFoundError("the genscope program is not in this installation; looked for "
                            + ", ".join(map(os.path.normpath, tried)))


def main() -> int:
    try:
        program = path()
        os.execv(program, ["genscope", *sys.argv[1:]])
    except OSError as error:
        print(f"genscope: {error}", file=sys.stderr)
        return 5
    return 0  # not reached


if __name__ == "__main__":
    sys.exit(main())
