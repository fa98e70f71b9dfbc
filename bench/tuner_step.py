#!/usr/bin/env python3
"""One step of bench/tuner.py: tuner_step.py KIND NUMBER, in a folder for the lock."""

import fcntl
import sys
import time

COMPUTING = 0.25  # seconds of processor time
WAITING = 1.0  # seconds, of which it computes
WAITING_COMPUTES = 0.05
LOCKED = 0.1  # seconds of processor time with the lock, and as many without
PARTS = 4


def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))


def wait():
    for _ in range(PARTS):
        time.sleep(WAITING * (1 - WAITING_COMPUTES) / PARTS)
        compute(WAITING * WAITING_COMPUTES / PARTS)


def lock():
    with open("lock", "w", encoding="utf-8") as file:
        for _ in range(PARTS):
            fcntl.flock(file, fcntl.LOCK_EX)
            compute(LOCKED / PARTS)
            fcntl.flock(file, fcntl.LOCK_UN)
            compute(LOCKED / PARTS)


def main():
    kind, number = sys.argv[1], int(sys.argv[2])
    if kind == "mixed":
        kind = "CPU" if number % 2 else "waiting"
    {"CPU": lambda: compute(COMPUTING), "waiting": wait, "lock": lock}[kind]()


if __name__ == "__main__":
    main()
