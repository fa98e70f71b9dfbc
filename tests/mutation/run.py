"""The mutation sweep: see run.sh for its options and README.md for what it is about."""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from mutants import FOLDER, Mutant, all_mutants

ROOT = FOLDER.parents[1]
RESULTS = FOLDER / "results.md"
LONGEST_TEST = 100  # seconds; a mutant may well wait for ever
ENDLESS = " (does not end)"
HEAD = """# Mutation results

Written by `make mutate ARGS=--write` for each list of which every mutant ran. A mutant switches off
one rule or hook; it is caught if a test fails then, and survives otherwise.

| list | mutants | caught | survived |
|---|---|---|---|
"""


class Failure(Exception):
    """What keeps the sweep from saying anything about a mutant."""


class Tree:
    """A copy of the tree, to be changed at will, and its build."""

    def __init__(self, folder: pathlib.Path, jobs: int):
        self.root = folder
        self.jobs = jobs
        self.commands = {}
        self.copy()

    def copy(self):
        names = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, stdout=subprocess.PIPE, text=True).stdout.split("\0")
        for name in filter(None, names):
            source, target = ROOT / name, self.root / name
            if not source.is_file():
                continue
            if target.is_file() and target.read_bytes() == source.read_bytes():
                continue  # with its time, so that nothing is built again for it
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
        (self.root / "build").mkdir(exist_ok=True)
        for name in ("python", "charts"):
            installed, link = ROOT / "build" / name, self.root / "build" / name
            if installed.is_dir() and not link.is_symlink():
                link.symlink_to(installed)
        self.call([str(self.root / "tools/configure.sh"), "release", "build"], "configuring")

    def call(self, command: list, what: str):
        done = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise Failure(f"{what} failed\n{done.stdout[-3000:]}")

    def build(self, tests: tuple):
        targets = sorted({test.split("/")[0] for test in tests})
        self.call(["ninja", "-C", "build", f"-j{self.jobs}", "--quiet", *targets], "building")

    def cases(self, test: str) -> list:
        """What ctest would run for a program's name, or "program/Suite.Case*"."""
        if test not in self.commands:
            program, _, pattern = test.partition("/")
            regex = f"^{program}/" + re.escape(pattern).replace("\\*", ".*")
            shown = subprocess.run(
                ["ctest", "--test-dir", "build", "--show-only=json-v1", "-R", regex],
                cwd=self.root, check=True, stdout=subprocess.PIPE, text=True).stdout
            found = [case for case in json.loads(shown)["tests"] if "command" in case]
            found = [case for case in found
                     if not any(one["name"] == "DISABLED" and one["value"]
                                for one in case.get("properties", []))]
            if not found:
                raise Failure(f"no test is named {test}")
            self.commands[test] = found
        return self.commands[test]

    def first_failure(self, tests: tuple) -> str:
        """The name of the first test that fails, or nothing."""
        for test in tests:
            for case in self.cases(test):
                how = run_case(case)
                # Twice, so that a busy machine catches nothing.
                if how is not None and (how == ENDLESS or run_case(case) is not None):
                    return f"{case['name'].split('  # ')[0]}{how}"
        return ""


def run_case(case: dict) -> str | None:
    """Nothing if the case passes; else what is to be said after its name."""
    properties = {one["name"]: one["value"] for one in case.get("properties", [])}
    environment = dict(os.environ)
    environment.update(one.split("=", 1) for one in properties.get("ENVIRONMENT", []))
    process = subprocess.Popen(case["command"], cwd=properties.get("WORKING_DIRECTORY"),
                               env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True, preexec_fn=take_interrupts)
    try:
        status = process.wait(min(LONGEST_TEST, properties.get("TIMEOUT", LONGEST_TEST)))
    except subprocess.TimeoutExpired:
        return ENDLESS
    finally:
        kill_group(process)
    if status < 0:
        return f" ({signal.Signals(-status).name})"
    return None if status == 0 else ""


def take_interrupts():
    """As a program on a terminal does: who starts this in the background may ignore them."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def kill_group(process: subprocess.Popen):
    """Ends it and what it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def judge(tree: Tree, mutant: Mutant) -> tuple[bool, str]:
    """Whether all is well with a mutant, and what caught it or why nothing did."""
    problem = mutant.problem(tree.root)
    if problem:
        return False, f"ERROR: {problem}"
    path, original = mutant.make(tree.root)
    try:
        tree.build(mutant.tests)
        caught = tree.first_failure(mutant.tests)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return False, f"ERROR: {str(failure).splitlines()[0]}"
    finally:
        path.write_text(original)
    if caught and mutant.survives:
        return False, f"{caught}, though nothing should: {mutant.survives}"
    if caught:
        return True, caught
    return bool(mutant.survives), f"SURVIVED: {mutant.survives or 'no test noticed'}"


def list_of(name: str) -> str:
    return name.partition(":")[0]


def write_results(mutants: list, found: dict):
    """Replaces the rows of the lists that ran whole; the others stay as they were."""
    text = RESULTS.read_text() if RESULTS.exists() else ""
    rows = dict(re.findall(r"^\| (\w+) (\| \d+ \| \d+ \| \d+ \|)$", text, re.MULTILINE))
    survivors = dict(re.findall(r"^- `(.*?)`: (.*)$", text, re.MULTILINE))
    for name in dict.fromkeys(list_of(mutant.name) for mutant in mutants):
        members = [mutant.name for mutant in mutants if list_of(mutant.name) == name]
        if not all(member in found for member in members):
            continue
        survivors = {key: why for key, why in survivors.items() if list_of(key) != name}
        said = {member: found[member][1] for member in members}
        lost = {member: text.removeprefix("SURVIVED: ") for member, text in said.items()
                if text.startswith("SURVIVED")}
        wrong = [member for member, text in said.items() if text.startswith("ERROR")]
        survivors |= lost
        caught = len(members) - len(lost) - len(wrong)
        rows[name] = f"| {len(members)} | {caught} | {len(lost)} |"
    lines = [f"| {name} {rows[name]}\n" for name in sorted(rows)]
    kept = [f"- `{name}`: {why}\n" for name, why in sorted(survivors.items())]
    RESULTS.write_text(HEAD + "".join(lines) + "\nSurvivors, and why no test can notice:\n\n"
                       + "".join(kept))


def sweep(tree: Tree, chosen: list, write) -> int:
    tests = tuple(dict.fromkeys(test for mutant in chosen for test in mutant.tests))
    print(f"building {len(tests)} test programs, unchanged", flush=True)
    tree.build(tests)
    failed = tree.first_failure(tests)
    if failed:
        raise Failure(f"fails without any mutant: {failed}")
    found = {}
    for mutant in chosen:
        began = time.monotonic()
        found[mutant.name] = judge(tree, mutant)
        well, said = found[mutant.name]
        print(f"{'' if well else 'FAILED '}{mutant.name}: {said} ({time.monotonic() - began:.0f} s)",
              flush=True)
    write(found)
    passed = sum(well for well, _ in found.values())
    print(f"{passed} passed, {len(found) - passed} failed")
    return 0 if passed == len(found) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--copy", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("pattern", nargs="*")
    options = parser.parse_args()
    mutants = all_mutants(ROOT)
    chosen = [one for one in mutants
              if not options.pattern or any(text in one.name for text in options.pattern)]
    if options.list:
        print("\n".join(one.name for one in chosen))
        return 0
    if not chosen:
        print("no mutant has such a name", file=sys.stderr)
        return 1
    folder = options.copy or pathlib.Path(tempfile.mkdtemp(prefix="reveza-mutation-"))
    try:
        write = (lambda found: write_results(mutants, found)) if options.write else (lambda _: None)
        return sweep(Tree(folder.resolve(), options.jobs), chosen, write)
    except Failure as failure:
        print(failure, file=sys.stderr)
        print("0 passed, 1 failed")
        return 1
    finally:
        if options.copy is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
