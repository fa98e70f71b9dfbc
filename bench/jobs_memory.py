#!/usr/bin/env python3
"""Runs steps of very different memory in a control group too small for many of them.

    bench/jobs_memory.py [--reveza build/bin/reveza] [--rounds 2] [--steps 80] [--limit-mb 400]

Each step fills 30 to 320 MB, as its parameter says, and holds them for 0.4 s. Compared are one at a
time, memory declared by the parameter, and memory that the runner has to learn from the steps that
have ended. Beside them stands the limit: the bytes and seconds of all steps, which a group that is
always full needs. Needs root, and a memory controller (version 1 or 2). Prints every run.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

STEP = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** arguments) {
  const size_t bytes = (size_t)atoi(count > 1 ? arguments[1] : "1") << 20;
  char* memory = malloc(bytes);
  memset(memory, 1, bytes);
  usleep(400000);
  return memory[bytes / 2] != 1;
}
"""


@contextlib.contextmanager
def memory_group(megabytes):
    """Yields a control group that may hold so much."""
    first = pathlib.Path("/sys/fs/cgroup/memory")
    old = first.is_dir()
    group = (first if old else pathlib.Path("/sys/fs/cgroup")) / f"reveza-bench-{os.getpid()}"
    group.mkdir()
    try:
        (group / ("memory.limit_in_bytes" if old else "memory.max")).write_text(f"{megabytes}M")
        yield group
    finally:
        for _ in range(50):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.1)


def run(reveza, group, program, sizes, options):
    """Returns the seconds of a job, and how many attempts ended in which way."""
    def enter():
        (group / "cgroup.procs").write_text(str(os.getpid()))

    with tempfile.TemporaryDirectory() as state:
        environment = {**os.environ, "XDG_STATE_HOME": state, "XDG_RUNTIME_DIR": state}
        command = [reveza, "jobs", "run", "--quiet", "--name", "memory", *options, "--", program,
                   "{mb}", "{i}", ":::", "mb", *map(str, sizes), ":::+", "i",
                   *map(str, range(len(sizes)))]
        begin = time.monotonic()
        done = subprocess.run(command, env=environment, preexec_fn=enter, capture_output=True,
                              text=True, check=False)
        seconds = time.monotonic() - begin
        shown = subprocess.run([reveza, "jobs", "show", "memory", "--json"], env=environment,
                               capture_output=True, text=True, check=True)
        return seconds, done, json.loads(shown.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--reveza", default="build/bin/reveza")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--limit-mb", type=int, default=400)
    options = parser.parse_args()
    reveza = str(pathlib.Path(options.reveza).resolve())
    print("command:", "bench/jobs_memory.py", *sys.argv[1:])
    print(subprocess.run([reveza, "--version"], capture_output=True, text=True, check=True).stdout)
    sizes = random.Random(3).choices(range(30, 321), k=options.steps)
    with tempfile.TemporaryDirectory() as folder, memory_group(options.limit_mb) as group:
        program = str(pathlib.Path(folder) / "step")
        subprocess.run(["cc", "-O1", "-x", "c", "-o", program, "-"], input=STEP, text=True, check=True)
        area = 0.0
        for size in sizes:
            begin = time.monotonic()
            subprocess.run([program, str(size)], check=True)
            area += size * (time.monotonic() - begin)
        print(f"{options.steps} steps, {sum(sizes)} MB in all; a group of {options.limit_mb} MB that is "
              f"always full needs {area / options.limit_mb:.1f} s", flush=True)
        for _ in range(options.rounds):
            for what, more in (("one at a time", ["--workers", "1"]),
                               ("declared", ["--memory", "{mb}MiB"]), ("learned", [])):
                seconds, done, shown = run(reveza, group, program, sizes, more)
                print(f"{what}: {seconds:.1f} s, status {done.returncode}, load "
                      f"{os.getloadavg()[0]:.1f}; {json.dumps(shown.get('steps', shown))[:300]}",
                      flush=True)


if __name__ == "__main__":
    main()
