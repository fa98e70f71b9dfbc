"""Mappings: which columns of somebody's data are the time, the label, the customer and so on.

A mapping is a TOML file. Its values are SQL expressions of DuckDB over the tables that it names, so a file of
unknown origin should be read before it is used, as a script would be.
"""

import dataclasses
import difflib
import pathlib
from typing import Any, Optional, Union

from ._modules import BenchError, load

SHIPPED = pathlib.Path(__file__).parent / "mappings"
# In the order in which they are tried.
NAMES = ("fraudgen", "fraudgen-classic", "fraudgen-rides", "ieee-cis", "paysim", "banksim", "baf", "amlworld")
COLUMNS = ("id", "time", "label", "customer", "receiver", "amount", "kind", "role", "ring", "reported")
REQUIRED = ("time", "label")
FORMATS = {
    ".parquet": "read_parquet({files})",
    ".csv": "read_csv({files}, sample_size = 1000000)",
    ".tsv": "read_csv({files}, delim = '\\t', sample_size = 1000000)",
    ".jsonl": "read_json({files}, format = 'newline_delimited', maximum_object_size = 67108864)",
    ".json": "read_json({files}, maximum_object_size = 67108864)",
}


@dataclasses.dataclass(frozen=True)
class Mapping:
    """A mapping that was read and checked."""

    name: str
    title: str
    tables: dict[str, tuple[str, ...]]  #: names and patterns of files, without their endings
    source: str  #: what is selected from
    columns: dict[str, str]  #: SQL by column
    shared: dict[str, str]  #: SQL of what several customers may use
    ignore: tuple[str, ...]  #: columns that must not be features


def _choose(given: object, valid: tuple[str, ...], where: str) -> None:
    if given in valid:
        return
    near = difflib.get_close_matches(str(given), valid, 1)
    hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(valid)}"
    raise BenchError(f"{where}: unknown key '{given}'; {hint}", 3)


def _texts(table: dict[str, Any], where: str) -> dict[str, str]:
    for key, value in table.items():
        if not isinstance(value, str) or not value.strip():
            raise BenchError(f"{where}.{key}: expected SQL in quotes, not {value!r}", 3)
    return dict(table)


def parse(text: str, name: str) -> Mapping:
    """Returns the mapping in `text`; BenchError names what is wrong, and where."""
    try:
        import tomllib as toml  # pylint: disable=import-outside-toplevel  # Python 3.11
    except ImportError:
        toml = load("tomli")
    try:
        read = toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise BenchError(f"{name}: {error}", 3) from error
    for key in read:
        _choose(key, ("title", "from", "tables", "columns", "shared", "features"), name)
    for key in ("tables", "columns", "shared", "features"):
        if not isinstance(read.setdefault(key, {}), dict):
            raise BenchError(f"{name}: {key} must be a section, [{key}]", 3)
    if not read["tables"]:
        raise BenchError(f"{name}: [tables] is missing; name a table and its files, such as payments = 'log*'", 3)
    for key in read["columns"]:
        _choose(key, COLUMNS, f"{name}: [columns]")
    for key in REQUIRED:
        if key not in read["columns"]:
            raise BenchError(f"{name}: [columns] lacks {key}", 3)
    for key in read["features"]:
        _choose(key, ("ignore",), f"{name}: [features]")
    tables = {}
    for key, value in read["tables"].items():
        patterns = [value] if isinstance(value, str) else value
        if not isinstance(patterns, list) or not patterns or not all(isinstance(each, str) for each in patterns):
            raise BenchError(f"{name}: tables.{key}: expected a file name or a list of them, not {value!r}", 3)
        tables[key] = tuple(patterns)
    if "from" not in read and len(tables) > 1:
        raise BenchError(f"{name}: 'from' is missing; it says how the {len(tables)} tables are joined", 3)
    return Mapping(name, str(read.get("title", name)), tables, str(read.get("from", next(iter(tables)))),
                   _texts(read["columns"], f"{name}: columns"), _texts(read["shared"], f"{name}: shared"),
                   tuple(read["features"].get("ignore", ())))


def read_mapping(name: str) -> Mapping:
    """Returns a shipped mapping by its name, or one from a file."""
    path = SHIPPED / f"{name}.toml" if name in NAMES else pathlib.Path(name)
    try:
        return parse(path.read_text("utf-8"), name)
    except (OSError, UnicodeDecodeError) as error:
        raise BenchError(f"--mapping: cannot read {name} ({error}); give a file, or one of {', '.join(NAMES)}",
                         3) from error


def _format_of(path: pathlib.Path) -> Optional[str]:
    suffixes = path.suffixes
    if suffixes and suffixes[-1] in (".gz", ".zst"):
        suffixes.pop()
    return suffixes[-1] if suffixes and suffixes[-1] in FORMATS else None


def _files(place: pathlib.Path, patterns: tuple[str, ...]) -> list[pathlib.Path]:
    for pattern in patterns:
        found = [path for path in place.glob(f"{pattern}.*") if path.is_file() and _format_of(path)]
        for folder in place.glob(pattern):
            if folder.is_dir():
                found += [path for path in folder.rglob("*") if path.is_file() and _format_of(path)]
        if found:
            return sorted(found)
    return []


def quoted(text: object) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def check_place(place: Union[str, pathlib.Path]) -> None:
    if "://" in str(place):
        raise BenchError(f"{place}: bench reads local files; copy the data to a folder")
    if not pathlib.Path(place).exists():
        raise BenchError(f"{place}: no such file or folder")


def readers(mapping: Mapping, place: Union[str, pathlib.Path]) -> dict[str, str]:
    """Returns what reads each table of the data at `place`, in SQL."""
    check_place(place)
    path = pathlib.Path(place)
    found = {}
    for table, patterns in mapping.tables.items():
        if path.is_file():
            if len(mapping.tables) > 1:
                raise BenchError(f"{place} is a file, but mapping {mapping.name} needs the tables "
                                 f"{', '.join(mapping.tables)}; name their folder")
            files = [path]
        else:
            files = _files(path, patterns)
        if not files:
            raise BenchError(f"{place}: no table {table} of mapping {mapping.name}: no file or folder "
                             f"{' or '.join(patterns)} with {', '.join(FORMATS)}")
        formats = {_format_of(file) for file in files}
        ending = formats.pop()
        if formats or ending is None:
            raise BenchError(f"{place}: the files of table {table} have several or unknown formats; expected one of "
                             f"{', '.join(FORMATS)}, also with .gz or .zst")
        listed = ", ".join(map(quoted, files))
        found[table] = FORMATS[ending].format(files=f"[{listed}]")
    return found
