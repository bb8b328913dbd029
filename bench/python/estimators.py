"""The package beside the program, scikit-learn and scikit-learn-intelex: seconds and quality.

    bench/python/estimators.py DATA_FOLDER               everything
    bench/python/estimators.py DATA_FOLDER digits a9a    only the estimators on these data sets

DATA_FOLDER has digits/, a9a/ and 20newsgroups/, as their README says. Every peer has its default
parameters and two threads, data in memory; peers take turns, and the least of the times is shown. A
ratio above 1 says that the package is faster. Quality of what is drawn at random is the mean over
several seeds, with their standard deviation.
"""

import argparse
import gzip
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ.setdefault(name, '2')

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

warnings.filterwarnings('ignore')
PROGRAM = [sys.executable, '-m', 'meanwhile']
REPEATS = 3  # fits that are timed
SEEDS = {'KMeans': 5, 'LatentDirichletAllocation': 5}  # the others end at one optimum


def digits(folder):
    table = np.loadtxt(gzip.open(folder / 'digits' / 'digits.csv.gz'), delimiter=',')
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].astype(int)


def a9a(folder):
    return [load_svmlight_file(os.fspath(folder / 'a9a' / name), n_features=123) for name in ('a9a.gz', 'a9a.t.gz')]


def news(folder):
    lines = gzip.open(folder / '20newsgroups' / 'docword.20news.txt.gz').read().split(b'\n', 3)
    rows, cols, _ = (int(line) for line in lines[:3])
    document, word, count = np.array(lines[3].split(), dtype=np.int64).reshape(-1, 3).T
    x = sp.csr_matrix((count.astype(float), (document - 1, word - 1)), shape=(rows, cols))
    # A line for each post: train or test, its group, its number.
    lines = gzip.open(folder / '20newsgroups' / 'labels.20news.txt.gz', 'rt').read().splitlines()
    part, group, _ = np.array([line.split() for line in lines]).T
    y = np.unique(group, return_inverse=True)[1]
    train, test = part == 'train', part == 'test'
    return (x[train], y[train]), (x[test], y[test])


def peers(name):
    """Estimator classes by package."""
    found = {'meanwhile': getattr(importlib.import_module('meanwhile'), name)}
    modules = ('sklearn.cluster', 'sklearn.linear_model', 'sklearn.decomposition')
    place = next(m for m in modules if hasattr(importlib.import_module(m), name))
    found['scikit-learn'] = getattr(importlib.import_module(place), name)
    try:
        theirs = getattr(importlib.import_module(place.replace('sklearn', 'sklearnex', 1)), name)
        found['intelex'] = theirs
    except (ImportError, AttributeError):
        found['intelex'] = None
    return found


def compare(name, data, x, y, quality, **parameters):
    """Fits by turns; prints a line for each peer."""
    seconds, reached = {}, {}
    seeds = SEEDS.get(name, 1)
    for turn in range(max(REPEATS, seeds)):
        for peer, cls in peers(name).items():
            if cls is None:
                continue
            given = dict(parameters)
            if 'random_state' in cls().get_params():
                given['random_state'] = turn
            begin = time.perf_counter()
            model = cls(**given).fit(x, y)
            elapsed = time.perf_counter() - begin
            if turn < REPEATS:
                seconds.setdefault(peer, []).append(elapsed)
            if turn < seeds:
                reached.setdefault(peer, []).append(quality(model))
    for peer in peers(name):
        if peer not in seconds:
            print(f'| {data} | {name} | {peer} | does not have it | | |')
            continue
        ratio = min(seconds[peer]) / min(seconds['meanwhile'])
        shown = f'{np.mean(reached[peer]):.6g}'
        if seeds > 1:
            shown += f' ± {np.std(reached[peer], ddof=1):.2g}'
        print(f'| {data} | {name} | {peer} | {min(seconds[peer]):.3f} | {ratio:.2f} | {shown} |')
    sys.stdout.flush()


def beside_program(folder):
    """fit() against what the program says it trained for, on the same rows; by turns."""
    import meanwhile

    x, y = digits(folder)
    x = np.tile(x, (100, 1)) + np.random.default_rng(0).random((100 * len(x), x.shape[1]))
    x = np.ascontiguousarray(x, dtype=np.float32)
    labels = np.tile(y, 100)
    print('\n| fit of 179,700 x 64 float32 | fit(), s | program trains, s | ratio |\n|---|---|---|---|')
    with tempfile.TemporaryDirectory() as temporary:
        temporary = pathlib.Path(temporary)
        np.save(temporary / 'x.npy', x)
        np.save(temporary / 'y.npy', labels.astype(float))
        cases = [
            ('kmeans', meanwhile.KMeans(20, random_state=0, max_iter=20, tol=0), None, ()),
            ('logistic', meanwhile.LogisticRegression(max_iter=15), labels, (float(len(labels)), 10)),
        ]
        for learner, estimator, target, about in cases:
            ours, theirs = [], []
            for _ in range(REPEATS):
                begin = time.perf_counter()
                estimator.fit(x, target)
                ours.append(time.perf_counter() - begin)
                parameters = estimator.native_parameters(*(about or (x,)))
                arguments = ['--dtype', 'float32', '--seed', '0', '--out', temporary / 'run']
                if target is not None:
                    arguments += ['--labels', temporary / 'y.npy']
                for key, value in parameters.items():
                    flag = '--' + key.replace('_', '-')
                    if isinstance(value, bool):
                        arguments.append(flag if value else '--no-' + flag[2:])
                    else:
                        arguments += [flag, value]
                command = [*PROGRAM, 'train', learner, temporary / 'x.npy', *arguments]
                subprocess.run([*map(str, command)], check=False, capture_output=True)
                record = json.loads((temporary / 'run' / 'run.json').read_text())
                assert record['model_sha256'] == estimator.model_sha256_, 'not the same work'
                theirs.append(record['seconds']['train'])
            print(f'| {learner} | {min(ours):.3f} | {min(theirs):.3f} | {min(ours) / min(theirs):.3f} |', flush=True)


def imports():
    print('\n| import | ms |\n|---|---|')
    for code in ('import numpy', 'import meanwhile, numpy', 'from meanwhile import KMeans', 'from sklearn.cluster import KMeans'):
        times = []
        for _ in range(2 * REPEATS):
            begin = time.perf_counter()
            subprocess.run([sys.executable, '-c', code], check=True)
            times.append(time.perf_counter() - begin)
        print(f'| `{code}` | {1000 * min(times):.0f} |', flush=True)


def on_digits(folder):
    x, y = digits(folder)
    compare('KMeans', 'digits', x, None, lambda m: m.inertia_)
    compare('LogisticRegression', 'digits', x, y, lambda m: m.score(x, y))


def on_a9a(folder):
    (x, y), (test, truth) = a9a(folder)
    compare('KMeans', 'a9a', x.toarray(), None, lambda m: m.inertia_)
    compare('LogisticRegression', 'a9a', x, y, lambda m: m.score(test, truth))


def on_news(folder):
    (x, y), (test, truth) = news(folder)
    compare('KMeans', '20 newsgroups', x, None, lambda m: m.inertia_)
    compare('LogisticRegression', '20 newsgroups', x, y, lambda m: m.score(test, truth))
    compare('LatentDirichletAllocation', '20 newsgroups', x, None, lambda m: m.perplexity(test))


COMPARISONS = {'digits': on_digits, 'a9a': on_a9a, '20newsgroups': on_news}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('data', type=pathlib.Path, metavar='DATA_FOLDER')
    parser.add_argument('only', nargs='*', metavar='NAME', help=', '.join(COMPARISONS))
    arguments = parser.parse_args()
    unknown = set(arguments.only) - set(COMPARISONS)
    if unknown:
        parser.error(f'no such data set: {", ".join(sorted(unknown))}')
    if not arguments.only:
        imports()
        beside_program(arguments.data)
    print('\n| data | estimator | package | s | ratio | quality |\n|---|---|---|---|---|---|')
    for name in arguments.only or COMPARISONS:
        COMPARISONS[name](arguments.data)


if __name__ == '__main__':
    main()
