#!/usr/bin/env python3
"""Nine penalties on five folds: 'meanwhile tune logistic' beside GridSearchCV(LogisticRegression).

Both sides get the same rows, folds and penalties, and two cores. The program deals the folds and writes
them to a file; scikit-learn reads it (PredefinedSplit). C of scikit-learn is 1 / (l2 x rows learned
from). Each side chooses by mean accuracy and learns its choice again from all rows. Clocks begin when the
rows are in memory: imports and reading count for neither. Sides alternate; each run is a process.

On a busy machine compare the time of processors: of scikit-learn without that of a process which imports
and reads alone, of the program with its reading.

    bench/tune.sh FILE...            files of libsvm rows, .gz or not
    bench/tune.sh --repeat 2 FILE    (default 3)
    bench/tune.sh --program build/release/meanwhile

Without files, made-up rows are compared. One line of JSON for each file, then a table.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

CHOICES = [10.0**power for power in range(-4, 5)]  # C of scikit-learn
FOLDS = 5
TIMEOUT = 3600  # seconds, of one run


def read(path):
    from sklearn.datasets import load_svmlight_file
    return load_svmlight_file(str(path))


def peer(path, folds, jobs):
    """One run of scikit-learn, in this process; without jobs imports and reading alone."""
    import warnings
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, PredefinedSplit
    warnings.simplefilter("ignore")  # "lbfgs failed to converge": its default of 100 iterations
    x, y = read(path)
    if jobs == 0:
        return
    split = PredefinedSplit(np.loadtxt(folds, dtype=int))
    search = GridSearchCV(LogisticRegression(), {"C": CHOICES}, cv=split, n_jobs=jobs)
    begin = time.perf_counter()
    search.fit(x, y)
    seconds = time.perf_counter() - begin
    scores = [float(score) for score in search.cv_results_["mean_test_score"]]
    print(json.dumps({"seconds": seconds, "best": float(search.best_score_), "scores": scores,
                      "C": float(search.best_params_["C"])}))


def processors(run, *words):
    """The result of a run, and the time of processors that its processes took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = run(*words)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return result, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ours(program, path, rows, folder, threads):
    learned = rows * (FOLDS - 1) / FOLDS
    penalties = ",".join(f"{1 / (c * learned):.12g}" for c in CHOICES)
    done = subprocess.run([program, "tune", "logistic", str(path), "--l2", penalties, "--folds", str(FOLDS),
                           "--threads", str(threads), "--fold-file", f"{folder}/folds.txt", "--out", f"{folder}/run",
                           "--json", "--quiet"], capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode != 0:
        sys.exit(done.stderr)
    result = json.loads(done.stdout)
    candidates = result["candidates"]
    return {"seconds": result["seconds"]["tune"] + result["run"]["seconds"]["train"],
            "best": candidates[result["best"]]["score"], "scores": [c["score"] for c in candidates],
            "C": CHOICES[result["best"]], "rounds": [c["rounds"] for c in candidates]}


def theirs(path, folder, threads):
    done = subprocess.run([sys.executable, __file__, "--peer", str(path), f"{folder}/folds.txt", str(threads)],
                          capture_output=True, text=True, timeout=TIMEOUT, env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout) if threads > 0 else None


def compare(program, path, repeat, threads):
    x, _ = read(path)
    rows = x.shape[0]
    with tempfile.TemporaryDirectory() as folder:
        turns, busy = [], []
        for _ in range(repeat):
            mine, my_time = processors(ours, program, path, rows, folder, threads)
            other, their_time = processors(theirs, path, folder, threads)
            turns.append((mine, other))
            busy.append((my_time, their_time - processors(theirs, path, folder, 0)[1]))
    mine, other = turns[0]
    row = {"file": pathlib.Path(path).name, "rows": rows, "cols": x.shape[1], "stored": int(x.nnz),
           "ours_s": statistics.median(turn[0]["seconds"] for turn in turns),
           "theirs_s": statistics.median(turn[1]["seconds"] for turn in turns),
           "processors": busy, "processors_ratio": statistics.median(other / mine for mine, other in busy),
           "ratios": [turn[1]["seconds"] / turn[0]["seconds"] for turn in turns],
           "ours_best": mine["best"], "theirs_best": other["best"], "ours_C": mine["C"], "theirs_C": other["C"],
           "ours_scores": mine["scores"], "theirs_scores": other["scores"], "rounds": mine["rounds"]}
    row["ratio"] = statistics.median(row["ratios"])
    print(json.dumps(row), flush=True)
    return row


def made_up(folder):
    """Sparse rows of two classes, for a run without files."""
    import numpy as np
    draw = np.random.default_rng(7)
    weights = draw.normal(size=2000)
    path = pathlib.Path(folder) / "made_up.libsvm"
    with path.open("w") as file:
        for _ in range(20_000):
            columns = np.unique(draw.integers(0, 2000, 30))
            label = 1 if weights[columns].sum() + draw.normal() * 3 > 0 else -1
            file.write(f"{label} " + " ".join(f"{c + 1}:1" for c in columns) + "\n")
    return path


def main():
    if sys.argv[1:2] == ["--peer"]:
        return peer(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--program", default="build/release/meanwhile")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = given.files or [made_up(folder)]
        rows = [compare(given.program, path, given.repeat, given.threads) for path in files]
    print(f"\n{'file':24} {'ours s':>9} {'theirs s':>9} {'ratio':>6} {'processors':>10} {'ours':>8} {'theirs':>8} {'difference':>10}")
    for row in rows:
        print(f"{row['file']:24} {row['ours_s']:9.2f} {row['theirs_s']:9.2f} {row['ratio']:6.1f} {row['processors_ratio']:10.1f} {row['ours_best']:8.4f} "
              f"{row['theirs_best']:8.4f} {row['ours_best'] - row['theirs_best']:+10.4f}")


if __name__ == "__main__":
    main()
