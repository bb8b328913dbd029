#!/usr/bin/env python3
"""How graphs lie in shards: what is predicted from degrees beside what a cut gives.

    cuts.py FILE...      lists of edges; the program reads them as undirected graphs

Columns: copies of a vertex when edges are dealt at random, predicted (`inspect`) and counted; copies by the range of
the lower-degree end, predicted from degrees (an upper estimate) and counted; the largest worker's edges when vertices
are dealt in turn by degree, by the formula of "Modeling Scalability of Distributed Machine Learning" and counted.
"""
import json
import subprocess
import sys
import tempfile

import numpy as np

PROGRAM = 'build/release/meanwhile'


def edges_of(path, folder):
    """The edges as the program has them: simple, without loops."""
    out = f'{folder}/graph.safetensors'
    subprocess.run([PROGRAM, 'convert', path, out, '--undirected', '--loops', 'drop', '--quiet'], check=True)
    found = json.loads(subprocess.run([PROGRAM, 'inspect', out, '--json'], check=True, capture_output=True).stdout)
    with open(out, 'rb') as file:
        size = int.from_bytes(file.read(8), 'little')
        header = json.loads(file.read(size))
        data = file.read()

    def tensor(name, kind):
        begin, end = header[name]['data_offsets']
        return np.frombuffer(data[begin:end], kind)
    starts = tensor('row_start', np.int64)
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return rows, tensor('columns', np.int32).astype(np.int64), len(starts) - 1, found


def largest_share(degree, n, edges):
    """The paper's: vertices in turn, in the order of degrees; edges inside a worker counted once."""
    vertices = len(degree)
    order = np.sort(degree)
    sums = [order[i::n].sum() for i in range(n)]
    return max(sums) - edges * (vertices - n) / (n * n * (vertices - 1))


def main():
    print('| graph | P | random: predicted / counted | ranges: predicted at most / counted | largest: formula / counted |')
    print('|---|---|---|---|---|')
    draw = np.random.default_rng(1)
    for path in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            a, b, vertices, found = edges_of(path, folder)
        degree = np.bincount(a, minlength=vertices) + np.bincount(b, minlength=vertices)
        with_edges = (degree > 0).sum()
        order = np.argsort(degree, kind='stable')
        for cut in found['cuts']:
            n = cut['shards']
            shard = draw.integers(0, n, len(a))
            counted = len(np.unique(np.concatenate([a * n + shard, b * n + shard]))) / with_edges
            # A random order among vertices of one degree, as the formula assumes.
            worker = np.empty(vertices, dtype=np.int64)
            order = np.lexsort((draw.random(vertices), degree))
            worker[order] = np.arange(vertices) % n
            mine = np.bincount(worker[a], minlength=n) + np.bincount(worker[b], minlength=n)
            mine -= np.bincount(worker[a][worker[a] == worker[b]], minlength=n)
            formula = largest_share(degree, n, len(a))
            print(f'| {path.rsplit("/", 1)[-1].split(".")[0]} | {n} | {cut["random_copies"]:.3f} / {counted:.3f} '
                  f'({100 * (cut["random_copies"] / counted - 1):+.2f} %) | {cut["predicted_copies"]:.3f} / '
                  f'{cut["copies"]:.3f} | {formula:.0f} / {mine.max()} ({100 * (formula / mine.max() - 1):+.2f} %) |')


main()
