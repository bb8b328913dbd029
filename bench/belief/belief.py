#!/usr/bin/env python3
"""Belief propagation: UAI-2014 problems against their reference marginals, and messages a second.

    belief.py FOLDER [FLAGS ...] [--half chosen|reported] [--only TEXT] [--json FILE]     all problems of a folder
    belief.py --rates FOLDER                                                              rounds of `flood`

FLAGS go to `train belief`. Defaults are chosen on every second problem ("chosen"); the others are "reported". A run
counts as falsely converged if it says that it converged and a marginal is no probability.
"""
import argparse
import collections
import gzip
import json
import math
import pathlib
import statistics
import subprocess
import tempfile

PROGRAM = 'build/release/meanwhile'


def marginals(text):
    words = text.split()
    if words and words[0] == 'MAR':
        words = words[1:]
    count, at, found = int(words[0]), 1, []
    for _ in range(count):
        card = int(words[at])
        found.append([float(word) for word in words[at + 1:at + 1 + card]])
        at += 1 + card
    return found


def solve(model, folder, flags):
    """One problem by the program, as a user runs it."""
    name = model.name.removesuffix('.uai.gz')
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / 'run'
        words = [PROGRAM, 'train', 'belief', model, '--evidence', folder / f'{name}.uai.evid', *flags,
                 '--json', '--quiet', '--out', out]
        ran = subprocess.run(words, check=False, capture_output=True, text=True)
        if ran.returncode not in (0, 3):
            return {'problem': name, 'error': ran.stderr.strip()}
        record = json.loads(ran.stdout)
        result = {'problem': name, 'seconds': record['seconds']['train'],
                  **{key: record.get(key) for key in ('converged', 'residual', 'log10_z', 'schedule')}}
        assert (ran.returncode == 0) == record['converged'], record
        subprocess.run([PROGRAM, 'predict', out, '--out', out / 'answer.MAR'], check=True)
        found = marginals((out / 'answer.MAR').read_text())
    with gzip.open(folder / f'{name}.uai.MAR.gz', 'rt') as file:
        right = marginals(file.read())
    errors = [abs(a - b) for p, q in zip(found, right, strict=True) for a, b in zip(p, q, strict=True)]
    result['mean_error'] = sum(errors) / len(errors)
    result['max_error'] = max(errors)
    result['valid'] = all(math.isclose(sum(p), 1, abs_tol=1e-9) and min(p) >= 0 for p in found)
    return result


def messages_of(model, evidence):
    """Messages of a round: one from each factor to each of its variables, where it has two or more."""
    words = gzip.open(model, 'rt').read().split() if model.suffix == '.gz' else model.read_text().split()
    observed = set()
    if evidence:
        numbers = list(map(int, evidence.read_text().split()))
        numbers = numbers[1:] if len(numbers) % 2 == 0 else numbers
        observed = set(numbers[1::2])
    variables = int(words[1])
    at, count = 3 + variables, 0
    for _ in range(int(words[2 + variables])):
        arity = int(words[at])
        free = sum(int(v) not in observed for v in words[at + 1:at + 1 + arity])
        count += free if free > 1 else 0
        at += 1 + arity
    return count


def rates(folder):
    with tempfile.TemporaryDirectory() as scratch:
        grid = pathlib.Path(scratch) / 'ising.uai'
        subprocess.run([PROGRAM, 'generate', 'ising', '--rows', '1000', '--cols', '1000', '--out', grid, '--quiet'],
                       check=True)
        print('| graph | threads | M messages/s, best round | median round | all rounds |\n|---|---|---|---|---|')
        for title, model, threads in (('binary Ising 1000 x 1000', grid, 2), ('binary Ising 1000 x 1000', grid, 1),
                                      ('Promedus_38', folder / 'Promedus_38.uai.gz', 1),
                                      ('linkage_12', folder / 'linkage_12.uai.gz', 1)):
            evidence = folder / f'{title}.uai.evid'
            evidence = evidence if evidence.exists() else None
            messages = messages_of(model, evidence)
            seconds, total = [], 0
            for _ in range(3):
                out = pathlib.Path(scratch) / 'run'
                words = [PROGRAM, 'train', 'belief', model, '--schedule', 'flood', '--tol', '0', '--max-iter', '20',
                         '--threads', str(threads), '--json', '--quiet', '--out', out]
                subprocess.run(words + (['--evidence', evidence] if evidence else []), check=False,
                               capture_output=True)
                lines = map(json.loads, (out / 'metrics.jsonl').read_text().splitlines())
                taken = [line['seconds'] for line in lines if 'round' in line and 'phase' not in line]
                seconds += taken
                total += sum(taken)
                subprocess.run(['rm', '-rf', out], check=True)
            print(f'| {title} | {threads} | {messages / min(seconds) / 1e6:.1f} | '
                  f'{messages / statistics.median(seconds) / 1e6:.1f} | {messages * len(seconds) / total / 1e6:.1f} |',
                  flush=True)


def count(results):
    converged = [r for r in results if r.get('converged') and r.get('valid')]
    return {'problems': len(results),
            'converged': len(converged),
            'accurate': sum(r.get('mean_error', 1) <= 0.01 for r in results),
            'converged_accurate': sum(r['mean_error'] <= 0.01 for r in converged),
            'false': sum(bool(r.get('converged')) and not r.get('valid') for r in results),
            'errors': sum('error' in r for r in results),
            'seconds': round(sum(r.get('seconds', 0) for r in results), 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--rates', action='store_true')
    parser.add_argument('--half', choices=['chosen', 'reported'])
    parser.add_argument('--only', default='')
    parser.add_argument('--json', type=pathlib.Path)
    asked, flags = parser.parse_known_args()
    if asked.rates:
        return rates(asked.folder)
    models = sorted(asked.folder.glob('*.uai.gz'))
    halves = {'chosen': models[::2], 'reported': models[1::2]}
    results = {}
    for half, members in halves.items():
        if asked.half in (None, half):
            results[half] = [solve(m, asked.folder, flags) for m in members
                             if asked.only in m.name]
    for half, found in results.items():
        families = collections.defaultdict(list)
        for result in found:
            families[result['problem'].rsplit('_', 1)[0]].append(result)
        for family, members in families.items():
            print(f'{half:9} {family:16}', json.dumps(count(members)))
        print(f'{half:9} {"all":16}', json.dumps(count(found)))
    everything = [r for found in results.values() for r in found]
    print(f'{"both":9} {"all":16}', json.dumps(count(everything)))
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1))


if __name__ == '__main__':
    main()
