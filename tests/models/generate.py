#!/usr/bin/env python3
"""Writes model files of known shapes: legal headers, sparse data of the true length, no weights.

generate.py FOLDER [NAME...]   all files, or those named: FOLDER/releases/NAME.safetensors,
                               FOLDER/tiny/NAME.safetensors
"""
import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import catalogue

BYTES = {"BF16": 2, "F16": 2, "F32": 4, "U8": 1, "I8": 1, "F8_E4M3": 1, "I32": 4, "I64": 8,
         "U32": 4}


def elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def write_safetensors(path, tensors, dtype="BF16", dtypes=None, metadata=None):
    """`tensors`: name -> shape. `dtypes`: name -> dtype where it is not `dtype`."""
    header, offset = {}, 0
    if metadata:
        header["__metadata__"] = metadata
    for name, shape in tensors.items():
        kind = (dtypes or {}).get(name, dtype)
        end = offset + elements(shape) * BYTES[kind]
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        out.truncate(8 + len(text) + offset)  # a hole: no disk is used


def main(argv):
    if not argv:
        print(__doc__, file=sys.stderr)
        return 2
    folder, names = pathlib.Path(argv[0]), set(argv[1:])
    for place, entries in (("releases", catalogue.RELEASES), ("tiny", catalogue.TINY)):
        for name, (net, _) in entries.items():
            if not names or name in names:
                write_safetensors(folder / place / f"{name}.safetensors", net.tensors)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
