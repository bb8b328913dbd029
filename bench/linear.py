"""Linear models: what averaging models saves in steps, how fast a pass is, and who is soonest near the optimum.

Prints one table for each question. Optima come from bench/reference_optimum.cc, proved to 1e-8; objectives
of weights from the scorer of bench/linear_peers.py, never from the program that is measured.
"""

import argparse
import importlib.metadata
import json
import math
import os
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np

import linear_peers as peers

PROGRAM = os.environ.get("MEANWHILE", "build/release/meanwhile")
REFERENCE = os.environ.get("REFERENCE_OPTIMUM", "build/release/bench/reference_optimum")
GENERATE = os.environ.get("GENERATE_SPARSE", "build/release/bench/generate_sparse")
WORKERS = 2
RATES = [round(10**(k / 2), 4) for k in range(-4, 7)]  # the same for models and gradients
LIMIT = 20  # seconds, of one training in the search for the best rate


def generated(name, rows, features):
    path = peers.CACHE / f"{name}.libsvm"
    if not path.exists():
        peers.CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run([GENERATE, "--rows", str(rows), "--features", str(features), "--out", path], check=True)
    return path


def train(path, l2, flags, folder):
    """Metrics of the rounds, and the weights."""
    from safetensors.numpy import load_file
    out = folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run([PROGRAM, "train", "svm", path, "--l2", repr(l2), "--no-fit-intercept", "--out", out, "--quiet", *flags],
                          stderr=subprocess.PIPE, text=True, timeout=10 * LIMIT)
    if done.returncode != 0:  # a rate that diverges is one that did not get there
        return [], None, done.stderr
    rounds = [r for r in map(json.loads, open(out / "metrics.jsonl")) if "round" in r]
    return rounds, load_file(out / "model.safetensors")["weights"].reshape(-1).astype(np.float64), ""


def table(head, rows):
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


# --- communication steps until the objective is within 0.01 of the optimum ---

def steps_of(path, l2, flags, rates, score, target, folder):
    """The fewest rounds over all rates, as (rounds, rate, objective), or None. The score is asked again after
    a training of just that many rounds, for what the rounds report may be of a sample."""
    found = []
    for rate in rates:
        tried = [*flags, "--solver", "sgd", "--learning-rate", str(rate), "--tol", "0", "--threads", str(WORKERS)]
        # The training rows are the held-out ones, too: so each round tells the loss of the model it began with.
        rounds, _, _ = train(path, l2, [*tried, "--eval", path, "--patience", "1000000", "--time-limit", str(LIMIT)], folder)
        first = next((r["round"] - 1 for r in rounds if r["round"] > 1 and r["held_out_loss"] + r["penalty"] <= target), None)
        if first:
            found.append((first, rate, tried))
    for first, rate, tried in sorted(found, key=lambda f: f[0]):
        for more in (1, 1.1, 1.25, 1.5, 2):
            count = math.ceil(first * more)
            _, weights, _ = train(path, l2, [*tried, "--max-iter", str(count)], folder)
            if weights is not None and (objective := score(weights)) <= target:
                return count, rate, objective
    return None


def steps(sets, folder):
    rows = []
    for name, path, l2 in sets:
        optimum = peers.optimum_of(path, "hinge", l2, REFERENCE)["optimum"]
        score = peers.Scorer(path, "hinge", l2)
        target = optimum + peers.ABSOLUTE
        for adaptive in ("--no-adaptive",):
            model = steps_of(path, l2, ["--send", "model", "--max-iter", "100", adaptive], RATES, score, target, folder)
            gradients = []
            for fraction in ("0.01", "0.1"):
                flags = ["--send", "gradient", "--max-iter", "1000", "--batch-fraction", fraction, adaptive]
                if best := steps_of(path, l2, flags, RATES, score, target, folder):
                    gradients.append((*best, fraction))
            gradient = min(gradients, default=None)
            say = lambda best: "not reached" if best is None else f"{best[0]} (rate {best[1]:g}{', batch ' + best[3] if len(best) > 3 else ''})"
            ratio = "" if model is None else f"> {1000 / model[0]:.0f}x" if gradient is None else f"{gradient[0] / model[0]:.0f}x"
            rows.append([name, f"{l2:g}", f"{optimum:.6f}", adaptive[2:], say(model), say(gradient), ratio])
    print("\nCommunication steps to within 0.01 of the optimum, the best of the same rates (and of two batch fractions for gradients)")
    table(["data", "l2", "optimum", "rates", "send model", "send gradient", "fewer"], rows)


# --- seconds, file to weights, beside the peers ---

OURS = ["", *(f"--solver lbfgs --max-iter {k}" for k in (7, 8, 9, 11)), "--solver hybrid --max-iter 9", "--solver lbfgs --tol 1e-5", "--solver lbfgs --tol 5e-6 --max-iter 1000"]


def times(path, loss, l2, repeat, skip_ours, out):
    optimum = peers.optimum_of(path, loss, l2, REFERENCE)
    learner = "logistic" if loss == "logistic" else f"svm --loss {loss}"
    ours = peers.Ours(f"{PROGRAM} train {learner} {{file}} --l2 {{l2}} --no-fit-intercept --threads {WORKERS} --out {{out}} --quiet", OURS)
    with open(out, "a") as lines:
        points = peers.compare(path, loss, l2, optimum["optimum"], repeat, None if skip_ours else ours,
                               report=lambda point: print(json.dumps(point), file=lines, flush=True))
    print(f"\n{loss}, l2 {l2:g}: optimum {optimum['optimum']:.8f}, proved to {optimum['gap']:.0e} in {optimum['seconds']:.0f} s")
    for goal, words in (("absolute", f"within {peers.ABSOLUTE} of the optimum"), ("relative", f"within {peers.RELATIVE:g} of it, relative")):
        rows, best = [], peers.summary(points, goal, optimum["optimum"])
        mine = best.get("meanwhile")
        seconds = lambda row: [f"{row['min']:.2f}", f"{row['median']:.2f}", f"{row['cpu']:.2f}", f"{row['objective']:.6f}"]
        over = lambda row: f"{row['min'] / mine['min']:.1f}x" if mine else ""
        for system, row in best.items():
            if row is None:
                nearest = min((p for p in points if p["system"] == system), key=lambda p: p["objective"])
                rows.append([system, "not reached", f"{nearest['seconds']:.2f}", "", f"{nearest['cpu_seconds']:.2f}", f"{nearest['objective']:.6g}", ""])
                continue
            passes = "" if row["passes"] is None else f", passes {row['passes']}"
            rows.append([system, row["setting"] + passes, *seconds(row), over(row)])
        for peer in map(peers.Liblinear, peers.Liblinear.SOLVERS[loss]):
            if same := [p for p in points if p["system"] == peer.name and p["setting"] == peer.as_it_comes]:
                row = peers.seconds_of(same)
                rows.append([peer.name, f"{peer.as_it_comes}, its default", *seconds(row), over(row)])
        print(f"\nSeconds from the file to weights {words}")
        table(["system", "setting", "min s", "median s", "CPU s", "objective", "over ours"], rows)
    return points


# --- nonzeros a second of one pass of SGD ---

def speed(path, l2, points, folder):
    score = peers.Scorer(path, "hinge", l2)
    rows, stored = [], score.x.nnz
    for adaptive in ("--no-adaptive", "--adaptive"):
        rates = {}
        for workers in (1, 2):
            rounds, _, error = train(path, l2, ["--solver", "sgd", "--send", "model", "--max-iter", "6", "--tol", "0", adaptive,
                                                "--learning-rate", "0.1", "--threads", str(workers)], folder)
            if not rounds:
                raise SystemExit(error)
            rates[workers] = stored / min(r["seconds"] for r in rounds) / 1e6
        rows.append([f"meanwhile {adaptive}", f"{rates[1]:.0f}", f"{rates[2]:.0f}", f"{rates[2] / rates[1]:.2f}x"])
    sgd = [p for p in points if p["system"] == peers.SgdClassifier.name and p["setting"] == "optimal"]
    between = [b["seconds"] - a["seconds"] for a, b in zip(sgd, sgd[1:]) if a["turn"] == b["turn"]]
    if between:
        rows.append(["scikit-learn SGDClassifier", f"{stored / min(between) / 1e6:.0f}", "", ""])
    print("\nOne pass of SGD, million nonzeros a second")
    table(["system", "one worker", "two workers", "ratio"], rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=pathlib.Path, help="libsvm file; default: 1 M rows x 1 M features x 30, generated")
    parser.add_argument("--real", type=pathlib.Path, help="folder with rcv1-subset, imdb-reviews, a9a; without it these are left out")
    parser.add_argument("--l2", type=float, default=1e-6)
    parser.add_argument("--loss", action="append", choices=peers.LOSSES, help="of the comparison with peers; default: hinge")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=("steps", "times", "speed"))
    parser.add_argument("--peers-only", action="store_true")
    parser.add_argument("--out", default=str(peers.CACHE / "linear.jsonl"), help="all points, as JSON lines")
    arguments = parser.parse_args()
    print("  ".join(f"{p} {importlib.metadata.version(p)}" for p in ("numpy", "scipy", "scikit-learn", "vowpalwabbit")))
    path = arguments.data or generated("big", 1_000_000, 1_000_000)
    pathlib.Path(arguments.out).parent.mkdir(parents=True, exist_ok=True)
    points = []
    with tempfile.TemporaryDirectory(prefix="meanwhile-bench-") as name:
        folder = pathlib.Path(name)
        if arguments.only in (None, "steps") and not arguments.peers_only:
            sets = [("generated 200,000 x 200,000", generated("medium", 200_000, 200_000), 1e-5)]
            for title, file, l2 in (("rcv1 subset", "rcv1-subset/rcv1_small_train.svm.gz", 1e-4),
                                    ("imdb reviews", "imdb-reviews/imdb_train.svm.gz", 0.1), ("a9a", "a9a/a9a.gz", 1e-4)):
                if arguments.real and (arguments.real / file).exists():
                    sets.append((title, arguments.real / file, l2))
            steps(sets, folder)
        if arguments.only in (None, "times"):
            for loss in arguments.loss or ["hinge"]:
                points += times(path, loss, arguments.l2, arguments.repeat, arguments.peers_only, arguments.out)
        if arguments.only in (None, "speed") and not arguments.peers_only:
            speed(path, arguments.l2, points, folder)


if __name__ == "__main__":
    main()
