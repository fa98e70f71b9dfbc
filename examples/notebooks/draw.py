"""Draws a log of notebooks.py as SVG: what each notebook held of the card, and all in host memory, over time.

  draw.py LOG OUTPUT.svg
"""

import json
import pathlib
import sys

WIDTH, LEFT, RIGHT, TOP = 960, 84, 16, 44
PANEL, GAP = 170, 44
CARD_MIB = 64
ALL = "all"


def colour(index: int, count: int) -> str:
    return f"hsl({360 * index // count} 55% {45 if index % 2 else 62}%)"


class Chart:
    def __init__(self, seconds: float, names: list[str]) -> None:
        self.scale = (WIDTH - LEFT - RIGHT) / seconds
        self.seconds = seconds
        self.colours = {name: colour(index, len(names)) for index, name in enumerate(names)}
        self.colours[ALL] = "#8a93a0"
        height = TOP + 2 * PANEL + GAP + 40
        self.lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
                      f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
                      f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>']

    def text(self, x: float, y: float, words: str, anchor: str = "middle") -> None:
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#333">{words}</text>')

    def panel(self, top: float, title: str, maximum: int, rows: list[tuple[float, float, dict]]) -> None:
        """Draws the sizes (bytes) of all programs on top of each other, from each sample to the next."""
        self.text(LEFT, top - 8, title, "start")
        for share in (0, 0.5, 1):
            y = top + PANEL * (1 - share)
            self.text(LEFT - 8, y + 4, f"{maximum * share:g}", "end")
            self.lines.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" stroke="#00000030"/>')
        paths: dict[str, str] = {name: "" for name in self.colours}
        for start, end, sizes in rows:
            below = 0.0
            for name, size in sorted(sizes.items()):
                part = PANEL * size / (maximum << 20)
                x, width = LEFT + start * self.scale, (end - start) * self.scale
                paths[name] += f"M{x:.1f} {top + PANEL - below:.1f}h{width:.1f}v{-part:.1f}h{-width:.1f}z"
                below += part
        self.lines += [f'<path fill="{self.colours[name]}" d="{path}"/>' for name, path in paths.items() if path]

    def axis(self, top: float, phases: list[tuple[float, str]]) -> None:
        bottom = top + PANEL
        step = next(step for step in (1, 2, 5, 10, 20, 60, 1e9) if self.seconds / step <= 12)
        for number in range(int(self.seconds / step) + 1):
            self.text(LEFT + number * step * self.scale, bottom + 18, f"{number * step:g}")
        self.text(WIDTH - RIGHT, bottom + 34, "seconds", "end")
        for start, name in phases:
            x = LEFT + start * self.scale
            self.lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="18" y2="{bottom}" stroke="#333" '
                              'stroke-dasharray="3 3"/>')
            self.text(x + 4, 16, name, "start")


def merged(rows: list[dict], part: str, end: float) -> list[tuple[float, float, dict]]:
    """Returns (start, end, sizes), with consecutive samples that are equal as one."""
    found: list[tuple[float, float, dict]] = []
    for row, after in zip(rows, [*(row["at"] for row in rows[1:]), end]):
        if found and found[-1][2] == row[part]:
            found[-1] = (found[-1][0], after, row[part])
        else:
            found.append((row["at"], after, row[part]))
    return found


def draw(rows: list[dict]) -> str:
    first = rows[0]["at"]
    rows = [{**row, "at": row["at"] - first} for row in rows]
    samples = [row for row in rows if "held" in row]
    for row in samples:
        row["host"] = {ALL: sum(row["swapped"].values())}
    end = rows[-1]["at"]
    names = sorted({name for row in samples for name in row["held"]})
    host = max(row["host"][ALL] for row in samples) >> 20
    chart = Chart(end, names)
    chart.panel(TOP, f"MiB on the card, of {len(names)} notebooks", CARD_MIB, merged(samples, "held", end))
    below = TOP + PANEL + GAP
    chart.panel(below, "MiB of all in host memory", 100 * (host // 100 + 1), merged(samples, "host", end))
    chart.axis(below, [(row["at"], row["phase"]) for row in rows if "phase" in row])
    return "\n".join([*chart.lines, "</svg>"]) + "\n"


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    rows = [json.loads(line) for line in pathlib.Path(sys.argv[1]).read_text().splitlines()]
    pathlib.Path(sys.argv[2]).write_text(draw(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
