#!/usr/bin/env python3
"""How fast `predict --append` copies a large CSV file and puts predictions behind its rows.

    bench/append.py PROGRAM [--megabytes N] [--rounds N] [--folder DIR]

Makes a table of numbers, words and quoted text, trains a logistic model on its first rows, and times
`cat` to a file, which is the floor, then `predict --append` without and with --probabilities. Prints
MB of input a second, the time of processors and the peak resident memory of each; the best of the
rounds. On a busy machine the time of processors over two is what two free cores would take.
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time


def make_table(path, megabytes):
    """Blocks of rows that are made once, each with numbers of its own for the rows."""
    draw = random.Random(7)
    header = "id,carat,cut,depth,table,x,y,z,note,sold\n"
    tails = []
    for _ in range(20_000):
        carat, depth, table = draw.uniform(0.2, 3), draw.gauss(61, 1.4), draw.randint(52, 66)
        x, y, z = (6 * carat ** (1 / 3) + draw.gauss(0, 0.05) for _ in range(3))
        cut = draw.choice(("Fair", "Good", "Very Good", "Premium", "Ideal"))
        note = draw.choice(("", "plain", '"a, b"', '"said ""yes"""', "Zürich", '"two\nlines"'))
        sold = "yes" if carat * 2 + draw.gauss(0, 1) > 3 else "no"
        tails.append(f",{carat:.2f},{cut},{depth:.1f},{table},{x:.2f},{y:.2f},{0.61 * z:.2f},{note},{sold}\n")
    row = written = 0
    with open(path, "w", newline="") as file:
        file.write(header)
        while written < megabytes * 1_000_000:
            text = "".join(f"{row + i:09}{tail}" for i, tail in enumerate(tails))
            row += len(tails)
            written += file.write(text)
    return row


def timed(words, out=None):
    """Seconds, seconds of processors and peak resident bytes of a command."""
    begin = time.monotonic()
    with open(out or os.devnull, "wb") as file:
        child = subprocess.Popen(words, stdout=file, stderr=subprocess.PIPE)
        said = child.stderr.read().decode()
        _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - begin
    if status != 0:
        sys.exit(f"{' '.join(words)}: {said}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where the files lie (default: a temporary folder)")
    given = parser.parse_args()
    program = str(pathlib.Path(given.program).resolve())
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = pathlib.Path(name)
        data, head, out, run = (str(folder / part) for part in ("t.csv", "head.csv", "out.csv", "run"))
        rows = make_table(data, given.megabytes)
        make_table(head, 5)
        subprocess.run([program, "train", "logistic", head, "--label-column", "sold", "--ignore-column", "id,note",
                        "--quiet", "--out", run], check=True)
        size = os.path.getsize(data)
        print(f"{rows:,} rows, {size / 1e6:,.0f} MB, {os.cpu_count()} cores")
        predict = [program, "predict", run, data, "--append", "--out", out]
        commands = [("cat", ["cat", data], out), ("predict --append", predict, None),
                    ("predict --append --probabilities", [*predict, "--probabilities"], None)]
        for title, words, target in commands:
            found = [timed(words, target) for _ in range(given.rounds)]
            seconds, busy, peak = min(found)[0], min(one[1] for one in found), max(one[2] for one in found)
            print(f"{title:34} {seconds:7.2f} s {size / 1e6 / seconds:7.0f} MB/s, {busy:6.2f} s of processors, "
                  f"{peak / 1e6:4.0f} MB peak")
            if target is None:
                with open(out, "rb") as file:
                    lines = sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 24), b""))
                with open(data, "rb") as file:
                    expected = sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 24), b""))
                if lines != expected:
                    sys.exit(f"{out} has {lines} lines, {data} has {expected}")


if __name__ == "__main__":
    main()
