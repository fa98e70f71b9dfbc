#!/usr/bin/env python3
"""Draws results.json of bench/tuner.py as SVG: seconds of a job by number of workers, and tuned.

  tools/draw_tuner.py RESULTS.json OUTPUT.svg
"""

import json
import math
import pathlib
import sys

WIDTH, HEIGHT, LEFT, TOP, GAP = 460, 250, 46, 40, 20
FIXED, TUNED, OTHER = "#3c6eb5", "#2a7f62", "#b5533c"


def shortest(rows: list, kind: str) -> dict:
    best: dict = {}
    for row in rows:
        if row["kind"] == kind:
            best[row["workers"]] = min(row["seconds"], best.get(row["workers"], math.inf))
    return best


def panel(kind: str, best: dict, cores: int, x: int, y: int) -> list[str]:
    """Returns the elements of one kind of steps, in a panel with its corner at (x, y)."""
    fixed = sorted(workers for workers in best if isinstance(workers, int))
    width, height = WIDTH - LEFT - GAP, HEIGHT - TOP - 46
    end = max(best.values()) * 1.08
    steps = math.log2(fixed[-1] / fixed[0])

    def at(workers: int, seconds: float) -> tuple[float, float]:
        return (x + LEFT + math.log2(workers / fixed[0]) / steps * width,
                y + TOP + height * (1 - seconds / end))

    bottom = y + TOP + height
    lines = [f'<text x="{x + LEFT}" y="{y + 26}" font-weight="bold" fill="#222">{kind}</text>',
             f'<line x1="{x + LEFT}" y1="{bottom}" x2="{x + LEFT + width}" y2="{bottom}" stroke="#888"/>']
    for part in range(0, 5):
        seconds = end / 1.08 * part / 4
        _, row = at(fixed[0], seconds)
        lines.append(f'<text x="{x + LEFT - 6}" y="{row + 4:.1f}" text-anchor="end" fill="#555">{seconds:.0f}</text>'
                     f'<line x1="{x + LEFT}" y1="{row:.1f}" x2="{x + LEFT + width}" y2="{row:.1f}" stroke="#00000014"/>')
    for workers in fixed:
        column, _ = at(workers, 0)
        lines.append(f'<text x="{column:.1f}" y="{bottom + 16}" text-anchor="middle" fill="#555">{workers}</text>')
    column, _ = at(max(cores, fixed[0]), 0)
    lines.append(f'<line x1="{column:.1f}" y1="{y + TOP}" x2="{column:.1f}" y2="{bottom}" stroke="{OTHER}" '
                 'stroke-dasharray="3 3"/>')
    points = " ".join("{:.1f},{:.1f}".format(*at(workers, best[workers])) for workers in fixed)
    lines.append(f'<polyline points="{points}" fill="none" stroke="{FIXED}" stroke-width="2"/>')
    for workers in fixed:
        column, row = at(workers, best[workers])
        lines.append(f'<circle cx="{column:.1f}" cy="{row:.1f}" r="3" fill="{FIXED}"/>')
    _, row = at(fixed[0], best["tuned"])
    lines.append(f'<line x1="{x + LEFT}" y1="{row:.1f}" x2="{x + LEFT + width}" y2="{row:.1f}" '
                 f'stroke="{TUNED}" stroke-width="2"/>')
    if "parallel" in best:
        column, row = at(max(cores, fixed[0]), best["parallel"])
        lines.append(f'<rect x="{column - 4:.1f}" y="{row - 4:.1f}" width="8" height="8" fill="{OTHER}"/>')
    if "HyperQueue" in best:
        column, row = at(max(cores, fixed[0]), best["HyperQueue"])
        lines.append(f'<path d="M{column:.1f} {row - 7:.1f}l7 7l-7 7l-7 -7z" fill="none" stroke="{OTHER}" '
                     'stroke-width="1.5"/>')
    return lines


def draw(results: dict) -> str:
    kinds = list(dict.fromkeys(row["kind"] for row in results["rows"]))
    width, height = 2 * WIDTH, 30 + HEIGHT * math.ceil(len(kinds) / 2)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    legend = ((FIXED, "fixed number of workers, seconds of the job"), (TUNED, "tuned"),
              (OTHER, "one per core: square: GNU parallel, diamond: HyperQueue"))
    x = LEFT
    for colour, text in legend:
        lines.append(f'<rect x="{x}" y="12" width="12" height="12" fill="{colour}"/>'
                     f'<text x="{x + 18}" y="22" fill="#222">{text}</text>')
        x += 50 + 7 * len(text)
    for number, kind in enumerate(kinds):
        lines += panel(kind, shortest(results["rows"], kind), results["cores"],
                       number % 2 * WIDTH, 30 + number // 2 * HEIGHT)
    return "\n".join([*lines, "</svg>"]) + "\n"


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    results = json.loads(pathlib.Path(sys.argv[1]).read_text())
    pathlib.Path(sys.argv[2]).write_text(draw(results))


if __name__ == "__main__":
    main()
