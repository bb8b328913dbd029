#!/usr/bin/env python3
"""Draws doc/figures/staleness.svg: how stale the fresh reads of real runs were.

    bench/staleness.py build/release/meanwhile [FIGURE.svg]

Trains svm on generated rows, with four ranks and with four workers at a store, at staleness 2, 4 and 8, and draws the shares
of the reads that lacked 0, 1, 2 ... clocks of another reader. How stale reads are depends on who is slow on this machine.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLOURS = ["#1b6ca8", "#c8553d", "#3b8c5a"]
STALENESS = (2, 4, 8)
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 300, 56, 16, 40, 48
PLACES = {"ranks": ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "4"], "store": []}


def rows(count, cols, stored):
    draw = random.Random(1)
    for _ in range(count):
        columns = sorted(draw.sample(range(1, cols + 1), stored))
        sign = 1 if sum(columns[: stored // 2]) % 2 or draw.random() < 0.3 else -1
        yield f"{sign:+d} " + " ".join(f"{c}:{draw.gauss(0, 1):.3f}" for c in columns)


def observed(program, folder, place, staleness):
    """run.json's histogram, mean and waits of a run."""
    words = f"train svm rows.libsvm --solver sgd --shards 8 --tol 0 --max-iter 100 --quiet --staleness {staleness}".split()
    words += ["--threads", "1"] if place == "ranks" else ["--store", "job", "--workers", "4"]
    out = f"{place}-{staleness}"
    subprocess.run([*PLACES[place], program, *words, "--out", out], cwd=folder, check=True)
    record = json.loads((folder / out / "run.json").read_text())
    return record["audit"]["observed_staleness"]


def text(x, y, words, anchor="middle", size=12):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>'


def panel(top, title, runs):
    """Bars side by side: of each staleness the share of reads by what they lacked."""
    high = max(count / sum(run["histogram"]) for run in runs.values() for count in run["histogram"])
    bins = max(runs) + 1
    slot = (WIDTH - LEFT - RIGHT) / bins
    bottom = top + HEIGHT - BOTTOM
    parts = [text(WIDTH / 2, top + 22, title, size=14)]
    for share in (0, 0.25, 0.5, 0.75, 1):
        if share > high * 1.05:
            break
        y = bottom - (HEIGHT - TOP - BOTTOM) * share / (high * 1.05)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(text(LEFT - 7, y + 4, f"{share:.0%}", "end"))
    for number, (staleness, run) in enumerate(runs.items()):
        for lag, count in enumerate(run["histogram"]):
            height = (HEIGHT - TOP - BOTTOM) * count / sum(run["histogram"]) / (high * 1.05)
            x = LEFT + slot * (lag + 0.1 + 0.8 * number / len(runs))
            parts.append(f'<rect x="{x:.1f}" y="{bottom - height:.1f}" width="{0.8 * slot / len(runs):.1f}" '
                         f'height="{height:.1f}" fill="{COLOURS[number]}"/>')
        saved = run["waits_saved"] / run["clocks"]
        words = f"staleness {staleness}: mean {run['mean']:.2f}, most {run['most']}, waits saved {saved:.0%}"
        y = top + TOP + 16 * (number + 1)
        parts.append(f'<rect x="{WIDTH - 340}" y="{y - 9:.1f}" width="10" height="10" fill="{COLOURS[number]}"/>')
        parts.append(text(WIDTH - 324, y, words, "start"))
    for lag in range(bins):
        parts.append(text(LEFT + slot * (lag + 0.5), bottom + 17, str(lag)))
    parts.append(text(WIDTH / 2, bottom + 36, "clocks of another reader that a read lacked"))
    return parts


def main(program, figure=ROOT / "doc/figures/staleness.svg"):
    program = str(pathlib.Path(program).resolve())
    parts = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "rows.libsvm").write_text("\n".join(rows(8000, 500, 20)) + "\n")
        titles = {"ranks": "four ranks, each a reader", "store": "four workers at a directory, each of eight shards a reader"}
        for number, (place, title) in enumerate(titles.items()):
            runs = {staleness: observed(program, folder, place, staleness) for staleness in STALENESS}
            parts += panel(number * HEIGHT, title, runs)
            for staleness, run in runs.items():
                print(place, staleness, json.dumps(run))
    height = 2 * HEIGHT
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            'font-family="sans-serif" fill="#222">')
    body = [head, f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>', *parts, "</svg>"]
    pathlib.Path(figure).write_text("\n".join(body) + "\n")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
