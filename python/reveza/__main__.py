"""`python -m reveza` is the program `reveza` of this environment."""

import os
import sys

from reveza import Error, program_path

try:
    program = program_path()
except Error as error:
    sys.exit(f"reveza: {error}")
os.execv(program, ["reveza", *sys.argv[1:]])
