"""A result as a table of text, as JSON, and as a page."""

import dataclasses
import html
import json
from collections.abc import Sequence
from typing import Any, Optional

from . import Bench
from .utility import ALERTS

SHOWN = 10  # of columns and of rules
PATTERNS = {"P1": "timing", "P2": "bursts", "P3": "shared infrastructure", "P4": "velocity"}


@dataclasses.dataclass
class Section:
    """A table: the first column is text, in the others numbers."""

    title: str
    note: str
    heads: list[str]
    rows: list[list[str]]


def _number(value: Optional[float], digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _summary(result: Bench) -> Section:
    return Section("data", "", ["", "value"], [
        ["place", result.place], ["mapping", f"{result.mapping} ({result.title})"],
        ["rows", f"{result.rows:,}"], ["frauds", f"{result.frauds:,} ({result.frauds / result.rows:.4%})"],
        ["period", f"{result.first:%Y-%m-%d} to {result.last:%Y-%m-%d}"],
        ["rows in the sample", f"{result.sampled:,}"]])


def sections(result: Bench) -> list[Section]:
    share = f"{ALERTS:.0%}"
    scores = [[f"{each.split}: {each.features}", _number(each.auc), _number(each.precision), _number(each.prevalence),
               _number(each.found), f"{each.frauds:,}"] for each in result.utility.scores]
    groups = [[f"{each.what} {each.name}", f"{each.frauds:,}", _number(each.auc), _number(each.graph_auc),
               _number(each.found), _number(each.graph_found)] for each in result.utility.groups]
    singles = [[each.column, _number(each.auc), "graph" if each.graph else "data"]
               for each in result.leaks.singles[:SHOWN]]
    rules = [[f"{each.kind}: {each.rule}", f"{each.rows:,.0f}", f"{each.frauds:,.0f}"]
             for each in result.leaks.rules[:SHOWN]]
    counts = {kind: sum(each.kind == kind for each in result.leaks.rules) for kind in ("pure", "blind")}
    compared = "rows made one by one" if result.against is None else result.against
    behaviours = [[f"{each.pattern} {PATTERNS[each.pattern]}: {each.name}", _number(each.noise, 4),
                   _number(each.distance, 4), _number(each.multiple, 1)] for each in result.behaviour]
    return [
        _summary(result),
        Section("utility of boosted trees", "; ".join(result.utility.notes),
                ["split and features", "AUC", "average precision", "of chance", f"found in {share}", "frauds"], scores),
        Section("by kind and role", f"split by time; found in {share} of the rows",
                ["group", "frauds", "AUC", "with graph", "found", "with graph"], groups),
        Section("single columns", f"the first {SHOWN} of {len(result.leaks.singles)}", ["column", "AUC", "of"], singles),
        Section("rules", f"{counts['pure']} pure (nearly all fraud), {counts['blind']} blind (never fraud)",
                ["rule", "rows", "frauds"], rules),
        Section("behaviour", f"distance to {compared}, as a multiple of that between halves of the data"
                if result.against is None else f"distance to {compared}, as a multiple of that between its halves",
                ["measure", "halves", "distance", "multiple"], behaviours),
    ]


def _difficulty_rows(results: Sequence[Bench]) -> list[list[str]]:
    rows = []
    for result in results:
        scores = {(each.split, each.features): each for each in result.utility.scores}
        single = next((each for each in result.leaks.singles if not each.graph), None)
        cells = [result.place]
        for split in ("time", "ring"):
            for name in ("columns", "columns and graph"):
                score = scores.get((split, name))
                cells.append(_number(score.auc) if score else "-")
        precision = scores.get(("time", "columns and graph")) or scores.get(("time", "columns"))
        cells.append(_number(precision.precision) if precision else "-")
        cells.append(f"{single.auc:.3f} {single.column}" if single else "-")
        cells.append(str(sum(each.kind == "pure" for each in result.leaks.rules)))
        rows.append(cells)
    return rows


def comparison(results: Sequence[Bench]) -> Section:
    """Several data sets in one table, such as one per difficulty."""
    return Section("data sets", "AUC of boosted trees; average precision of the last of the split by time",
                   ["place", "time", "time, graph", "ring", "ring, graph", "precision", "best column", "pure rules"],
                   _difficulty_rows(results))


def _text_of(section: Section) -> str:
    if not section.rows:
        return f"{section.title}: {section.note or 'nothing'}\n"
    widths = [max(map(len, column)) for column in zip(section.heads, *section.rows, strict=True)]
    lines = [section.title + (f": {section.note}" if section.note else "")]
    for row in [section.heads, *section.rows]:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def text(results: Sequence[Bench]) -> str:
    parts = [_text_of(comparison(results))] if len(results) > 1 else []
    parts += [_text_of(section) for result in results for section in sections(result)]
    return "\n".join(parts)


def as_json(results: Sequence[Bench]) -> str:
    def plain(value: Any) -> str:
        return str(value.isoformat())

    return json.dumps([dataclasses.asdict(each) for each in results], indent=1, default=plain, ensure_ascii=False)


STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 2rem; }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; }
tr { border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
p { margin: 0; opacity: .75; }
"""


def _html_of(section: Section) -> str:
    def row(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    head = f"<h2>{html.escape(section.title)}</h2>"
    note = f"<p>{html.escape(section.note)}</p>" if section.note else ""
    if not section.rows:
        return head + (note or "<p>nothing</p>")
    body = "".join(row(cells, "td") for cells in section.rows)
    return f"{head}{note}<table><thead>{row(section.heads, 'th')}</thead><tbody>{body}</tbody></table>"


def page(results: Sequence[Bench]) -> str:
    """Returns one file of HTML, without scripts and without anything from elsewhere."""
    parts = [_html_of(comparison(results))] if len(results) > 1 else []
    for result in results:
        parts.append(f"<h1>{html.escape(result.place)}</h1>" + "".join(map(_html_of, sections(result))))
    return ('<!doctype html><html lang="en"><head><meta charset="utf-8">'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
            '<meta name="viewport" content="width=device-width"><title>fraudgen bench</title>'
            f"<style>{STYLE}</style></head><body>{''.join(parts)}</body></html>\n")
