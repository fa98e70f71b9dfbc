"""For programs that make numbered steps in one process and want `reveza jobs` to know of each.

    import reveza
    reveza.step(57, phi=0.61, loss=1e-3)

What was reported is kept, and after a crash the program is started again at the first step that is
missing. So report a step when all that it was to leave behind is written: it is not made again.

Needs nothing but this file, and does no harm where Reveza is not: then a line is printed,

    reveza step 57 phi=0.61 loss=0.001

It goes to the descriptor that REVEZA_STEP_FD names, else to standard output, and is flushed.
"""

import math
import os
import re
import sys

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]{0,63}\Z")
_LONGEST = 4096


def line(number, **metrics):
    """The line for a step. A metric is what float() takes; one that is not finite is left out."""
    number = int(number)
    if number < 0:
        raise ValueError(f"a step's number is 0 or more, not {number}")
    text = f"reveza step {number}"
    for name, value in metrics.items():
        if not _NAME.match(name):
            raise ValueError(
                f"{name!r} cannot name a metric: a letter or '_', then letters, digits and '_./-', "
                "64 in all"
            )
        value = float(value)
        if not math.isfinite(value):
            continue
        word = f" {name}={value!r}"
        if len(text) + len(word) >= _LONGEST:
            break
        text += word
    return text + "\n"


def step(number, **metrics):
    """Reports that step `number` is done, with what was measured in it."""
    text = line(number, **metrics)
    named = os.environ.get("REVEZA_STEP_FD", "")
    if named.isdecimal():
        try:
            rest = text.encode("ascii")
            while rest:
                rest = rest[os.write(int(named), rest) :]
            return
        except OSError:
            pass  # a descriptor that this process was not given
    sys.stdout.write(text)
    sys.stdout.flush()
