"""How fast tables are read: this program beside pandas and pyarrow, in turn, each time in a new process.

A generated CSV with categories and missing values, and Parquet of 50 float columns. The file is in the system's
cache: it is read once before every measurement. This program's time is that of loading a job: levels and fill values
are found, rows are encoded and hashed. The clock of the others starts when their modules are imported.
"""

import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

PROGRAM = "build/release/meanwhile"
RUNS = 9


def ours(path, folder, *flags):
    words = [PROGRAM, "train", "kmeans", path, *flags, "--n-clusters", "1", "--max-iter", "1", "--init", "random",
             "--n-init", "1", "--json", "--quiet", "--out", folder / "run"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["seconds"]["load"]


def theirs(path, modules, expression):
    code = (f"import time, {modules}\npath = {str(path)!r}\nbegin = time.perf_counter()\nx = {expression}\n"
            "print(time.perf_counter() - begin)")
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def compare(title, path, readers, megabytes):
    seconds = {name: [] for name in readers}
    for _ in range(RUNS):
        for name, read in readers.items():
            path.read_bytes()
            seconds[name].append(read())
    print(f"\n{title}\n\n| reader | MB/s, best | MB/s, median |\n|---|---|---|")
    for name, taken in seconds.items():
        print(f"| {name} | {megabytes / min(taken):.0f} | {megabytes / statistics.median(taken):.0f} |", flush=True)


def csv(rows):
    draw = random.Random(1)
    jobs = ["clerk", "sales manager", "technical support", "farming", "executive", "protective services"]
    lines = []
    for _ in range(100_000):
        cells = [f"{draw.uniform(0, 100):.3f}" for _ in range(8)]
        if draw.random() < 0.05:
            cells[2] = ""
        cells += [draw.choice(jobs), draw.choice(["NY", "CA", "TX", "WA", "FL"]),
                  draw.choice(["yes", "no"]), str(draw.randint(0, 100_000))]
        lines.append(",".join(cells))
    text = "\n".join(lines) + "\n"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "big.csv"
        with open(path, "w") as file:
            file.write("a,b,c,d,e,f,g,h,job,state,ok,n\n")
            for _ in range(max(1, rows // 100_000)):
                file.write(text)
        size = path.stat().st_size / 1e6
        readers = {
            "this program (levels, means, encoded rows, hash)": lambda: ours(path, folder, "--missing", "mean"),
            "pandas": lambda: theirs(path, "pandas", "pandas.read_csv(path)"),
            "pandas, engine pyarrow": lambda: theirs(path, "pandas, pyarrow.csv",
                                                     "pandas.read_csv(path, engine='pyarrow')"),
            "pyarrow": lambda: theirs(path, "pyarrow.csv", "pyarrow.csv.read_csv(path)")}
        compare(f"{size:.0f} MB of CSV: 8 numbers, 2 categories, a truth value, an integer; 5 % of a column missing",
                path, readers, size)


def parquet(rows):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet
    draw = np.random.default_rng(1)
    kinds = {"float32, drawn": lambda: draw.standard_normal(rows, dtype=np.float32),
             "float64 of two decimals": lambda: np.round(draw.uniform(0, 100, rows), 2)}
    for kind, column in kinds.items():
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            path = folder / "x.parquet"
            pa.parquet.write_table(pa.table({f"c{i}": column() for i in range(50)}), path)
            readers = {
                "this program (float32 rows, hash)": lambda: ours(path, folder),
                "pyarrow (columns)": lambda: theirs(path, "pyarrow.parquet", "pyarrow.parquet.read_table(path)"),
                "pyarrow, then rows by NumPy": lambda: theirs(
                    path, "numpy, pyarrow.parquet",
                    "numpy.column_stack([c.to_numpy() for c in pyarrow.parquet.read_table(path).columns])")}
            compare(f"Parquet of {rows} x 50 {kind}; MB of float32 values", path, readers, rows * 50 * 4 / 1e6)
