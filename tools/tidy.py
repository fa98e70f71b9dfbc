#!/usr/bin/env python3
"""Runs clang-tidy on every file of ours that a build tree compiles, each once.

  tools/tidy.py BUILD JOBS [--quick] [--for SECONDS]

--quick leaves out the tests and the analyzer, which take most of the time.
--for begins with no further file after so many seconds; those that were changed last come first.

A file that passed is not looked at again until it, a header of ours that it includes, its compiler
options or .clang-tidy change; BUILD/tidy remembers. (What a file includes is known once the tree
has been built.)
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TIDY = "clang-tidy-19"
LIMIT_SECONDS = 600
# Each check costs a third of a second in a file that includes GoogleTest, and the analyzer minutes:
# tests get those that find mistakes in tests.
TEST_CHECKS = ",".join((
    "-*", "clang-diagnostic-*", "bugprone-assert-side-effect", "bugprone-dangling-handle",
    "bugprone-sizeof-expression", "bugprone-string-constructor", "bugprone-unused-raii",
    "bugprone-unused-return-value", "bugprone-use-after-move", "modernize-use-override",
    "performance-for-range-copy", "performance-move-const-arg", "readability-duplicate-include"))
QUICK_CHECKS = "-clang-analyzer-*"  # of those in .clang-tidy
# What only GCC knows.
GCC_ONLY = ("--param=", "-fno-sanitize-recover")


def is_test(file: pathlib.Path) -> bool:
    return file.stem.endswith("_test") or file.is_relative_to(ROOT / "tests")


def units(build: pathlib.Path) -> list[dict]:
    """One entry of the compile commands per source file of ours."""
    found: dict[pathlib.Path, dict] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["file"])
        ours = file.is_relative_to(ROOT) and not file.is_relative_to(build)
        if ours and file.suffix == ".cc":
            found.setdefault(file, entry)
    return [found[file] for file in sorted(found)]


def included(build: pathlib.Path) -> dict[str, list[pathlib.Path]]:
    """For each object file the headers of ours (and generated ones) it was made from."""
    listed = subprocess.run(["ninja", "-C", str(build), "-t", "deps"],
                            capture_output=True, text=True, check=False).stdout
    found: dict[str, list[pathlib.Path]] = {}
    current: list[pathlib.Path] = []
    for line in listed.splitlines():
        if line and not line.startswith(" "):
            current = found.setdefault(line.split(":")[0], [])
        elif line.strip():
            path = pathlib.Path(build, line.strip())
            if path.is_relative_to(ROOT) or path.is_relative_to(build):
                current.append(path)
    return found


def output_of(entry: dict) -> str:
    words = shlex.split(entry["command"])
    return words[words.index("-o") + 1] if "-o" in words else ""


def fingerprint(entry: dict, headers: list[pathlib.Path] | None, checks: str) -> str | None:
    """Of everything that decides the answer; None when that is not known."""
    if not headers:
        return None
    digest = hashlib.sha256(entry["command"].encode() + checks.encode())
    for path in [ROOT / ".clang-tidy", pathlib.Path(entry["file"]), *sorted(headers)]:
        digest.update(str(path).encode())
        digest.update(path.read_bytes() if path.exists() else b"gone")
    return digest.hexdigest()


def tidy(entry: dict, checks: str, until: float | None) -> tuple[pathlib.Path, bool | None, str, float]:
    """The file, whether it passed (None: it was too late to begin), what was said, seconds."""
    file = pathlib.Path(entry["file"])
    if until is not None and time.monotonic() > until:
        return file, None, "", 0
    words = shlex.split(entry["command"])
    while words and not words[0].endswith(("++", "++-12", "++-13", "++-14")):
        words.pop(0)  # ccache
    options = [word for word in words[1:] if not word.startswith(GCC_ONLY)]
    started = time.monotonic()
    try:
        done = subprocess.run(
            [TIDY, "--quiet", f"--checks={checks}", str(file), "--", *options, "-Wno-unknown-warning-option",
             "-Wno-unused-command-line-argument", "-Wno-ignored-optimization-argument"],
            cwd=entry["directory"], capture_output=True, text=True, check=False,
            timeout=LIMIT_SECONDS)
        return file, done.returncode == 0, done.stdout, time.monotonic() - started
    except subprocess.TimeoutExpired:
        return file, False, f"{file}: took more than {LIMIT_SECONDS} s\n", LIMIT_SECONDS


def changed_last() -> list[pathlib.Path]:
    """The files that git knows, those first that were committed last."""
    listed = subprocess.run(["git", "-C", str(ROOT), "log", "--format=", "--name-only"],
                            capture_output=True, text=True, check=False).stdout
    return [ROOT / line for line in dict.fromkeys(listed.splitlines()) if line]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("jobs", type=int)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--for", dest="seconds", type=float)
    arguments = parser.parse_args()
    build, jobs, quick = arguments.build.resolve(), arguments.jobs, arguments.quick
    memory = build / "tidy"
    memory.mkdir(exist_ok=True)
    headers = included(build)
    work = []
    entries = [entry for entry in units(build)
               if not (quick and is_test(pathlib.Path(entry["file"])))]
    for entry in entries:
        # "" adds nothing to .clang-tidy. Who passes all of it passes a part of it.
        whole = TEST_CHECKS if is_test(pathlib.Path(entry["file"])) else ""
        marks = [fingerprint(entry, headers.get(output_of(entry)), checks)
                 for checks in ([QUICK_CHECKS, whole] if quick else [whole])]
        if not any(mark and (memory / mark).exists() for mark in marks):
            work.append((entry, QUICK_CHECKS if quick else whole, marks[0]))
    until = None
    if arguments.seconds is not None:
        until = time.monotonic() + arguments.seconds
        place = {file: i for i, file in enumerate(changed_last())}
        work.sort(key=lambda job: place.get(pathlib.Path(job[0]["file"]), -1))
    failed = left = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for (file, passed, output, seconds), (_, _, mark) in zip(
                pool.map(lambda job: tidy(job[0], job[1], until), work), work):
            if passed is None:
                left += 1
            elif not passed:
                failed += 1
                print(f"{file.relative_to(ROOT)} ({seconds:.0f} s)\n{output}", end="", flush=True)
            elif mark:
                (memory / mark).touch()
    if not failed:
        print(f"clang-tidy: {len(entries) - left} files are clean ({len(work) - left} looked at"
              + (f", time for {left} more was not given)" if left else ")"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
