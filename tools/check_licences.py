#!/usr/bin/env python3
"""Checks that docs/dependencies.md lists exactly the dependencies in use.

  tools/check_licences.py [ROOT]
"""

import pathlib
import re
from dataclasses import dataclass

from source_files import check, source_files

TABLE = "docs/dependencies.md"
USES = {"programs", "headers", "system", "tests", "tool"}
PERMISSIVE = {
    "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0",
    "ISC", "MIT", "Zlib", "blessing", "X11-distribute-modifications-variant",
    "GPL-3.0-or-later WITH GCC-exception-3.1",
}
LICENCE = re.compile(r"^[\w.+-]+( (WITH|AND|OR) [\w.+-]+)*$")

CMAKE_NAME = re.compile(r"\bfind_package\s*\(\s*([\w+.-]+)|\bpkg_check_modules\s*\(\s*([\w+.-]+)")
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([^>]+)>", re.MULTILINE)
REQUIREMENTS = re.compile(r"^tools/requirements(-\w+)?\.txt$")
GO_MODULE = re.compile(r"^(?:require )?\t?([\w.-]+\.[\w.-]+/\S+) v\S+$", re.MULTILINE)
CODE = {".cc", ".h", ".cu", ".cuh", ".inc"}
SYSTEM_FOLDERS = ("arpa/", "asm/", "bits/", "linux/", "net/", "netinet/", "sys/")
# Headers of the C library. Those of the C++ library have no suffix.
SYSTEM_HEADERS = set("""
aio assert byteswap complex cpuid crypt ctype cxxabi dirent dlfcn elf endian err errno execinfo
fcntl features fenv float fnmatch ftw getopt glob gnu-versions grp iconv ifaddrs immintrin inttypes
langinfo libgen limits link locale malloc math mntent mqueue netdb nl_types paths poll pthread pty
pwd regex resolv sched search semaphore setjmp shadow signal spawn stdalign stdarg stdatomic stdbool
stddef stdint stdio stdlib string strings syslog termios threads time uchar ucontext unistd unwind
utime utmp wait wchar wctype wordexp x86intrin
""".split())


@dataclass(frozen=True)
class Dependency:
    line: int
    title: str
    licence: str
    use: str
    names: tuple[str, ...]


def read_table(text: str) -> list[Dependency]:
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 4 or cells[0] in ("Dependency", "---"):
            continue
        use = re.match(r"\w*", cells[2]).group(0)
        rows.append(Dependency(number, cells[0], cells[1], use,
                               tuple(re.findall(r"`([^`]+)`", cells[3]))))
    return rows


def is_system_header(header: str) -> bool:
    if header.startswith(SYSTEM_FOLDERS):
        return True
    if "/" in header:
        return False
    return "." not in header or header.removesuffix(".h") in SYSTEM_HEADERS


def used_names(path: pathlib.Path, name: str) -> list[tuple[int, str]]:
    """Returns line and name of each external dependency that a file refers to."""
    if not (path.suffix in CODE | {".cmake"} or path.name in
            ("CMakeLists.txt", "setup.sh", "go.mod") or REQUIREMENTS.match(name)):
        return []
    text = path.read_text("utf-8", errors="replace")

    def line(position: int) -> int:
        return text.count("\n", 0, position) + 1

    if path.suffix in CODE:
        return [(line(match.start()), match.group(1)) for match in INCLUDE.finditer(text)
                if not is_system_header(match.group(1))]
    if path.name == "go.mod":  # without what it requires only indirectly
        return [(line(match.start()), match.group(1)) for match in GO_MODULE.finditer(text)]
    if REQUIREMENTS.match(name):
        return [(line(match.start()), match.group(1).lower())
                for match in re.finditer(r"^(@?[A-Za-z0-9][\w./-]*)", text, re.MULTILINE)]
    if name == "tools/setup.sh":
        return [(line(group.start()), package)
                for group in re.finditer(r"^\w+_packages=\(([^)]*)\)", text, re.MULTILINE)
                for package in group.group(1).split()]
    return [(line(match.start()), match.group(1) or match.group(2))
            for match in CMAKE_NAME.finditer(re.sub(r"#.*", "", text))]


def row_violations(rows: list[Dependency]) -> list[str]:
    found = []
    seen: dict[str, str] = {}
    for row in rows:
        place = f"{TABLE}:{row.line}: {row.title}"
        if row.use not in USES:
            found.append(f"{place}: unknown use; one of {', '.join(sorted(USES))}")
        if not LICENCE.match(row.licence):
            found.append(f'{place}: "{row.licence}" is not an SPDX licence expression')
        elif row.use == "programs" and row.licence not in PERMISSIVE:
            found.append(f"{place}: {row.licence} is not a permissive licence, which programs require")
        for name in row.names:
            if name in seen:
                found.append(f"{place}: {name} is already listed for {seen[name]}")
            seen[name] = row.title
        if not row.names:
            found.append(f"{place}: lists no names")
    return found


def violations(root: pathlib.Path) -> tuple[list[str], int]:
    table = root / TABLE
    if not table.exists():
        return [f"{TABLE} is missing"], 0
    rows = read_table(table.read_text("utf-8"))
    found = row_violations(rows)
    names = {name: row for row in rows for name in row.names}
    unused = set(names)
    for path in source_files(root):
        name = path.relative_to(root).as_posix()
        for line, used in used_names(path, name):
            known = used if used in names else next(
                (known for known in names if known.endswith("/") and used.startswith(known)), None)
            # Headers of this project that are included by <...>.
            if known is None and (root / used).exists():
                continue
            if known is None:
                found.append(f"{name}:{line}: {used} is not in {TABLE}")
            else:
                unused.discard(known)
    for row in rows:
        if row.names and unused.issuperset(row.names):
            found.append(f"{TABLE}:{row.line}: {row.title} is not used")
    return found, len(rows)


if __name__ == "__main__":
    check(violations, "licences: {} dependencies match their use")
