"""k-means beside its peers, at equal work.

Same data, same first centres, same number of rounds, two threads, loading outside the clock. Every
run is a process of its own, and the systems take turns, so that a slow minute of the machine hits
all alike. The centres each run ends with are scored by one independent float64 scorer; a run whose
inertia is not that of the others to 1e-5 is marked.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

PROGRAM = pathlib.Path(os.environ.get("MEANWHILE", "build/release/meanwhile"))
THREADS = 2


def uniform(rows, cols, rng):
    return rng.random((rows, cols), dtype=np.float32)


def blobs(rows, cols, rng, clusters=100):
    # Near enough to each other that rows drawn as first centres leave no cluster empty: what to do
    # with an empty one is where the systems differ, and then there is no equal inertia.
    centers = rng.uniform(-2, 2, (clusters, cols))
    return (centers[rng.integers(0, clusters, rows)] + rng.normal(size=(rows, cols))).astype(np.float32)


# name: data, clusters, rounds (None: to convergence)
SHAPES = {
    "50,000 x 1,000, K=1,000": (lambda rng: uniform(50_000, 1000, rng), 1000, 10),
    "100,000 x 100, K=100": (lambda rng: uniform(100_000, 100, rng), 100, 10),
    "1,000,000 x 16, K=256": (lambda rng: uniform(1_000_000, 16, rng), 256, 10),
    "blobs 200,000 x 64, K=100": (lambda rng: blobs(200_000, 64, rng), 100, None),
}


def inertia(x, centers):
    """Of the rows' nearest centres, in float64, in blocks."""
    centers = centers.astype(np.float64)
    total = 0.0
    for begin in range(0, len(x), 2000):
        block = x[begin:begin + 2000].astype(np.float64)
        nearest = (-2 * block @ centers.T + (centers**2).sum(1)).argmin(1)
        total += ((block - centers[nearest])**2).sum()
    return total


# --- one run of one peer, in a process of its own: prints {"seconds", "rounds"}, saves the centres ---

def run_sklearn(x, first, rounds, algorithm):
    from sklearn.cluster import KMeans
    model = KMeans(len(first), init=first, n_init=1, max_iter=rounds or 300, tol=0, algorithm=algorithm)
    begin = time.perf_counter()
    model.fit(x)
    return time.perf_counter() - begin, model.cluster_centers_, model.n_iter_


def run_intelex(x, first, rounds):
    from sklearnex import patch_sklearn
    patch_sklearn(verbose=False)
    return run_sklearn(x, first, rounds, "lloyd")


def run_faiss(x, first, rounds):
    import faiss
    faiss.omp_set_num_threads(THREADS)
    model = faiss.Kmeans(x.shape[1], len(first), niter=rounds, max_points_per_centroid=len(x))
    begin = time.perf_counter()
    model.train(x, init_centroids=first)
    return time.perf_counter() - begin, model.centroids, rounds


PEERS = {
    "scikit-learn Lloyd": lambda *a: run_sklearn(*a, "lloyd"),
    "scikit-learn Elkan": lambda *a: run_sklearn(*a, "elkan"),
    "scikit-learn-intelex": run_intelex,
    "faiss-cpu": run_faiss,
}


def worker(peer, data, first, rounds, out):
    import warnings
    warnings.filterwarnings("ignore")
    x, first = np.load(data), np.load(first)
    seconds, centers, rounds = PEERS[peer](x, first, rounds)
    np.save(out, np.asarray(centers).reshape(first.shape))
    print(json.dumps({"seconds": seconds, "rounds": int(rounds)}))


# --- the comparison ---

def run_peer(peer, data, first, rounds, folder):
    out = folder / "peer.npy"
    environment = dict(os.environ, OMP_NUM_THREADS=str(THREADS), OPENBLAS_NUM_THREADS=str(THREADS))
    done = subprocess.run([sys.executable, __file__, "--worker", peer, str(data), str(first), str(rounds or 0), str(out)],
                          env=environment, check=True, capture_output=True, text=True)
    result = json.loads(done.stdout.splitlines()[-1])
    return result["seconds"], result["rounds"], np.load(out), None


def run_ours(data, first, rounds, folder):
    from safetensors.numpy import load_file
    out = folder / "run"
    done = subprocess.run([PROGRAM, "train", "kmeans", data, "--init", first, "--tol", "0", "--max-iter", str(rounds or 300),
                           "--threads", str(THREADS), "--out", out, "--json", "--quiet"],
                          check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    centers = load_file(out / "model.safetensors")["centers"]
    subprocess.run(["rm", "-rf", out], check=True)
    return result["seconds"]["train"], result["rounds"], centers, result["peak_rss_bytes"]


def compare(name, shape, repeat, skip, folder):
    make, clusters, rounds = shape
    rng = np.random.default_rng(1)
    x = make(rng)
    data, first = folder / "data.npy", folder / "first.npy"
    np.save(data, x)
    np.save(first, x[rng.choice(len(x), clusters, replace=False)])
    seconds, scores, peak = {}, {}, 0
    peers = [peer for peer in PEERS if not skip or skip not in peer]
    systems = ["meanwhile", *peers]
    for turn in range(repeat):
        for system in systems[turn % len(systems):] + systems[:turn % len(systems)]:
            # A system that is far behind is not run five times.
            if turn > 0 and system != "meanwhile" and min(seconds[system]) > 3 * min(min(t) for t in seconds.values()) \
                    and min(seconds[system]) > 1.5 * min(min(seconds[p]) for p in peers):
                continue
            # faiss knows no convergence: it gets the number of rounds that this program needed.
            asked = rounds
            if rounds is None and system == "faiss-cpu":
                asked = taken if (taken := scores.get("rounds")) else 30
            run = run_ours if system == "meanwhile" else lambda *a, s=system: run_peer(s, *a)
            took, n, centers, rss = run(data, first, asked, folder)
            if system == "meanwhile":
                scores["rounds"], peak = n, max(peak, rss)
            seconds.setdefault(system, []).append(took)
            if system not in scores:
                scores[system] = (inertia(x, centers), n)
    fastest = min(min(seconds[peer]) for peer in peers)
    truth = scores["meanwhile"][0]
    print(f"\n{name}" + ("" if rounds is None else f", {rounds} rounds"))
    print(f"  {'':24}{'min s':>9}{'median s':>10}{'rounds':>8}  inertia")
    for system in systems:
        score, n = scores[system]
        equal = abs(score - truth) <= 1e-5 * truth
        print(f"  {system:24}{min(seconds[system]):9.3f}{statistics.median(seconds[system]):10.3f}{n:8}  {score:.8g}"
              + ("" if equal else "  NOT EQUAL"))
    limit = 1.15 * x.nbytes + 64e6
    print(f"  {fastest / min(seconds['meanwhile']):.2f}x as fast as the fastest peer (by min); "
          f"peak memory {peak / 1e6:.0f} MB, {peak / limit:.0%} of 1.15 x data + 64 MB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default="", help="shapes whose name contains this")
    parser.add_argument("--skip", default="", help="peers whose name contains this")
    parser.add_argument("--worker", nargs=5, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        peer, data, first, rounds, out = arguments.worker
        worker(peer, data, first, int(rounds) or None, out)
        return
    print("  ".join(f"{p} {importlib.metadata.version(p)}" for p in ("numpy", "scikit-learn", "scikit-learn-intelex", "faiss-cpu")))
    with tempfile.TemporaryDirectory() as folder:
        for name, shape in SHAPES.items():
            if arguments.only in name:
                compare(name, shape, arguments.repeat, arguments.skip, pathlib.Path(folder))


if __name__ == "__main__":
    main()
