"""Two builds of the program beside each other: the same jobs in turn, old and new alternating.

A row passes when the ratio new / old of the medians and of the minima is at most 1.03, or when the 95 % interval of
the ratio of medians (bootstrap over runs) contains 1. Every pair must give the same model to the last bit. Seconds are
those of training as the program reports them (loading outside the clock), of loading, or of the whole process.
Converted data is mapped, and each program has converted its own.
"""

import argparse
import functools
import json
import pathlib
import random
import statistics
import subprocess
import sys
import time

import numpy as np

FOLDER = pathlib.Path("build/bench-versions")
LIMIT = 1.03


def kmeans_data(name, rows, cols, clusters, spread):
    path, first = FOLDER / f"{name}.npy", FOLDER / f"{name}-first.npy"
    if not first.exists():
        rng = np.random.default_rng(7)
        if spread:
            centers = rng.uniform(-2, 2, (clusters, cols))
            x = (centers[rng.integers(0, clusters, rows)] + rng.normal(size=(rows, cols))).astype(np.float32)
        else:
            x = rng.random((rows, cols), dtype=np.float32)
        np.save(path, x)
        np.save(first, x[rng.choice(rows, clusters, replace=False)])
    return f"{path} --n-clusters {clusters} --init {first} --tol 0"


def sparse_text():
    path = FOLDER / "sparse.libsvm"
    if not path.exists():
        subprocess.run(["build/release/bench/generate_sparse", "--rows", "1000000", "--features", "1000000",
                        "--nonzeros", "30", "--out", str(path)], check=True)
    return str(path)


def convert(programs, name, text):
    """Converts a file, by every program for itself. Returns the name with OF in place of the program."""
    for of, program in zip(("old", "new"), programs):
        path = FOLDER / f"{name}-{of}.safetensors"
        path.unlink(missing_ok=True)
        subprocess.run([str(program), "convert", text, str(path)], check=True)
    return str(FOLDER / f"{name}-OF.safetensors")


def mapped_table(programs):
    kmeans_data("narrow", 1_000_000, 16, 256, False)
    return convert(programs, "narrow", str(FOLDER / "narrow.npy"))


def small_table():
    path = FOLDER / "small.csv"
    if not path.exists():
        np.savetxt(path, np.random.default_rng(7).normal(size=(150, 4)), fmt="%.6g", delimiter=",")
    return f"{path} --n-clusters 3"


def table_data():
    path = FOLDER / "table.csv"
    if not path.exists():
        rng = np.random.default_rng(7)
        np.savetxt(path, rng.normal(size=(400_000, 30)), fmt="%.6g", delimiter=",")
    return f"{path} --n-clusters 2 --init random --max-iter 1"


def documents(rows, words, length):
    """Counts with Zipf's frequencies, as UCI bags of words."""
    path = FOLDER / f"docword.{rows}.txt"
    if not path.exists():
        rng = np.random.default_rng(7)
        frequency = 1 / np.arange(1, words + 1)
        drawn = rng.choice(words, (rows, length), p=frequency / frequency.sum())
        lines = []
        for document, row in enumerate(drawn, 1):
            for word, count in zip(*np.unique(row, return_counts=True)):
                lines.append(f"{document} {word + 1} {count}")
        path.write_text(f"{rows}\n{words}\n{len(lines)}\n" + "\n".join(lines) + "\n")
    return str(path)


def rows(programs):
    """(name, arguments of train, which seconds count)"""
    kmeans, svm = "kmeans {} --n-init 1", "svm {}"

    @functools.cache
    def sparse_data():
        return convert(programs, "sparse", sparse_text())

    yield "start and end of a small run", lambda: kmeans.format(small_table()), "process"
    yield "a run on mapped rows, 1,000,000 x 16", lambda: kmeans.format(
        mapped_table(programs)) + " --n-clusters 2 --init random --max-iter 1", "process"
    yield "a run on mapped sparse rows, 1M x 1M x 30", lambda: svm.format(
        sparse_data()) + " --l2 1e-6 --solver lbfgs --max-iter 1", "process"
    yield "k-means uniform 50,000 x 1,000, K=1,000", lambda: kmeans.format(
        kmeans_data("wide", 50_000, 1000, 1000, False)) + " --max-iter 10", "train"
    yield "k-means uniform 100,000 x 100, K=100", lambda: kmeans.format(
        kmeans_data("middle", 100_000, 100, 100, False)) + " --max-iter 10", "train"
    yield "k-means uniform 1,000,000 x 16, K=256", lambda: kmeans.format(
        kmeans_data("narrow", 1_000_000, 16, 256, False)) + " --max-iter 10", "train"
    yield "k-means blobs 200,000 x 64, K=100", lambda: kmeans.format(
        kmeans_data("blobs", 200_000, 64, 100, True)), "train"
    limited = " --n-clusters 20 --max-iter 1 --memory-limit 10M --init "
    yield "k-means++ beyond the memory limit, 1,000,000 x 16", lambda: kmeans.format(
        mapped_table(programs)) + limited + "k-means++", "train"
    yield "k-means|| beyond the memory limit, 1,000,000 x 16", lambda: kmeans.format(
        mapped_table(programs)) + limited + "k-means||", "train"
    wide = "1M x 1M x 30"
    yield f"svm lbfgs, {wide}", lambda: svm.format(sparse_data()) + " --l2 1e-6 --solver lbfgs --max-iter 8", "train"
    yield f"libsvm text, {wide}", lambda: svm.format(sparse_text()) + " --l2 1e-6 --solver lbfgs --max-iter 1", "load"
    yield "CSV text, 400,000 x 30", lambda: kmeans.format(table_data()), "load"
    yield f"logistic lbfgs, {wide}", lambda: f"logistic {sparse_data()} --l2 1e-6 --solver lbfgs", "train"
    yield f"svm squared hinge, {wide}", lambda: svm.format(
        sparse_data()) + " --l2 1e-6 --loss squared_hinge --solver lbfgs", "train"
    yield f"svm averaged models, {wide}", lambda: svm.format(
        sparse_data()) + " --l2 1e-6 --solver sgd --learning-rate 0.1 --max-iter 3", "train"
    yield f"svm adaptive, {wide}", lambda: svm.format(
        sparse_data()) + " --l2 1e-6 --solver sgd --adaptive --learning-rate 0.1 --max-iter 2", "train"
    yield f"svm sampled gradients, {wide}", lambda: svm.format(
        sparse_data()) + " --l2 1e-6 --solver sgd --send gradient --batch-fraction 0.01 --learning-rate 1 --max-iter 30", "train"
    yield f"svm gradients of 1,000 rows, {wide}", lambda: svm.format(
        sparse_data()) + " --l2 1e-6 --solver sgd --send gradient --batch-fraction 0.001 --learning-rate 1 --max-iter 30", "train"
    lda = "lda {} --n-topics 100 --tol 0 --no-learn-alpha"
    yield "LDA, 10,000 documents, rounds of 1,250", lambda: lda.format(
        documents(10_000, 20_000, 150)) + " --passes 1", "train"
    yield "LDA, 10,000 documents, rounds of 128", lambda: lda.format(
        documents(10_000, 20_000, 150)) + " --passes 1 --batch-size 128", "train"
    yield "k-means at a directory store, 200,000 x 64, K=450", lambda: kmeans.format(
        kmeans_data("store", 200_000, 64, 450, True)) + " --max-iter 15 --store STORE --runtime storage", "train"


def measure(program, of, arguments, which, turn):
    store = FOLDER / f"store-{turn}"
    words = arguments.replace("STORE", str(store)).replace("-OF.", f"-{of}.").split()
    command = [str(program), "train", *words, "--seed", "7", "--shards", "8",
               "--json", "--quiet", "--out", str(FOLDER / "run")]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    process_s = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    result = json.loads(done.stdout)
    for old in FOLDER.glob("run.*"):  # runs that were moved aside
        subprocess.run(["rm", "-rf", str(old)], check=True)
    return process_s if which == "process" else result["seconds"][which], result["model_sha256"]


def interval(old, new):
    """Of the ratio of medians: 95 %, by bootstrap over runs."""
    draws = random.Random(7)
    ratios = sorted(statistics.median(draws.choices(new, k=len(new))) / statistics.median(draws.choices(old, k=len(old)))
                    for _ in range(2000))
    return ratios[49], ratios[1949]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    failed = 0
    print("| row | old, median s | new / old: medians | minima | 95 % interval | same model | |")
    print("|---|---|---|---|---|---|---|")
    programs = arguments.old.resolve(), arguments.new.resolve()
    for name, flags, which in rows(programs):
        if arguments.only not in name:
            continue
        what, times, models = flags(), ([], []), set()
        for pair in range(arguments.pairs + 1):  # the first pair warms the files up
            order = (0, 1) if pair % 2 == 0 else (1, 0)
            for i in order:
                seconds, model = measure(programs[i], ("old", "new")[i], what, which, pair)
                models.add(model)
                if pair > 0:
                    times[i].append(seconds)
        medians = statistics.median(times[1]) / statistics.median(times[0])
        minima = min(times[1]) / min(times[0])
        low, high = interval(*times)
        passed = (max(medians, minima) <= LIMIT or low <= 1 <= high) and len(models) == 1
        failed += not passed
        print(f"| {name} | {statistics.median(times[0]):.4g} | {medians:.3f} | {minima:.3f} | {low:.3f} to {high:.3f} | "
              f"{'yes' if len(models) == 1 else 'NO'} | {'' if passed else 'slower'} |", flush=True)
    sys.exit(1 if failed else 0)


main()
