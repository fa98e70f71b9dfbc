"""Reads the table of driver calls (reveza/gpu/interpose/driver_calls.txt) and the prototypes of
cuda.h, and matches them. Used by the generators."""

import pathlib
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field

POLICIES = ("gate", "own", "count", "resolver", "pass", "direct", "extern")
HOOKED = ("gate", "own", "count", "resolver")
WRAPPED = (*HOOKED, "pass")
# Types with 32-bit device addresses.
NARROW_TYPES = re.compile(
    r"\b(CUdeviceptr|CUDA_MEMCPY2D|CUDA_MEMCPY3D|CUDA_ARRAY_DESCRIPTOR|CUDA_ARRAY3D_DESCRIPTOR)"
    r"_v1\b")
# Calls without a stream parameter that queue work in the null stream, except synchronous ones.
QUEUES_IN_NULL_STREAM = re.compile(r"cu(Memcpy|Memset|Launch)")
ENDS_BEFORE_RETURN = re.compile(r"cuMemcpy(HtoD|DtoH|AtoH|HtoA)")


@dataclass
class Row:
    name: str
    policy: str
    reason: str
    line: int
    section: str
    shares: bool = False  # with other processes
    used: bool = False

    def is_family(self):
        return self.name.endswith("*")


@dataclass
class Entry:
    """A function of the driver: one version of a call, or its per-thread variant."""

    name: str
    parameters: list  # of (type, name)
    row: Row = None
    policy: str = ""
    has_twin: bool = False  # per-thread variant: the hook gets the kind of stream
    base: str = field(init=False)
    per_thread: bool = field(init=False)

    def __post_init__(self):
        plain = re.sub(r"_(ptsz|ptds)$", "", self.name)
        self.per_thread = plain != self.name
        self.base = re.sub(r"_v\d+$", "", plain)

    def kind(self):
        return "StreamKind::kPerThread" if self.per_thread else "StreamKind::kLegacy"

    def declared(self):
        return ", ".join(f"{kind} {name}" for kind, name in self.parameters)

    def passed(self):
        return ", ".join(name for _, name in self.parameters)

    def with_numbered_parameters(self):
        """Returns the same function: headers of different versions name some parameters differently."""
        return Entry(self.name, [(kind, f"p{i}") for i, (kind, _) in enumerate(self.parameters)],
                     self.row, self.policy, self.has_twin)

    def signature(self):
        return tuple(kind for kind, _ in self.parameters)

    def gate_arguments(self):
        """Returns gate arguments for the stream that the call submits to, "" if to none."""
        if self.base.startswith("cuOccupancy"):
            return ""
        for kind, name in self.parameters:
            if kind == "CUstream":
                return f"({name}, {self.kind()})"
            if kind == "const CUlaunchConfig*":
                return f"({name} != nullptr ? {name}->hStream : nullptr, {self.kind()})"
        ends = ENDS_BEFORE_RETURN.fullmatch(self.base)
        queues = QUEUES_IN_NULL_STREAM.match(self.base) and not ends
        return f"(nullptr, {self.kind()})" if queues else ""


def fail(message):
    sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {message}")


def read_table(path):
    rows, section = [], ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("#"):
            section = line[1:].strip()
            continue
        fields = line.split(None, 2)
        if not fields:
            continue
        policy, _, mark = fields[1].partition("+") if len(fields) > 1 else ("", "", "")
        if policy not in POLICIES or mark not in ("", "share"):
            fail(f"{path}:{number}: expected NAME POLICY[+share] [REASON], POLICY one of {POLICIES}")
        reason = fields[2] if len(fields) > 2 else ""
        rows.append(Row(fields[0], policy, reason, number, section, mark == "share"))
    twice = sorted(name for name, count in Counter(row.name for row in rows).items() if count > 1)
    if twice:
        fail(f"{path}: duplicate rows: {', '.join(twice)}")
    return rows


def read_prototypes(compiler, folders):
    """Reads all prototypes, including old versions and per-thread variants."""
    text = subprocess.run(
        [*compiler, "-E", "-P", "-x", "c", "-D__CUDA_API_VERSION_INTERNAL",
         *(f"-I{folder}" for folder in folders), "-"],
        check=True, input="#include <cuda.h>\n", stdout=subprocess.PIPE, text=True).stdout
    entries = {}
    for match in re.finditer(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(([^()]*)\)\s*;", text):
        name, inside = match.group(1), " ".join(match.group(2).split())
        parts = [] if inside in ("", "void") else inside.split(",")
        entries[name] = Entry(name, [split_parameter(part.strip(), number)
                                     for number, part in enumerate(parts)])
    if len(entries) < 400:
        fail(f"only {len(entries)} prototypes found in cuda.h: is it the driver API's?")
    bases = {entry.base for entry in entries.values() if entry.per_thread}
    for entry in entries.values():
        entry.has_twin = entry.base in bases
    return entries


def split_parameter(part, number):
    match = re.fullmatch(r"(.*?[\s*])(\w+)((?:\[\w*\])?)", part)
    if not match:
        return part, f"argument{number}"
    kind = match.group(1).strip() + ("*" if match.group(3) else "")
    return re.sub(r"\s*\*\s*", "*", kind).replace("*const", "* const"), match.group(2)


def match_rows(rows, entries, table):
    exact = {row.name[1:]: row for row in rows if row.name.startswith("=")}
    general = {row.name: row for row in rows
               if not row.name.startswith("=") and not row.is_family()}
    missing = []
    for entry in entries.values():
        row = exact.get(entry.name) or general.get(entry.base)
        if row is None:
            missing.append(entry.name)
            continue
        row.used = True
        entry.row = row
        narrow = any(NARROW_TYPES.search(kind) for kind, _ in entry.parameters)
        entry.policy = "direct" if narrow else row.policy
        if entry.base in general:
            general[entry.base].used = True
    if missing:
        fail(f"{table}: no row for {', '.join(sorted(missing))}; add one with a policy")
    for row in rows:
        if row.is_family():
            check_family(row, entries, table)
        elif row.policy == "extern":
            if row.used:
                fail(f"{table}:{row.line}: {row.name} is in cuda.h and cannot be 'extern'")
        elif not row.used:
            fail(f"{table}:{row.line}: {row.name} matches no call in cuda.h")


def check_family(row, entries, table):
    """Fails if a known call belongs to a family of passed calls, but is not passed itself."""
    if row.policy != "direct":
        fail(f"{table}:{row.line}: {row.name} can only be 'direct'")
    wrapped = {e.base for e in entries.values() if e.base.startswith(row.name[:-1])
               and e.policy in HOOKED}
    if wrapped:
        fail(f"{table}:{row.line}: {row.name} is passed, but not {', '.join(sorted(wrapped))}")


def ordered(entries):
    return sorted(entries.values(), key=lambda entry: (entry.base, entry.name))


def write_if_changed(path, text):
    """Writes a file only if its contents change, to avoid rebuilds."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
