#!/usr/bin/env python3
"""Draws a run: loss by round, on training and held-out rows, as one small SVG file.

    scripts/picture.py RUN OUT.svg       (README.md: the run of its first command, doc/figures/run.svg)

The numbers are those of RUN/metrics.jsonl. The picture has no script and no fonts of its own, and
colours that can be read on light and dark pages.
"""

import json
import math
import pathlib
import sys

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 64, 176, 36, 44


def read(run):
    rounds = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    rounds = [line for line in rounds if "round" in line]
    held_out = [(line["round"], line["held_out_loss"]) for line in rounds if "held_out_loss" in line]
    return [(line["round"], line["objective"]) for line in rounds], held_out


def draw(title, training, held_out):
    values = [y for _, y in training + held_out]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    last = max(x for x, _ in training)

    def at(x, y):
        across = LEFT + (WIDTH - LEFT - RIGHT) * (x - 1) / max(1, last - 1)
        down = TOP + (HEIGHT - TOP - BOTTOM) * (high - math.log10(y)) / (high - low)
        return f"{across:.1f},{down:.1f}"

    def line(points, colour):
        return f'<polyline points="{" ".join(at(x, y) for x, y in points)}" fill="none" stroke="{colour}" stroke-width="2"/>'

    def text(x, y, words, anchor="start", colour="#808080"):
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{words}</text>'

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
             'font-family="sans-serif" font-size="12">', f"<title>{title}</title>", text(LEFT, 20, title)]
    for power in range(low, high + 1):
        y = float(at(1, 10.0**power).split(",")[1])
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#808080" stroke-opacity="0.3"/>')
        parts.append(text(LEFT - 8, y + 4, f"{10.0**power:g}", "end"))
    for x in sorted({1, last, *range(5, last, 5)}):
        parts.append(text(float(at(x, values[0]).split(",")[0]), HEIGHT - BOTTOM + 18, str(x), "middle"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "round", "middle"))
    for name, points, colour in (("training rows", training, "#2f7fd0"), ("held-out rows", held_out, "#d9822b")):
        if points:
            x, y = at(*points[-1]).split(",")
            parts += [line(points, colour), text(float(x) + 8, float(y) + 4, name, colour=colour)]
    if held_out:
        best = min(held_out, key=lambda point: point[1])
        x, y = at(*best).split(",")
        parts.append(f'<circle cx="{x}" cy="{y}" r="4.5" fill="#d9822b"/>')
        parts.append(text(float(x), float(y) - 12, f"the model that is kept: round {best[0]}", "middle"))
    return "\n".join(parts + ["</svg>"]) + "\n"


def main():
    run, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    record = json.loads((run / "run.json").read_text())
    training, held_out = read(run)
    out.write_text(draw(f"loss of {record['learner']} by round", training, held_out))


if __name__ == "__main__":
    main()
