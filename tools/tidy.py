#!/usr/bin/env python3
"""Runs clang-tidy on every file of this project that a build tree compiles.

  tools/tidy.py BUILD JOBS [--quick] [--for SECONDS]

--quick skips tests and the analyzer, which take most of the time.
--for starts no further file after SECONDS; the most recently changed files come first.

BUILD must be configured with REVEZA_UNITY=OFF and contain generated files. A file that passed is
not checked again until it, a header of this project that it includes, its compiler options or
.clang-tidy change; BUILD/tidy stores the results.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
TIDY = "clang-tidy-19"
LIMIT_SECONDS = 600
# Each check takes a third of a second in a file that includes GoogleTest, and the analyzer minutes,
# so tests run only a selection of checks.
TEST_CHECKS = ",".join((
    "-*", "clang-diagnostic-*", "bugprone-assert-side-effect", "bugprone-dangling-handle",
    "bugprone-sizeof-expression", "bugprone-string-constructor", "bugprone-unused-raii",
    "bugprone-unused-return-value", "bugprone-use-after-move", "modernize-use-override",
    "performance-for-range-copy", "performance-move-const-arg", "readability-duplicate-include"))
QUICK_CHECKS = "-clang-analyzer-*"  # of those in .clang-tidy
# Options that Clang does not support.
GCC_ONLY = ("--param=", "-fno-sanitize-recover")


def is_test(file: pathlib.Path) -> bool:
    return file.stem.endswith("_test") or file.is_relative_to(ROOT / "tests")


def units(build: pathlib.Path) -> list[dict]:
    """Returns one compile command per source file of this project."""
    found: dict[pathlib.Path, dict] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["file"])
        ours = file.is_relative_to(ROOT) and not file.is_relative_to(build)
        if ours and file.suffix == ".cc":
            found.setdefault(file, entry)
    return [found[file] for file in sorted(found)]


INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def headers_of(file: pathlib.Path, build: pathlib.Path,
               known: dict[pathlib.Path, list[pathlib.Path]]) -> set[pathlib.Path]:
    """Returns all project and generated headers that a file includes, directly or indirectly."""
    found: set[pathlib.Path] = set()
    waiting = [file]
    while waiting:
        path = waiting.pop()
        if path not in known:
            names = INCLUDE.findall(path.read_text("utf-8", errors="replace"))
            places = ([folder / name for folder in (path.parent, ROOT, ROOT / "include", build)]
                      for name in names)
            known[path] = [next(place for place in candidates if place.exists())
                           for candidates in places if any(place.exists() for place in candidates)]
        fresh = [header for header in known[path] if header not in found]
        found.update(fresh)
        waiting += fresh
    return found


def fingerprint(entry: dict, headers: set[pathlib.Path], checks: str) -> str:
    """Returns a hash of everything that affects the result."""
    digest = hashlib.sha256(entry["command"].encode() + checks.encode())
    for path in [ROOT / ".clang-tidy", pathlib.Path(entry["file"]), *sorted(headers)]:
        digest.update(str(path).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def tidy(entry: dict, checks: str, until: float | None) -> tuple[pathlib.Path, bool | None, str, float]:
    """Returns the file, whether it passed (None if not started), the output, and seconds."""
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
    """Returns the tracked files, most recently committed first."""
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
    known: dict[pathlib.Path, list[pathlib.Path]] = {}
    work = []
    entries = [entry for entry in units(build)
               if not (quick and is_test(pathlib.Path(entry["file"])))]
    for entry in entries:
        # "" adds nothing to .clang-tidy. A file that passed all checks also passes a subset.
        whole = TEST_CHECKS if is_test(pathlib.Path(entry["file"])) else ""
        headers = headers_of(pathlib.Path(entry["file"]), build, known)
        marks = [fingerprint(entry, headers, checks)
                 for checks in ([QUICK_CHECKS, whole] if quick else [whole])]
        if not any((memory / mark).exists() for mark in marks):
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
            else:
                (memory / mark).touch()
    if not failed:
        print(f"clang-tidy: {len(entries) - left} files are clean ({len(work) - left} checked"
              + (f", {left} skipped after the time limit)" if left else ")"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
