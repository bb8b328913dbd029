#!/usr/bin/env python3
"""Draws lab/results/*.json as doc/figures/*.svg: marks are measured, with the shortest and the longest round; lines are predicted.

    lab/plot.py [FOLDER_OF_RESULTS [FOLDER_OF_FIGURES]]
"""

import json
import math
import pathlib
import sys
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLOURS = ["#1b6ca8", "#c8553d", "#3b8c5a", "#8a5aa8"]  # told apart by the colour-blind, too, and by their marks
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 420, 64, 16, 40, 52


def ticks(low, high):
    """1, 2, 5 and their tenfolds within a logarithmic axis."""
    found = [m * 10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for m in (1, 2, 5)]
    return [t for t in found if low <= t * 1.0001 and t <= high * 1.0001]


class Axes:
    """Both axes are logarithmic: times of 1 to 16 workers are, and laws are straight lines."""

    def __init__(self, xs, ys, legend):
        self.x_low, self.x_high = min(xs) / 1.15, max(xs) * 1.15
        self.y_low, self.y_high = min(ys) / 1.25, max(ys) * 1.25
        self.y_high *= (self.y_high / self.y_low) ** (0.06 * (legend + 1))  # room for the legend

    def x(self, value):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(value / self.x_low) / math.log(self.x_high / self.x_low)

    def y(self, value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(value / self.y_low) / math.log(self.y_high / self.y_low)


def text(x, y, words, anchor="middle", size=12, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{more}>{escape(words)}</text>'


def mark(kind, x, y, colour):
    shapes = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"', f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"',
              f'<path d="M{x - 5:.1f} {y + 4:.1f} h10 l-5 -9 z"', f'<path d="M{x - 5:.1f} {y:.1f} l5 -5 l5 5 l-5 5 z"']
    return shapes[kind % len(shapes)] + f' fill="{colour}"/>'


def chart(title, x_label, y_label, lines):
    """`lines`: of {"name", "measured": [(x, y, low, high)], "predicted": [(x, y)]}."""
    xs = [m[0] for line in lines for m in line["measured"]]
    ys = [v for line in lines for m in line["measured"] for v in m[1:]] + [p[1] for line in lines for p in line["predicted"]]
    axes = Axes(xs, ys, len(lines))
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
             'font-family="sans-serif" fill="#222">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
             text(WIDTH / 2, 22, title, size=14)]
    for value in sorted(set(xs)):
        x = axes.x(value)
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#eee"/>')
        parts.append(text(x, HEIGHT - BOTTOM + 17, f"{value:g}"))
    for value in ticks(axes.y_low, axes.y_high):
        y = axes.y(value)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(text(LEFT - 7, y + 4, f"{value:g}", "end"))
    parts.append(f'<path d="M{LEFT} {TOP} V{HEIGHT - BOTTOM} H{WIDTH - RIGHT}" fill="none" stroke="#444"/>')
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_label))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(text(18, middle, y_label, more=f' transform="rotate(-90 18 {middle:.1f})"'))
    for i, line in enumerate(lines):
        colour = COLOURS[i % len(COLOURS)]
        if line["predicted"]:
            path = " ".join(f"{'ML'[k > 0]}{axes.x(x):.1f} {axes.y(y):.1f}" for k, (x, y) in enumerate(line["predicted"]))
            parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        for x, y, low, high in line["measured"]:
            at = axes.x(x)
            parts.append(f'<line x1="{at:.1f}" y1="{axes.y(low):.1f}" x2="{at:.1f}" y2="{axes.y(high):.1f}" stroke="{colour}"/>')
            parts.append(mark(i, at, axes.y(y), colour))
        y = TOP + 14 + 18 * i
        x = WIDTH - RIGHT - 12
        parts.append(mark(i, x, y - 4, colour))
        parts.append(text(x - 12, y, line["name"] + ("" if line["predicted"] else " (not predicted)"), "end"))
    parts.append(text(WIDTH - RIGHT - 6, TOP + 14 + 18 * len(lines), "marks: measured; lines: predicted", "end", 11, ' fill="#666"'))
    return "\n".join(parts) + "\n</svg>\n"


def of_points(found, name=None):
    """A series by workers, in seconds of a round."""
    measured = []
    for p in found["points"]:
        rounds = [seconds for r in p["repeats"] for seconds in r["rounds"][1:]]
        measured.append((p["workers"], p["round_s"], min(rounds), max(rounds)))
    predicted = sorted((p["workers"], p["predicted"]["round_seconds"]) for p in found["points"] if p.get("predicted"))
    return {"name": name or found["name"], "measured": sorted(measured), "predicted": predicted}


def of_best(found, key, name):
    """The best of each size, by rows."""
    at = lambda who: [(s["rows"], s[f"{who}_best"][key]) for s in found["series"] if f"{who}_best" in s]
    return {"name": name, "measured": [(x, y, y, y) for x, y in at("measured")], "predicted": at("predicted")}


def figures(found):
    """(name, svg) of an experiment's result."""
    what, workers, seconds = found["experiment"], "workers", "seconds of a round"
    if what == "storage":
        yield "storage", chart(f"k-means over storage, {found['rows']} rows", workers, seconds, [of_points(s) for s in found["series"]])
    elif what == "scaleup":
        yield "scaleup", chart("k-means over storage: more rows", workers, seconds, [of_points(s) for s in found["series"]])
        yield "scaleup-best", chart("the best number of workers, and its time", "rows", "workers; seconds of a round",
                                    [of_best(found, "smooth_workers", "workers"), of_best(found, "seconds", "seconds")])
    elif what == "svm":
        for model in dict.fromkeys(s["model"] for s in found["series"]):
            of = [s for s in found["series"] if s["model"] == model]
            yield f"svm-{model}", chart(f"linear SVM over MPI, {of[0]['cols']} columns", workers, seconds, [of_points(s, s["exchange"]) for s in of])
    elif what == "another_size":
        for place, name in (("in the lab", "another-size"), ("on the bare machine", "another-size-bare")):
            of = [s for s in found["series"] if s["name"].endswith(place)]
            yield name, chart(f"k-means of another size, {place}", workers, seconds, [of_points(s, f"{s['clusters']} clusters") for s in of])


def main(results=ROOT / "lab/results", into=ROOT / "doc/figures"):
    into = pathlib.Path(into)
    into.mkdir(parents=True, exist_ok=True)
    for path in sorted(pathlib.Path(results).glob("*.json")):
        for name, svg in figures(json.loads(path.read_text())):
            (into / f"{name}.svg").write_text(svg)
            print(into / f"{name}.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])
