#!/usr/bin/env python3
"""Messages a second on a binary Ising grid: this program beside PGMax, in turn, on the same model.

    bench/belief/ising.py [SIDE]

Both do the same synchronous rounds (flood, no damping) in which every message is made anew; the graph is in memory and
compiled code is warm before the clock starts. PGMax computes in float32, this program in float64. `difference`: largest
difference of a marginal after these rounds.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=true intra_op_parallelism_threads=2"
import jax  # noqa: E402
import numpy as np  # noqa: E402
from pgmax import fgraph, fgroup, infer, vgroup  # noqa: E402

from belief import PROGRAM, marginals  # noqa: E402

ROUNDS, RUNS = 20, 5


def read_uai(path):
    """Scopes and tables of a file of binary variables."""
    words = path.read_text().split()
    count, at = int(words[1]), 2 + int(words[1])
    factors, at, scopes = int(words[at]), at + 1, []
    for _ in range(factors):
        arity = int(words[at])
        scopes.append([int(word) for word in words[at + 1:at + 1 + arity]])
        at += 1 + arity
    tables = []
    for _ in scopes:
        size = int(words[at])
        tables.append([float(word) for word in words[at + 1:at + 1 + size]])
        at += 1 + size
    return count, scopes, tables


class Peer:
    def __init__(self, path):
        count, scopes, tables = read_uai(path)
        self.variables = vgroup.NDVarArray(num_states=2, shape=(count,))
        graph = fgraph.FactorGraph(variable_groups=self.variables)
        pairs = [k for k, scope in enumerate(scopes) if len(scope) == 2]
        each = [self.variables[v] for v in range(count)]
        tables_of_pairs = np.log(np.array([tables[k] for k in pairs])).reshape(-1, 2, 2)
        graph.add_factors(fgroup.PairwiseFactorGroup(
            variables_for_factors=[[each[v] for v in scopes[k]] for k in pairs], log_potential_matrix=tables_of_pairs))
        field = np.zeros((count, 2))
        for scope, table in zip(scopes, tables, strict=True):
            if len(scope) == 1:
                field[scope[0]] += np.log(table)
        self.bp = infer.build_inferer(graph.bp_state, backend="bp")
        self.start = self.bp.init(evidence_updates={self.variables: field})
        self.run = jax.jit(lambda arrays: self.bp.run(arrays, num_iters=ROUNDS, damping=0.0, temperature=1.0))
        jax.block_until_ready(self.run(self.start).ftov_msgs)

    def seconds(self):
        begin = time.perf_counter()
        arrays = self.run(self.start)
        jax.block_until_ready(arrays.ftov_msgs)
        taken = time.perf_counter() - begin
        found = infer.get_marginals(self.bp.get_beliefs(arrays))
        return taken, np.asarray(found[self.variables])


def ours(path, folder):
    out = folder / "run"
    words = [PROGRAM, "train", "belief", path, "--schedule", "flood", "--max-iter", str(ROUNDS), "--tol", "0",
             "--threads", "2", "--quiet", "--json", "--out", out]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    record = json.loads(done.stdout)
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    rounds = [line["seconds"] for line in lines if "round" in line]
    assert len(rounds) == ROUNDS, record
    subprocess.run([PROGRAM, "predict", out, "--out", folder / "answer.MAR"], check=True)
    found = np.array(marginals((folder / "answer.MAR").read_text()))
    subprocess.run(["rm", "-rf", out], check=True)
    return sum(rounds), found


def main():
    side = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    messages = ROUNDS * 2 * 2 * side * (side - 1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "ising.uai"
        subprocess.run([PROGRAM, "generate", "ising", "--rows", str(side), "--cols", str(side), "--out", path,
                        "--quiet"], check=True)
        peer = Peer(path)
        seconds = {"this program": [], "PGMax": []}
        for _ in range(RUNS):
            taken, mine = ours(path, folder)
            seconds["this program"].append(taken)
            taken, theirs = peer.seconds()
            seconds["PGMax"].append(taken)
        print(f"\nIsing {side} x {side}, {ROUNDS} rounds, two threads; difference {abs(mine - theirs).max():.1e}\n")
        print("| program | M messages/s, best | median | this program is |\n|---|---|---|---|")
        best, middle = min(seconds["this program"]), statistics.median(seconds["this program"])
        for name, taken in seconds.items():
            print(f"| {name} | {messages / min(taken) / 1e6:.1f} | {messages / statistics.median(taken) / 1e6:.1f} | "
                  f"{min(taken) / best:.1f}x (median {statistics.median(taken) / middle:.1f}x) |")


if __name__ == "__main__":
    main()
