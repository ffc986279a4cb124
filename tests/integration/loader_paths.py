#!/usr/bin/env python3
"""Where the loader looks for the libraries of a program: never in the folder that one happens to be in.

loader_paths.py FILE...   the build tree's and the installed programs and libraries. Reads their dynamic section
(DT_RPATH, DT_RUNPATH): an empty entry or a relative one is the current folder, so whoever owns that folder would
run code in the user's name. $ORIGIN is the folder of the file itself, and fine.
"""
import struct
import sys

PT_LOAD, PT_DYNAMIC = 1, 2
DT_STRTAB, DT_RPATH, DT_RUNPATH = 5, 15, 29


def search_paths(path):
    """The entries of both lists, or None: no ELF file of 64 bits, or a static one."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:5] != b"\x7fELF\x02" or data[5] != 1:
        return None
    (offset,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    loads, dynamic = [], None
    for i in range(count):
        kind, _, at, address, _, length = struct.unpack_from("<IIQQQQ", data, offset + i * size)
        if kind == PT_LOAD:
            loads.append((address, length, at))
        elif kind == PT_DYNAMIC:
            dynamic = (at, length)
    if dynamic is None:
        return None
    entries = [struct.unpack_from("<qQ", data, dynamic[0] + i) for i in range(0, dynamic[1], 16)]
    (strings,) = [value for tag, value in entries if tag == DT_STRTAB]
    (text,) = [at + strings - address for address, length, at in loads if address <= strings < address + length]
    found = []
    for tag, value in entries:
        if tag in (DT_RPATH, DT_RUNPATH):
            found += data[text + value : data.index(b"\0", text + value)].decode().split(":")
    return found


def unsafe(entries):
    return [entry for entry in entries if not entry.startswith(("/", "$ORIGIN", "${ORIGIN}"))]


def main():
    looked_at = wrong = 0
    for path in sys.argv[1:]:
        entries = search_paths(path)
        if entries is None:
            continue
        looked_at += 1
        for entry in unsafe(entries):
            wrong += 1
            print(f"{path}: searches '{entry}', which is the current folder: {':'.join(entries)!r}")
    if looked_at == 0:
        sys.exit("no program among: " + " ".join(sys.argv[1:]))
    # The test itself can fail.
    assert unsafe(["", "$ORIGIN/../lib"]) == [""] and unsafe(["lib", "./lib", "/usr/lib"]) == ["lib", "./lib"]
    print(f"{looked_at} files: the loader searches no current folder")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
