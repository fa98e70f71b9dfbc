#!/usr/bin/env python3
"""Draws a trace written by `reveza trace` as an SVG timeline with one lane per program.

  tools/draw_timeline.py TRACE.json OUTPUT.svg [LANGUAGE]        (LANGUAGE: en, pt)
"""

import html
import json
import pathlib
import sys

WIDTH, LEFT, LANE, GAP, TOP = 960, 96, 34, 14, 56
COLOURS = {"slice": "#2a7f62", "drain": "#d9a441", "copy out": "#b5533c", "copy in": "#3c6eb5",
           "wait": "#d8dade"}
WORDS = {
    "en": {"slice": "runs", "drain": "drains", "copy out": "copies out", "copy in": "copies in",
           "wait": "waits", "axis": "seconds"},
    "pt": {"slice": "executa", "drain": "esvazia a fila", "copy out": "copia para fora",
           "copy in": "copia para dentro", "wait": "espera", "axis": "segundos"},
}


def read(path: pathlib.Path) -> tuple[list[str], list[tuple[str, str, float, float]]]:
    """Returns program names, and (program, kind, start, end) in seconds since the first event."""
    events = json.loads(path.read_text())["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events
             if event["ph"] == "M" and event["name"] == "process_name"}
    spans = [event for event in events if event["ph"] == "X"]
    first = min(event["ts"] for event in spans)
    found = []
    for event in spans:
        kind = "wait" if event["name"].startswith("wait") else event["name"]
        start = (event["ts"] - first) / 1e6
        found.append((names[event["pid"]], kind, start, start + event["dur"] / 1e6))
    order = list(COLOURS)  # drawing order, last on top
    found.sort(key=lambda span: -order.index(span[1]) if span[1] == "wait" else order.index(span[1]))
    return sorted(names.values()), found


def step_of(seconds: float) -> float:
    return next(step for step in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 300, 1e9) if seconds / step <= 12)


def draw(programs: list[str], spans: list, words: dict) -> str:
    end = max(span[3] for span in spans)
    scale = (WIDTH - LEFT - 16) / end
    height = TOP + len(programs) * (LANE + GAP) + 34
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
             f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
             f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>']
    x = LEFT
    for kind, colour in COLOURS.items():
        lines.append(f'<rect x="{x}" y="18" width="14" height="14" fill="{colour}"/>'
                     f'<text x="{x + 20}" y="30" fill="#222">{words[kind]}</text>')
        x += 40 + 8 * len(words[kind])
    for row, program in enumerate(programs):
        y = TOP + row * (LANE + GAP)
        lines.append(f'<text x="{LEFT - 12}" y="{y + LANE / 2 + 5}" text-anchor="end" fill="#222">'
                     f"{html.escape(program)}</text>")
        for name, kind, start, stop in spans:
            if name == program:
                lines.append(f'<rect x="{LEFT + start * scale:.2f}" y="{y}" '
                             f'width="{max((stop - start) * scale, 0.4):.2f}" height="{LANE}" '
                             f'fill="{COLOURS[kind]}"/>')
    bottom = TOP + len(programs) * (LANE + GAP)
    step = step_of(end)
    for number in range(int(end / step) + 1):
        x = LEFT + number * step * scale
        lines.append(f'<line x1="{x:.2f}" y1="{TOP - 6}" x2="{x:.2f}" y2="{bottom}" stroke="#00000018"/>'
                     f'<text x="{x:.2f}" y="{bottom + 16}" text-anchor="middle" fill="#555">'
                     f"{number * step:g}</text>")
    lines.append(f'<text x="{WIDTH - 16}" y="{bottom + 30}" text-anchor="end" fill="#555">'
                 f'{words["axis"]}</text></svg>')
    return "\n".join(lines) + "\n"


def main() -> int:
    if not 3 <= len(sys.argv) <= 4 or sys.argv[3:] not in ([], ["en"], ["pt"]):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    programs, spans = read(pathlib.Path(sys.argv[1]))
    pathlib.Path(sys.argv[2]).write_text(draw(programs, spans, WORDS[(sys.argv[3:] or ["en"])[0]]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
