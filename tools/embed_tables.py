#!/usr/bin/env python3
"""Generates C++ from the declaration of a table in fraudgen/schema/tables/.

  tools/embed_tables.py TABLE.txt OUTPUT.inc

A declaration begins with three lines, `table: NAME`, `english: TEXT` and `portuguese: TEXT`. After
an empty line and a header line, each line declares one column, with cells separated by `|`:

  column         name; fields of a nested record contain a dot
  type           text, category, boolean, integer, decimal N, date or timestamp; N is the number
                 of decimal places; `recurring` before text or decimal: values repeat within a
                 block of rows
  unit           unit of a number, or empty
  null           `null` if the column may be null, else empty
  English, Portuguese, how it is generated
                 for docs/fraud-schema.md
  categories     for a category only: values separated by spaces, or @NAME of a C++ array. After
                 `TYPE:` the values also become an enumeration, CREDIT_CARD as kCreditCard or, to
                 name another enumerator, kPhone=TELEFONE

Lines that begin with # are comments. For `table: ride_alerts` in a folder `coherent/` the output
defines `const Table kRideAlerts`. OUTPUT_columns.inc, for headers, defines `enum class
RideAlertsColumn` with an enumerator for each column in order, such as kAlertId or
kPickupLocationLat, and each enumeration TYPE with an array kTYPENames of its values.
"""

import pathlib
import re

from embed import run

HEADER = ["column", "type", "unit", "null", "English", "Portuguese", "how it is generated",
          "categories"]
KEYS = ["table", "english", "portuguese"]
TYPES = {
    "text": "kText",
    "recurring text": "kText",
    "category": "kCategory",
    "boolean": "kBoolean",
    "integer": "kInteger",
    "date": "kDate",
    "timestamp": "kTimestamp",
}


def camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[._]", name))


def quoted(what: str, text: str) -> str:
    if not text:
        raise ValueError(f"{what} is empty")
    if '"' in text or "\\" in text:
        raise ValueError(f"{what}: {text!r} contains a quote or a backslash")
    return f'"{text}"'


class Column:
    """One line of a declaration, checked."""

    def __init__(self, line: str):
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) not in (len(HEADER) - 1, len(HEADER)):
            raise ValueError(f"{len(cells)} cells instead of {len(HEADER) - 1} or {len(HEADER)}")
        cells += [""] * (len(HEADER) - len(cells))
        self.name, kind, unit, null, *texts, categories = cells
        if not re.fullmatch(r"[a-z]\w*(\.[a-z]\w*)?", self.name):
            raise ValueError(f"'{self.name}' is not a column name")
        decimal = re.fullmatch(r"(?:recurring )?decimal ([1-9])", kind)
        if decimal is None and kind not in TYPES:
            raise ValueError(f"{self.name}: unknown type '{kind}'")
        if null not in ("", "null"):
            raise ValueError(f"{self.name}: '{null}' instead of 'null' or nothing")
        if (kind == "category") != bool(categories):
            raise ValueError(f"{self.name}: a category, and nothing else, lists its categories")
        self.type = "kDecimal" if decimal else TYPES[kind]
        self.places = decimal.group(1) if decimal else "0"
        self.unit = quoted("unit", unit) if unit else '""'
        self.nullable = "kYes" if null else "kNo"
        self.texts = [quoted(f"{self.name}: {what}", text)
                      for what, text in zip(HEADER[4:7], texts)]
        self.recurs = ", true" if kind.startswith("recurring ") else ""
        self.array = categories.removeprefix("@") if categories.startswith("@") else ""
        self.enumeration, _, listed = categories.rpartition(": ")
        self.values = [] if self.array else [value.rpartition("=")[2] for value in listed.split()]
        self.enumerators = [enumerator or f"k{camel(value.lower())}" for enumerator, _, value
                            in (value.rpartition("=") for value in listed.split())]
        if self.enumeration:
            self.array = f"k{self.enumeration}Names"
        if len(set(self.values)) != len(self.values):
            raise ValueError(f"{self.name}: lists a category twice")


def read(text: str) -> tuple[dict[str, str], list[Column]]:
    keys: dict[str, str] = {}
    columns: list[Column] = []
    seen_header = False
    for number, line in enumerate(text.splitlines(), 1):
        try:
            if not line or line.startswith("#"):
                continue
            if len(keys) < len(KEYS):
                key, _, value = line.partition(": ")
                if key != KEYS[len(keys)]:
                    raise ValueError(f"expected '{KEYS[len(keys)]}: ...'")
                keys[key] = value
            elif not seen_header:
                if [cell.strip() for cell in line.split("|")] != HEADER:
                    raise ValueError(f"expected the header '{' | '.join(HEADER)}'")
                seen_header = True
            else:
                column = Column(line)
                if any(column.name == other.name for other in columns):
                    raise ValueError(f"{column.name} is declared twice")
                columns.append(column)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    if not columns:
        raise ValueError("declares no columns")
    return keys, columns


def cxx(model: str, keys: dict[str, str], columns: list[Column]) -> str:
    prefix = f"k{camel(model)}{camel(keys['table'])}"
    out = ["namespace {"]
    rows = []
    for column in columns:
        values = column.array or "{}"
        if column.values and not column.enumeration:
            values = f"{prefix}{camel(column.name)}Values"
            names = ", ".join(quoted(column.name, value) for value in column.values)
            out.append(f"constexpr std::array<std::string_view, {len(column.values)}> {values} = "
                       f"{{{names}}};")
        rows.append(f'    {{"{column.name}", ColumnType::{column.type}, {column.places}, '
                    f"{column.unit}, Nullable::{column.nullable}, {', '.join(column.texts)}, "
                    f"{values}{column.recurs}}},")
    out += [f"constexpr std::array<Column, {len(columns)}> {prefix}Columns = {{{{", *rows, "}};",
            "}  // namespace",
            f"const Table k{camel(keys['table'])} = {{{quoted('table', keys['table'])}, "
            f"{quoted('english', keys['english'])}, {quoted('portuguese', keys['portuguese'])}, "
            f"{prefix}Columns}};"]
    return "\n".join(out) + "\n"


def enumerations(keys: dict[str, str], columns: list[Column]) -> str:
    names = "".join(f"  k{camel(column.name)},\n" for column in columns)
    out = f"enum class {camel(keys['table'])}Column : std::size_t {{\n{names}}};\n"
    for column in columns:
        if column.enumeration:
            values = ", ".join(quoted(column.name, value) for value in column.values)
            out += (f"enum class {column.enumeration} : uint8_t {{{', '.join(column.enumerators)}}};\n"
                    f"inline constexpr std::array<std::string_view, {len(column.values)}> "
                    f"{column.array} = {{{values}}};\n")
    return out


def generate(source: pathlib.Path, output: pathlib.Path) -> dict[pathlib.Path, str]:
    keys, columns = read(source.read_text("utf-8"))
    return {output: cxx(source.parent.name, keys, columns),
            output.with_name(f"{output.stem}_columns.inc"): enumerations(keys, columns)}


if __name__ == "__main__":
    run(__doc__, 2, generate)
