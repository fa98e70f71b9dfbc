"""`%load_ext reveza` in a notebook: why does my cell wait?"""

from __future__ import annotations

import collections
import os
import re
import threading
import time
from typing import Any, Optional

from reveza._control import Error, Program, pause, resume, set, status

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


_SAMPLE_SECONDS = 0.2
_MAX_REASONS = 3


def _bytes(count: float) -> str:
    unit = 0
    while count >= 1024 and unit + 1 < len(_UNITS):
        count, unit = count / 1024, unit + 1
    return f"{count:.4g} {_UNITS[unit]}"


def _own(programs: tuple[Program, ...]) -> Optional[Program]:
    return next((one for one in programs if one.pid == os.getpid()), None)


def _table() -> str:
    """Returns the cards and the programs that share them; this notebook has a *."""
    answer = status()
    lines = [
        f"GPU {gpu.index}: {_bytes(gpu.resident_bytes)} of {_bytes(gpu.budget_bytes)} used,"
        f" {_bytes(gpu.swapped_bytes)} swapped out"
        for gpu in answer.gpus
    ]
    for one in answer.programs:
        mark = "*" if one.pid == os.getpid() else " "
        why = f": {one.why}" if one.why else ""
        memory = _bytes(one.resident_bytes + one.fixed_bytes)
        lines.append(f"{mark} {one.name:<16} {one.state}{why}, {memory} on the GPU")
    return "\n".join(lines)


def line_magic(line: str) -> None:
    """`%reveza`: the programs that share the GPUs. `%reveza pause|resume NAME`: another program.
    `%reveza interactive|batch`: this notebook's own policy."""
    words = line.split()
    own = os.getpid()
    try:
        if not words:
            print(_table())
        elif words[0] in ("pause", "resume") and len(words) == 2:
            (pause if words[0] == "pause" else resume)(words[1])
        elif words == ["interactive"] or words == ["batch"]:
            set(own, interactive=words[0] == "interactive")
        else:
            print("usage: %reveza [pause NAME | resume NAME | interactive | batch]")
    except Error as error:
        print(f"reveza: {error}")


def cell_magic(shell: Any, cell: str) -> None:
    """`%%reveza`: runs the cell, then says how long it waited for the GPU, and for what."""
    try:
        before = _own(status().programs)
    except Error:
        before = None
    began = time.monotonic()
    reasons = _Reasons()
    try:
        shell.run_cell(cell)
    finally:
        reasons.stop()
        took = time.monotonic() - began
        try:
            after = _own(status().programs)
        except Error as error:
            print(f"reveza: {error}")
        else:
            print(_cost(before, after, took))
            print(reasons, end="")


class _Reasons:
    """Samples in a thread why this notebook waits. Prints as a line for each of the most frequent reasons."""

    def __init__(self) -> None:
        self._counts: collections.Counter[str] = collections.Counter()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="reveza-why", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends sampling."""
        self._ended.set()
        self._thread.join()

    def __str__(self) -> str:
        total = sum(self._counts.values())
        return "".join(
            f"  {why} ({count} of {total} samples while it waited)\n"
            for why, count in self._counts.most_common(_MAX_REASONS)
        )

    def _sample(self) -> None:
        while not self._ended.wait(_SAMPLE_SECONDS):
            try:
                own = _own(status().programs)
            except Error:  # the daemon may be starting, or has ended
                continue
            if own is not None and own.why:
                self._counts[re.sub(r" for [\d.]+ \S+ more", "", own.why)] += 1


def _cost(before: Optional[Program], after: Optional[Program], took: float) -> str:
    if after is None:
        return f"{took:.3g} s; this notebook does not use a GPU under Reveza"
    waited = after.waited_seconds - (before.waited_seconds if before else 0)
    turns = after.turns - (before.turns if before else 0)
    return f"{took:.3g} s, of which {waited:.3g} s waiting for the GPU, in {turns} turns"


def load(shell: Any) -> None:
    """Registers the magics with IPython."""
    shell.register_magic_function(line_magic, "line", "reveza")
    shell.register_magic_function(
        lambda _line, cell: cell_magic(shell, cell), "cell", "reveza"
    )
