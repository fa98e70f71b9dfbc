"""The list of mutants: one per rule, read from the *.toml beside this file, and one per hook.

A file has `tests`, the programs that should notice (each is a target too; "program/Suite*" selects
some of its cases), and for each [[mutant]]:

    name      what is switched off
    room      the folder of the code, from the root of the tree; or one file
    function  (optional) the function: `Name` or `Class::Name`
    find      the expression that is replaced, as code: layout and comments do not matter; it stands
              exactly once in the function, or in the room
    replace   what stands there instead
    tests     (optional) in place of the file's
    survives  (optional) why no test can notice: an honest reason, shown in the results
"""

import pathlib
import re
import tomllib
from dataclasses import dataclass

import source

FOLDER = pathlib.Path(__file__).resolve().parent
TABLE = "reveza/gpu/interpose/driver_calls.txt"
GENERATOR = "tools/generate_driver_calls.py"
GENERATED_GATE = '        if entry.policy == "gate":\n            lines.append(f"  GateScope gate'
KNOWN = {"name", "room", "function", "find", "replace", "tests", "survives"}


@dataclass(frozen=True)
class Mutant:
    name: str
    room: str
    function: str
    find: str
    replace: str
    tests: tuple
    survives: str = ""

    def places(self, root: pathlib.Path) -> list[source.Place]:
        path = root / self.room
        if path.suffix == ".py":
            text = path.read_text()
            return [source.Place(path, match.start(), match.end())
                    for match in re.finditer(re.escape(self.find), text)]
        return source.find(path, self.function, self.find)

    def problem(self, root: pathlib.Path) -> str:
        """Returns why the mutant cannot be made in the tree at `root`, or nothing."""
        if not (root / self.room).exists():
            return f"no room {self.room}"
        count = len(self.places(root))
        if count == 1:
            return "it changes nothing" if self.find == self.replace else ""
        where = f" in {self.function}" if self.function else ""
        return f"code not found{where}" if count == 0 else f"code found {count} times{where}"

    def make(self, root: pathlib.Path) -> tuple[pathlib.Path, str]:
        """Changes the tree; returns the file and the text that it had."""
        place = self.places(root)[0]
        original = place.path.read_text()
        place.path.write_text(original[:place.start] + self.replace.strip() + original[place.end:])
        return place.path, original


def read_list(path: pathlib.Path) -> list[Mutant]:
    content = tomllib.loads(path.read_text())
    mutants = []
    for row in content["mutant"]:
        unknown = set(row) - KNOWN
        if unknown:
            raise ValueError(f"{path.name}: {row.get('name')}: unknown {', '.join(sorted(unknown))}")
        mutants.append(Mutant(f"{path.stem}: {row['name']}", row["room"], row.get("function", ""),
                              row["find"], row["replace"],
                              tuple(row.get("tests", content["tests"])), row.get("survives", "")))
    return mutants


def hook(name: str, tests: list, survives: str = "") -> Mutant:
    """The wrapper of a driver call, in all its versions, passes straight to the driver."""
    passes = (f'        if entry.base == "{name}":\n'
              '            lines.append(f"  return real.{entry.name}({entry.passed()});\\n}}\\n\\n")\n')
    replace = passes + GENERATED_GATE.replace("        if", "        elif", 1)
    return Mutant(f"hook: {name}", GENERATOR, "", GENERATED_GATE, replace, tuple(tests), survives)


def hooks(root: pathlib.Path, settings: dict) -> list[Mutant]:
    """Returns one mutant for each row of the table of driver calls that is not passed on."""
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
