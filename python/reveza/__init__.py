"""For programs that know that they run under Reveza, and for those that watch or steer it.

A program that runs numbered steps in one process reports its progress to `reveza jobs`:

>>> import reveza
>>> reveza.step(57, phi=0.61, loss=1e-3)
reveza step 57 phi=0.61 loss=0.001

Reported steps are remembered; after a crash the program is restarted at the first missing step. So
report a step after all its results have been written: it will not be run again. The line is written to
the descriptor in REVEZA_STEP_FD, or printed as here, and flushed.

A program that shares a GPU can give its slice up early, or keep it for a moment. Without Reveza, or before
the first GPU context, nothing happens:

>>> reveza.yield_()
>>> with reveza.hold():
...     answer = 6 * 7

The rest calls the program `reveza`, beside this package or on the PATH. Here a program that was started by
`reveza run --name train -- ...` uses the GPU:

>>> for program in reveza.status().programs:
...     print(program.name, program.paused)
train False
>>> reveza.set("train", weight=2)

Calls of functions become steps of a job, which resume after a crash and whose number of workers is
tuned:

>>> import math
>>> reveza.map(math.sqrt, [4, 9], memory="64MiB")
[2.0, 3.0]
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import re
import sys
from typing import TYPE_CHECKING, Any, Iterator, SupportsFloat

from reveza._control import (
    Error,
    Gpu,
    Program,
    Status,
    Usage,
    pause,
    program_path,
    resume,
    set,  # pylint: disable=redefined-builtin
    status,
    usage,
)

if TYPE_CHECKING:
    from reveza._executor import CallError, Executor, map  # pylint: disable=redefined-builtin

__all__ = [
    "CallError",
    "Error",
    "Executor",
    "Gpu",
    "Program",
    "Status",
    "Usage",
    "hold",
    "line",
    "map",
    "pause",
    "program_path",
    "resume",
    "set",
    "status",
    "step",
    "usage",
    "yield_",
]


def __getattr__(name: str) -> Any:
    """Imports what needs more of the standard library, for programs that only report steps."""
    if name in ("CallError", "Executor", "map"):
        from reveza import _executor  # pylint: disable=import-outside-toplevel

        return getattr(_executor, name)
    raise AttributeError(f"module 'reveza' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Names also what is imported only when it is used."""
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext reveza`: `%reveza` shows who has the GPU, `%%reveza` what a cell waited for."""
    from reveza import _magic  # pylint: disable=import-outside-toplevel

    _magic.load(shell)


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]{0,63}\Z")
_MAX_LINE = 4096


def line(number: int, **metrics: SupportsFloat) -> str:
    """Returns the line for a step. Metrics are converted by float(); omits non-finite ones.

    >>> import math
    >>> reveza.line(57, loss=0.5, gap=math.inf).split()
    ['reveza', 'step', '57', 'loss=0.5']
    """
    number = int(number)
    if number < 0:
        raise ValueError(f"step number must not be negative: {number}")
    text = f"reveza step {number}"
    for name, value in metrics.items():
        if not _NAME.match(name):
            raise ValueError(
                f"invalid metric name {name!r}: use letters, digits and '_./-', beginning with a "
                "letter or '_', at most 64 characters"
            )
        number_value = float(value)
        if not math.isfinite(number_value):
            continue
        word = f" {name}={number_value!r}"
        if len(text) + len(word) >= _MAX_LINE:
            break
        text += word
    return text + "\n"


def step(number: int, **metrics: SupportsFloat) -> None:
    """Reports that step `number` is done, with its metrics.

    >>> for number in range(2):
    ...     reveza.step(number, loss=1 / (1 + number))
    reveza step 0 loss=1.0
    reveza step 1 loss=0.5
    """
    text = line(number, **metrics)
    named = os.environ.get("REVEZA_STEP_FD", "")
    if named.isdecimal():
        try:
            rest = text.encode("ascii")
            while rest:
                rest = rest[os.write(int(named), rest) :]
            return
        except OSError:
            pass  # not open in this process
    sys.stdout.write(text)
    sys.stdout.flush()


def _call(name: str) -> None:
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function()


def yield_() -> None:
    """Offers the rest of the slice to other programs: there is nothing to do for a while.

    >>> reveza.yield_()
    """
    _call("revezaYield")


@contextlib.contextmanager
def hold() -> Iterator[None]:
    """Keeps the slice meanwhile, or the next one, for at most `slice_ceiling` (30 s by default).

    Holds nest, and count for the whole process.

    >>> with reveza.hold():
    ...     answer = 6 * 7
    """
    _call("revezaHold")
    try:
        yield
    finally:
        _call("revezaRelease")
