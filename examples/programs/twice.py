#!/usr/bin/env python3
"""Does a program compute the same in turns as alone? Runs a command once without Reveza, then twice at the same
time under `reveza run`, and compares what all three printed on standard output, in any order of lines.

  twice.py [--budget 8GiB] [--ignore REGEX] -- COMMAND...

--budget emulates a smaller card, so that two do not fit together; parts of lines that match --ignore, by default
times, are not compared. Exits with 0 if all agree, with 1 if not, and with the program's status if it fails alone.
"""

import argparse
import re
import shlex
import subprocess
import sys

# "1.5 s", "20 ms", and the fields of times that the programs of bench/gpu print as JSON.
TIMES = r'-?\b[\d.]+ ?(s|ms|us|ns|seconds)\b|"(seconds|step_ms|ready|loop_)\w*": ?[^,}]*'


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", help="memory of the emulated card")
    parser.add_argument("--ignore", default=TIMES, help="what is not compared (default: times)")
    parser.add_argument("--reveza", default="reveza", help="the program `reveza`")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def compared(text: str, ignore: str) -> list[str]:
    return sorted(re.sub(ignore, "", line) for line in text.splitlines())


def main() -> int:
    arguments = parse()
    command = arguments.command
    alone = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if alone.returncode != 0:
        print(f"twice: {shlex.join(command)} fails without Reveza (status {alone.returncode})", file=sys.stderr)
        return alone.returncode
    wanted = compared(alone.stdout, arguments.ignore)
    if not wanted:
        print("twice: the program prints nothing to compare; let it print its result", file=sys.stderr)
        return 1
    budget = ["--gpu-budget", arguments.budget] if arguments.budget else []
    both = [subprocess.Popen([arguments.reveza, "run", "--name", f"copy-{number}", *budget, "--", *command],
                             stdout=subprocess.PIPE, text=True) for number in (1, 2)]
    different = 0
    for number, process in enumerate(both, 1):
        text, _ = process.communicate()
        same = process.returncode == 0 and compared(text, arguments.ignore) == wanted
        different += not same
        print(f"copy {number}: {'the same as alone' if same else 'NOT the same as alone'} (status {process.returncode})")
        if not same:
            print(text, end="")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
