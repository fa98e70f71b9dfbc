#!/usr/bin/env python3
"""Writes the bytes of a file, and a zero byte that ends texts, as a C++ array.

  tools/embed_binary.py FILE NAME OUTPUT
"""

import pathlib
import sys

data = pathlib.Path(sys.argv[1]).read_bytes() + b"\0"
lines = [", ".join(str(byte) for byte in data[at:at + 20]) for at in range(0, len(data), 20)]
pathlib.Path(sys.argv[3]).write_text(
    f'extern "C" {{\nextern const unsigned char {sys.argv[2]}[];\n'
    f"alignas(64) const unsigned char {sys.argv[2]}[] = {{\n" + ",\n".join(lines) + "};\n}\n")
