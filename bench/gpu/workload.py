"""Shared code of the workloads: arguments, timing and the line of JSON that each prints.

Standard library only, so that a workload can set its environment before it imports a framework.
"""

import argparse
import fcntl
import json
import os
import sys
import time

_BEGIN = time.time()


def parser(description):
    """Returns a parser with the options common to all workloads."""
    result = argparse.ArgumentParser(description=description)
    result.add_argument("--name", default=os.path.basename(sys.argv[0]).removesuffix(".py"))
    result.add_argument("--gib", type=float, default=12.0, help="GPU memory of the state, in GiB")
    result.add_argument("--steps", type=int, default=100)
    result.add_argument("--seed", type=int, default=1)
    result.add_argument("--rest", type=float, default=0,
                        help="seconds in which the GPU is left alone, after every --rest-every steps")
    result.add_argument("--rest-every", type=int, default=10)
    return result


def rest(arguments, step, wait):
    """Calls `wait`, for the GPU, and sleeps, if a step is one after which the program rests."""
    if arguments.rest and step % arguments.rest_every == 0 and step < arguments.steps:
        wait()
        time.sleep(arguments.rest)


def shape_of(gib):
    """Returns width and number of layers whose weights, gradients and states take `gib` GiB."""
    width = 8192 if gib >= 4 else 4096
    return width, max(1, round(gib * 2**30 / (4 * 4 * width * width)))


def wait_for_others():
    """Creates $BENCH_READY and waits until the driver unlocks $BENCH_GATE, if they are set."""
    if "BENCH_GATE" not in os.environ:
        return
    with open(os.environ["BENCH_GATE"], encoding="utf-8") as gate:
        with open(os.environ["BENCH_READY"], "w", encoding="utf-8"):
            pass
        # The kernel wakes all programs at once when the driver releases its lock, or dies.
        fcntl.flock(gate, fcntl.LOCK_SH)


class Loop:
    """Times a loop, which begins where all programs of a benchmark are ready.

    `marks` are seconds per step, taken where the workload synchronizes anyway."""

    def __init__(self):
        self.ready = time.time()
        wait_for_others()
        self.begin = time.time()
        self._last = self.begin
        self.marks = []

    def mark(self, steps):
        now = time.time()
        self.marks.append((now - self._last) / steps)
        self._last = now

    def report(self, arguments, digest, **more):
        """Prints the result; `digest` is an integer. Call when the GPU has finished."""
        end = time.time()
        marks = sorted(self.marks)
        result = {
            "name": arguments.name,
            "hash": f"{digest & (2**64 - 1):016x}",
            "seconds_loop": round(end - self.begin, 4),
            "seconds_start": round(self.ready - _BEGIN, 4),
            "seconds_total": round(end - _BEGIN, 4),
            "ready": self.ready,
            "loop_begin": self.begin,
            "loop_end": end,
            "steps": arguments.steps,
        }
        if marks:
            result["step_ms_median"] = round(marks[len(marks) // 2] * 1e3, 4)
            result["step_ms_least"] = round(marks[0] * 1e3, 4)
        result.update(more)
        print(json.dumps(result), flush=True)


def combine(digest, value):
    """Mixes an integer into a 64-bit digest; order matters."""
    mixed = (digest * 0x9E3779B97F4A7C15 + value) & (2**64 - 1)
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    return mixed ^ (mixed >> 31)
