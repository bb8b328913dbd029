#!/usr/bin/env python3
"""Implicit ALS against `implicit`: time to the same objective, and counts a second and pass.

    bench/factorize/als.py PROGRAM [--factors 64] [--ratings 2000000] [--passes 15] [--threads 1] [--repeat 3]

Both get the same counts, penalty, confidences and steps of conjugate gradient, in turn. `--passes` are those of
implicit (15 are its default); Meanwhile makes the fewest whose model is as good, which are found first. Seconds are
those of training alone: reading and preparing are outside the clock for both. The objective of both models is computed
here, from their factors, over all pairs. Needs numpy, scipy and implicit.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # as implicit advises

import numpy as np  # noqa: E402
import scipy.sparse  # noqa: E402


def counts(users, items, size, seed):
    draw = np.random.default_rng(seed)
    of_users, of_items = draw.lognormal(0, 1.1, users), draw.lognormal(0, 1.5, items)
    pairs = (draw.choice(users, int(1.2 * size), p=of_users / of_users.sum()).astype(np.int64) * items
             + draw.choice(items, int(1.2 * size), p=of_items / of_items.sum()))
    pairs = draw.permutation(np.unique(pairs))[:size]
    values = 1 + draw.poisson(1.5, len(pairs))
    return scipy.sparse.csr_matrix((values.astype(np.float32), (pairs // items, pairs % items)), shape=(users, items))


def objective(x, y, rows, alpha, l2):
    x, y = x.astype(np.float64), y.astype(np.float64)
    total = np.sum((x.T @ x) * (y.T @ y)) + l2 * (np.sum(x * x) + np.sum(y * y))
    user = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    for begin in range(0, rows.nnz, 1 << 18):
        part = slice(begin, begin + (1 << 18))
        s = np.einsum("nk,nk->n", x[user[part]], y[rows.indices[part]])
        c = 1 + alpha * rows.data[part].astype(np.float64)
        total += np.sum(c * (1 - s) ** 2 - s * s)
    return total / rows.nnz


def tensors(path):
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + length])
    def one(name):
        begin, end = header[name]["data_offsets"]
        return np.frombuffer(raw, np.float32, (end - begin) // 4, 8 + length + begin).reshape(header[name]["shape"])
    return one("user_factors"), one("item_factors")


def ours(args, folder, passes):
    run = folder / "run"
    subprocess.run(["rm", "-rf", run], check=True)
    done = json.loads(subprocess.run(
        [args.program, "train", "factorize", folder / "counts.mtx", "--feedback", "implicit", "--n-factors",
         str(args.factors), "--l2", str(args.l2), "--alpha", str(args.alpha), "--max-iter", str(passes), "--tol",
         "0", "--threads", str(args.threads), "--out", run, "--json", "--quiet"],
        check=True, capture_output=True, text=True).stdout)
    return done["seconds"]["train"], tensors(run / "model.safetensors")


def peer(args, rows):
    from implicit.cpu.als import AlternatingLeastSquares
    model = AlternatingLeastSquares(factors=args.factors, regularization=args.l2, alpha=1.0, iterations=args.passes,
                                    num_threads=args.threads, random_state=1)
    confidence = rows.copy()
    confidence.data = 1 + args.alpha * confidence.data
    start = time.perf_counter()
    model.fit(confidence, show_progress=False)
    return time.perf_counter() - start, (np.asarray(model.user_factors), np.asarray(model.item_factors))


def passes_to(target, args, folder, rows):
    least, most = 1, 2 * args.passes
    while least < most:
        middle = (least + most) // 2
        if objective(*ours(args, folder, middle)[1], rows, args.alpha, args.l2) <= target:
            most = middle
        else:
            least = middle + 1
    return least


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    for name, preset in (("factors", 64), ("ratings", 2_000_000), ("users", 24_000), ("items", 6_000), ("passes", 15),
                         ("threads", 1), ("repeat", 3)):
        parser.add_argument(f"--{name}", type=int, default=preset)
    parser.add_argument("--l2", type=float, default=0.05)
    parser.add_argument("--alpha", type=float, default=2.0)
    args = parser.parse_args()
    rows = counts(args.users, args.items, args.ratings, 1)
    seconds = {"meanwhile": [], "implicit": []}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        coo = rows.tocoo()
        with open(folder / "counts.mtx", "w", encoding="ascii") as file:
            file.write(f"%%MatrixMarket matrix coordinate integer general\n{rows.shape[0]} {rows.shape[1]} {rows.nnz}\n")
            np.savetxt(file, np.column_stack([coo.row + 1, coo.col + 1, coo.data.astype(int)]), fmt="%d")
        target = objective(*peer(args, rows)[1], rows, args.alpha, args.l2)
        passes = {"meanwhile": passes_to(target, args, folder, rows), "implicit": args.passes}
        for _ in range(args.repeat):
            took, mine = ours(args, folder, passes["meanwhile"])
            seconds["meanwhile"].append(took)
            seconds["implicit"].append(peer(args, rows)[0])
    reached = {"meanwhile": objective(*mine, rows, args.alpha, args.l2), "implicit": target}
    print(f"implicit ALS, {rows.nnz} counts of {rows.shape[1]} items by {rows.shape[0]} users, {args.factors} factors, "
          f"{args.threads} thread(s), medians of {args.repeat}")
    print(f"{'':12}{'passes':>8}{'seconds':>9}{'M counts / s and pass':>24}{'objective':>12}  turns")
    middle = {who: statistics.median(turns) for who, turns in seconds.items()}
    for who, turns in seconds.items():
        rate = rows.nnz * passes[who] / middle[who] / args.threads / 1e6
        print(f"{who:12}{passes[who]:8}{middle[who]:9.3f}{rate:24.2f}{reached[who]:12.6f}  "
              + ", ".join(f"{turn:.3f}" for turn in turns))
    to_same = middle["implicit"] / middle["meanwhile"]
    a_pass = to_same * passes["meanwhile"] / passes["implicit"]
    print(f"to the same objective {to_same:.2f}x, a pass {a_pass:.2f}x")


if __name__ == "__main__":
    main()
