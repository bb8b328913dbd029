"""PageRank and components on a Kronecker graph: this program beside scipy, networkit and python-graphblas, in turn.

    bench/graph/graph.py [SCALE]

All have the graph in memory before their clock starts, and do the same work: 20 rounds in float64 with the mass of
vertices without edges dealt out. This program's clock is that of the rounds alone, and, in the second line, with the
round in which shards number their vertices. Two threads each, scipy one.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "2"
import graphblas as gb  # noqa: E402
import networkit as nk  # noqa: E402
import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
import scipy.sparse.csgraph  # noqa: E402

PROGRAM = "build/release/meanwhile"
ROUNDS, DAMPING, RUNS = 20, 0.85, 5
nk.setNumberOfThreads(2)


def read_sg(path):
    raw = np.fromfile(path, dtype=np.uint8)
    edges, vertices = raw[1:17].view(np.int64)
    starts = raw[17:17 + 8 * (vertices + 1)].copy().view(np.int64)
    ends = raw[17 + 8 * (vertices + 1):].copy().view(np.int32)
    assert len(ends) == edges
    return sp.csr_matrix((np.ones(edges), ends, starts), (vertices, vertices))


def shares(matrix):
    degree = np.diff(matrix.indptr).astype(float)
    return np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0), degree == 0


def power(matrix, rounds):
    """20 rounds as scipy does them; the matrix is symmetric."""
    inverse, stuck = shares(matrix)
    count = matrix.shape[0]
    rank = np.full(count, 1 / count)
    begin = time.perf_counter()
    for _ in range(rounds):
        rank = (1 - DAMPING) / count + DAMPING * (matrix @ (rank * inverse) + rank[stuck].sum() / count)
    return time.perf_counter() - begin, rank


def graphblas_power(matrix, pattern, rounds):
    inverse, stuck = shares(matrix)
    count = matrix.shape[0]
    scale = gb.Vector.from_dense(inverse)
    mask = gb.Vector.from_coo(np.flatnonzero(stuck), True, size=count)
    rank = gb.Vector.from_dense(np.full(count, 1 / count))
    begin = time.perf_counter()
    for _ in range(rounds):
        sent = rank.ewise_mult(scale, gb.binary.times).new()
        lost = rank.dup(mask=mask.S).reduce(gb.monoid.plus).new().value or 0.0
        total = pattern.mxv(sent, gb.semiring.plus_second["FP64"]).new()
        rank = gb.Vector.from_scalar((1 - DAMPING + DAMPING * lost) / count, count, float)
        rank(gb.binary.plus) << total.apply(gb.binary.times, right=DAMPING)
    return time.perf_counter() - begin, rank.to_dense(0.0)


def networkit_power(graph, rounds):
    rank = nk.centrality.PageRank(graph, DAMPING, 0.0, False, nk.centrality.SinkHandling.DistributeSinks)
    rank.maxIterations = rounds
    begin = time.perf_counter()
    rank.run()
    return time.perf_counter() - begin, np.array(rank.scores()), rank.numberOfIterations()


def ours(path, folder, learner, *flags):
    out = folder / "run"
    words = [PROGRAM, "train", learner, path, *flags, "--threads", "2", "--quiet", "--json", "--out", out]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr
    record = json.loads(done.stdout)
    rounds = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    seconds = sum(line["seconds"] for line in rounds if "round" in line)
    subprocess.run([PROGRAM, "predict", out, "--out", folder / "answer.csv"], check=True)
    answer = np.loadtxt(folder / "answer.csv", delimiter=",", skiprows=1)[:, 1]
    subprocess.run(["rm", "-rf", out], check=True)
    return seconds, record["seconds"]["train"], answer, record


def table(title, work, seconds, notes):
    print(f"\n{title}\n\n| program | seconds, best | median | M adjacencies/s | this program is | {notes[0]} |")
    print("|---|---|---|---|---|---|")
    mine = next(iter(seconds.values()))
    for name, taken in seconds.items():
        ratio = f"{min(taken) / min(mine):.2f}x (median {statistics.median(taken) / statistics.median(mine):.2f}x)"
        rate = f"{work / min(taken) / 1e6:.0f}" if work else "-"
        print(f"| {name} | {min(taken):.3f} | {statistics.median(taken):.3f} | {rate} | {ratio} | "
              f"{notes[1].get(name, '')} |", flush=True)


def main():
    scale = sys.argv[1] if len(sys.argv) > 1 else "20"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "kron.sg"
        subprocess.run([PROGRAM, "generate", "kronecker", "--scale", scale, "--out", path, "--quiet"], check=True)
        mapped = folder / "kron.safetensors"
        subprocess.run([PROGRAM, "convert", path, mapped, "--quiet"], check=True)
        matrix = read_sg(path)
        sources = np.repeat(np.arange(matrix.shape[0], dtype=np.uint64), np.diff(matrix.indptr))
        graph = nk.graph.GraphFromCoo((sources, matrix.indices.astype(np.uint64)), n=matrix.shape[0], directed=True)
        pattern = gb.io.from_scipy_sparse(matrix).dup(dtype="FP64")
        gb.ss.config["nthreads"] = 2
        _, exact = power(matrix, 200)
        print(f"Kronecker, scale {scale}: {matrix.shape[0]} vertices, {matrix.nnz} adjacencies")

        seconds = {"this program, rounds": [], "this program, with numbering": [], "scipy": [], "python-graphblas": [],
                   "networkit": []}
        errors = {}
        for _ in range(RUNS):
            rounds, all_of_it, rank, _ = ours(mapped, folder, "pagerank", "--max-iter", str(ROUNDS), "--tol", "0")
            seconds["this program, rounds"].append(rounds)
            seconds["this program, with numbering"].append(all_of_it)
            errors["this program, rounds"] = f"{abs(rank - exact).sum():.2e}"
            taken, rank = power(matrix, ROUNDS)
            seconds["scipy"].append(taken)
            errors["scipy"] = f"{abs(rank - exact).sum():.2e}"
            taken, rank = graphblas_power(matrix, pattern, ROUNDS)
            seconds["python-graphblas"].append(taken)
            errors["python-graphblas"] = f"{abs(rank - exact).sum():.2e}"
            taken, rank, done = networkit_power(graph, ROUNDS)
            seconds["networkit"].append(taken * ROUNDS / max(done, 1))
            errors["networkit"] = f"{abs(rank / rank.sum() - exact).sum():.2e} after {done} rounds"
        table("PageRank, 20 rounds", ROUNDS * matrix.nnz, seconds, ("L1 distance to 200 rounds", errors))

        seconds = {"this program": [], "networkit, parallel": [], "networkit, serial": [], "scipy": []}
        found = {}
        undirected = nk.graphtools.toUndirected(graph)
        for _ in range(RUNS):
            _, all_of_it, labels, record = ours(mapped, folder, "components")
            seconds["this program"].append(all_of_it)
            found["this program"] = f"{len(np.unique(labels))}, {record['rounds']} rounds"
            for name, kind in (("networkit, parallel", nk.components.ParallelConnectedComponents),
                               ("networkit, serial", nk.components.ConnectedComponents)):
                search = kind(undirected)
                begin = time.perf_counter()
                search.run()
                seconds[name].append(time.perf_counter() - begin)
                found[name] = search.numberOfComponents()
            begin = time.perf_counter()
            count, _ = scipy.sparse.csgraph.connected_components(matrix, directed=False)
            seconds["scipy"].append(time.perf_counter() - begin)
            found["scipy"] = count
        table("Components", 0, seconds, ("components", found))


main()
