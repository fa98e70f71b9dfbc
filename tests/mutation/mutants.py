"""The list of mutants: one per rule, read from the *.toml beside this file, and one per hook.

A file has `tests`, the programs that should notice (each is a target too; "program/Suite*" takes
some of its cases), and for each [[mutant]]:

    name      what is switched off
    file      where, from the root of the tree
    find      the text that is replaced; it is there exactly once
    replace   what stands there instead
    tests     (optional) in place of the file's
    survives  (optional) why no test can notice: an honest reason, shown in the results
"""

import pathlib
import re
import tomllib
from dataclasses import dataclass

FOLDER = pathlib.Path(__file__).resolve().parent
TABLE = "src/interpose/driver_calls.txt"
GENERATOR = "tools/generate_driver_calls.py"
GENERATED_GATE = '        if entry.policy == "gate":\n            lines.append(f"  GateScope gate'
KNOWN = {"name", "file", "find", "replace", "tests", "survives"}


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    find: str
    replace: str
    tests: tuple
    survives: str = ""

    def problem(self, root: pathlib.Path) -> str:
        """Why it cannot be made in the tree at `root`, or nothing."""
        path = root / self.file
        if not path.is_file():
            return f"no file {self.file}"
        count = path.read_text().count(self.find)
        if count == 1:
            return "it changes nothing" if self.find == self.replace else ""
        return "text not found" if count == 0 else f"text found {count} times"


def read_list(path: pathlib.Path) -> list[Mutant]:
    content = tomllib.loads(path.read_text())
    mutants = []
    for row in content["mutant"]:
        unknown = set(row) - KNOWN
        if unknown:
            raise ValueError(f"{path.name}: {row.get('name')}: unknown {', '.join(sorted(unknown))}")
        mutants.append(Mutant(f"{path.stem}: {row['name']}", row["file"], row["find"],
                              row["replace"], tuple(row.get("tests", content["tests"])),
                              row.get("survives", "")))
    return mutants


def hook(name: str, tests: list, survives: str = "") -> Mutant:
    """The wrapper of a driver call, in all its versions, passes straight to the driver."""
    passes = (f'        if entry.base == "{name}":\n'
              '            lines.append(f"  return real.{entry.name}({entry.passed()});\\n}}\\n\\n")\n')
    replace = passes + GENERATED_GATE.replace("        if", "        elif", 1)
    return Mutant(f"hook: {name}", GENERATOR, GENERATED_GATE, replace, tuple(tests), survives)


def hooks(root: pathlib.Path, settings: dict) -> list[Mutant]:
    """One mutant for each row of the table of driver calls in which we do something."""
    mutants = []
    for line in (root / TABLE).read_text().splitlines():
        row = re.match(r"(cu\w+)\s+(gate|own|count)\b", line)
        if row:
            name, policy = row.groups()
            mutants.append(hook(name, settings["tests"][policy],
                                settings["survives"].get(name, "")))
    return mutants


def all_mutants(root: pathlib.Path) -> list[Mutant]:
    mutants = []
    for path in sorted(FOLDER.glob("*.toml")):
        if path.name != "hooks.toml":
            mutants += read_list(path)
    mutants += hooks(root, tomllib.loads((FOLDER / "hooks.toml").read_text()))
    names = [mutant.name for mutant in mutants]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"more than one mutant: {', '.join(twice)}")
    return mutants
