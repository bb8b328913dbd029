"""Linear models with L1 beside their peers: seconds until the duality gap is small.

    bench/lasso/lasso.sh reviews.libsvm.gz [--only lasso] [--repeat 5]

Values become log(1 + count) and columns get a mean square of 1, in float32, for all alike; no intercept, no L2.
Every contestant trains on data in memory: reading is outside of the clocks. What it ends with is a vector of
weights, of which one scorer in float64 makes the duality gap over the objective without weights. A contestant
has tolerances; the first turn tries them until one reaches the goal, and that one is repeated, in alternation.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time
import warnings

import numpy as np
import scipy.sparse as sp

PROGRAM = os.environ.get("MEANWHILE", "build/release/meanwhile")
TOLERANCES = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8]


def prepared(path, folder):
    from sklearn.datasets import load_svmlight_file
    x, y = load_svmlight_file(str(path))
    y = np.where(y == y.max(), 1.0, -1.0)
    x.data = np.log1p(x.data)
    norms = np.sqrt(np.asarray(x.multiply(x).sum(0)).ravel() / len(y))
    norms[norms == 0] = 1
    x = (x @ sp.diags(1 / norms)).tocsr()
    x.sort_indices()
    x.data = x.data.astype(np.float32).astype(np.float64)
    file = folder / "rows.libsvm"
    with open(file, "w") as out:
        for i, label in enumerate(y):
            row = slice(x.indptr[i], x.indptr[i + 1])
            cells = (f"{j + 1}:{np.float32(v)!s}" for j, v in zip(x.indices[row], x.data[row]))
            out.write(f"{label:g} {' '.join(cells)}\n")
    return x.tocsc(), y, file


# --- the scorer: primal, dual and the largest penalty, from weights alone ---

def loss_of(kind, z, y):
    if kind == "lasso":
        return 0.5 * (z - y)**2, y - z
    if kind == "logistic":
        return np.logaddexp(0, -y * z), y / (1 + np.exp(y * z))
    return np.maximum(0, 1 - y * z)**2, 2 * y * np.maximum(0, 1 - y * z)


def dual_of(kind, theta, y):
    if kind == "lasso":
        return theta * y - 0.5 * theta**2
    u = y * theta
    if kind == "logistic":
        inside = np.clip(u, 1e-300, 1 - 1e-16)
        return -(inside * np.log(inside) + (1 - inside) * np.log1p(-inside))
    return u - u**2 / 4


def score(kind, x, y, l1, w):
    """Objective and relative gap."""
    n = len(y)
    loss, theta = loss_of(kind, x @ w, y)
    primal = loss.mean() + l1 * np.abs(w).sum()
    scale = min(1, l1 / max(np.abs(x.T @ theta).max() / n, 1e-300))
    null = loss_of(kind, np.zeros(n), y)[0].mean()
    return primal, (primal - dual_of(kind, scale * theta, y).mean()) / null


def largest(kind, x, y):
    return np.abs(x.T @ loss_of(kind, np.zeros(len(y)), y)[1]).max() / len(y)


# --- contestants: (tolerance) -> (seconds, weights) ---

LEARNERS = {"lasso": "linear", "logistic": "logistic", "hinge": "svm --loss squared_hinge"}


def ours(kind, file, flags, folder):
    from safetensors.numpy import load_file

    def run(tol):
        out = pathlib.Path(tempfile.mkdtemp(dir=folder)) / "run"
        words = f"{PROGRAM} train {LEARNERS[kind]} {file} {flags} --l2 0 --no-fit-intercept --threads 2 --quiet --tol {tol} --out {out} --json"
        said = json.loads(subprocess.run(words.split(), check=True, capture_output=True, text=True).stdout)
        return json.loads((out / "run.json").read_text())["seconds"]["train"], load_file(out / "model.safetensors")["weights"].ravel(), said
    return run


def timed(fit):
    def run(tol):
        begin = time.perf_counter()
        w = fit(tol)
        return time.perf_counter() - begin, w, None
    return run


def contestants(kind, x, y, file, l1, folder):
    n = len(y)
    makes = {"meanwhile": ours(kind, file, f"--solver working-set --l1 {l1!r}", folder)}
    if kind == "lasso":
        from celer import Lasso
        makes["celer"] = timed(lambda tol: Lasso(alpha=l1, tol=tol, fit_intercept=False).fit(x, y).coef_)
    elif kind == "logistic":
        from celer import LogisticRegression
        makes["celer"] = timed(lambda tol: LogisticRegression(C=1 / (n * l1), tol=tol, fit_intercept=False).fit(x, y).coef_.ravel())
        from sklearn.linear_model import LogisticRegression as Liblinear
        rows = x.tocsr()
        makes["liblinear -s 6"] = timed(lambda tol: Liblinear(l1_ratio=1, solver="liblinear", C=1 / (n * l1), tol=tol, fit_intercept=False, max_iter=1000).fit(rows, y).coef_.ravel())
    else:
        from sklearn.svm import LinearSVC
        rows = x.tocsr()
        makes["liblinear -s 5"] = timed(lambda tol: LinearSVC(penalty="l1", dual=False, C=1 / (n * l1), tol=tol, fit_intercept=False, max_iter=1000).fit(rows, y).coef_.ravel())
    return makes


def compare(kind, x, y, file, args, folder):
    l1 = float(largest(kind, x, y)) / args.part
    makes, settings = contestants(kind, x, y, file, l1, folder), {}
    for name, make in makes.items():
        for tol in TOLERANCES:
            seconds, w, _ = make(tol)
            objective, gap = score(kind, x, y, l1, w)
            if gap <= args.gap:
                settings[name] = tol
                break
            if seconds > 60:
                break
    points = {name: [] for name in settings}
    for _ in range(args.repeat):
        for name, tol in settings.items():
            seconds, w, _ = makes[name](tol)
            points[name].append((seconds, *score(kind, x, y, l1, w), np.count_nonzero(w)))
    print(f"\n{kind}, the largest penalty over {args.part:g}, relative gap {args.gap:g}: seconds of training\n")
    print("| program | tol | min s | median s | objective | relative gap | weights | over ours |\n|" + "---|" * 8)
    mine = min(p[0] for p in points["meanwhile"])
    for name, found in points.items():
        times = [p[0] for p in found]
        _, objective, gap, nonzeros = found[-1]
        print(f"| {name} | {settings[name]:g} | {min(times):.3f} | {statistics.median(times):.3f} | {objective:.9f} | {gap:.1e} | {nonzeros} | {min(times) / mine:.1f}x |", flush=True)


def path(x, y, file, args, folder):
    from sklearn.linear_model import lasso_path
    top, ratio = float(largest("lasso", x, y)), 1 / args.path_part
    alphas = top * ratio**(np.arange(100) / 99)
    goal = args.path_gap
    mine = ours("lasso", file, f"--solver working-set --path 100 --path-ratio {ratio!r}", folder)
    rows = {"meanwhile": [], "scikit-learn": []}
    worst = {}
    for _ in range(args.repeat):
        seconds, w, said = mine(goal)
        rows["meanwhile"].append(seconds)
        worst["meanwhile"] = max(max(point["gap"] for point in said["path"]) / 0.5, score("lasso", x, y, alphas[-1], w)[1]), np.count_nonzero(w)
        begin = time.perf_counter()
        # Its tolerance is a part of the mean square of the labels: half of ours.
        _, weights, _ = lasso_path(x, y, alphas=alphas, tol=goal / 2)
        rows["scikit-learn"].append(time.perf_counter() - begin)
        worst["scikit-learn"] = max(score("lasso", x, y, alphas[k], weights[:, k])[1] for k in range(9, 100, 10)), np.count_nonzero(weights[:, -1])
    print(f"\nA path of 100 penalties, the largest to 1/{args.path_part:g} of it, relative gap {goal:g}: seconds of training\n")
    print("| program | min s | median s | worst relative gap | weights at the end | over ours |\n|" + "---|" * 6)
    for name, times in rows.items():
        gap, nonzeros = worst[name]
        print(f"| {name} | {min(times):.3f} | {statistics.median(times):.3f} | {gap:.1e} | {nonzeros} | {min(times) / min(rows['meanwhile']):.1f}x |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path, help="rows with counts and two labels, libsvm text")
    parser.add_argument("--only", choices=[*LEARNERS, "path"])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--part", type=float, default=20, help="the largest penalty is divided by this")
    parser.add_argument("--gap", type=float, default=1e-5)
    parser.add_argument("--path-part", type=float, default=20)
    parser.add_argument("--path-gap", type=float, default=1e-4)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        x, y, file = prepared(args.file, folder)
        for kind in LEARNERS:
            if args.only in (None, kind):
                compare(kind, x, y, file, args, folder)
        if args.only in (None, "path"):
            path(x, y, file, args, folder)


if __name__ == "__main__":
    main()
