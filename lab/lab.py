#!/usr/bin/env python3
"""The experiments: measured rounds on a virtual cluster against what `plan` predicts. See lab/README.md.

Each writes lab/results/NAME.json, with all that is needed to draw it again. Only the standard library is used.
The time of a round is the mean over a job's rounds, the first ones left out (rows are loaded, and shares at a store even out), then the median over repeats.
Not the median over rounds: a host with a share of a core works in bursts of some milliseconds, so most rounds that are
shorter are seen without the pauses that all of them together take.
"""

import argparse
import json
import statistics
import sys
import time

from predict import attempt, calibrate, calibrate_here, exponent, lowest, mape, plan, round_seconds
import staleness as dial
from runs import FOLDER, PROGRAM, ROOT, Cluster, Failed, ising, kronecker, labelled, machine_facts, rounds_of, run, stop_on_signals, uniform

RESULTS = ROOT / "lab/results"
SIMD = "baseline"  # of k-means in the cluster: slow on purpose, so that few rows, which load soon, are much work
COLS, CLUSTERS, FEW_CLUSTERS = 64, 1024, 128  # an update of 0.54 MB; of 68 KB, to be quick


def say(text):
    print(f"  {text}", flush=True)


def pace(quick):
    """Of links and shares for k-means. A calibration by 6 % of a core takes half a minute, so a quick look has faster hosts."""
    return {"rate_mbit": 100, "cpu_percent": 40} if quick else {"rate_mbit": 20, "cpu_percent": 6}


def kmeans_flags(rows, clusters, rounds, cols=COLS):
    """Of a job, and of its plan. The first centres are a file: choosing them takes eight steps, which are not what is measured."""
    same = ["--n-clusters", clusters, "--max-iter", rounds]
    return (["kmeans", uniform(rows, cols), *same, "--init", uniform(clusters, cols, seed=2), "--tol", 0],
            ["kmeans", "--rows", rows, "--dims", cols, *same, "--init", "random", "--n-init", 1])


def settled(rounds):
    """Those that are alike: in the first, rows are loaded; in some more, workers at a store come to hold even shares."""
    return rounds[3:] if len(rounds) > 5 else rounds[1:]


def timed(results):
    """A point of what the repeats gave."""
    repeats = [{"rounds": r["rounds"], "wall_s": r["wall_s"], "seconds": r.get("seconds")} for r in results]
    return {"repeats": repeats, "round_s": statistics.median(statistics.mean(settled(r["rounds"])) for r in repeats)}


def measure(train, flags, points, repeats, limit_s, simd=None):
    """`points`: (workers, more flags). All points once, then all again: what disturbs for a while disturbs no point alone."""
    results = [[] for _ in points]
    for turn in range(repeats):
        for (workers, more), into in zip(points, results):
            into.append(train([*flags, *more], workers, simd, limit_s))
            say(f"{' '.join(map(str, [flags[0], *more]))}, {workers} workers, turn {turn + 1}: "
                f"{statistics.mean(settled(into[-1]['rounds'])):.4f} s a round, {into[-1]['wall_s']:.1f} s in all")
    return [{"workers": workers, **timed(r)} for (workers, _), r in zip(points, results)]


def series(name, points, predicted):
    """Measured points beside predicted ones ({workers: point}, or None)."""
    measured = {p["workers"]: p["round_s"] for p in points}
    found = {"name": name, "points": points, "measured_best": lowest(measured)}
    if predicted:
        for p in points:
            p["predicted"] = predicted[p["workers"]]
        said = {p: round_seconds(predicted[p]) for p in measured}
        found["predicted_best"] = lowest(said)
        found["mape"] = mape([(measured[p], said[p]) for p in measured])
        first = min(measured)
        found["speedup_mape"] = mape([(measured[first] / measured[p], said[first] / said[p]) for p in measured if p != first])
        say(f"{name}: mean error of a round {found['mape']:.1%}, of speedups {found['speedup_mape'] or 0:.1%}; best at "
            f"{found['measured_best']['workers']} workers, predicted {found['predicted_best']['workers']}")
    else:
        say(f"{name}: best at {found['measured_best']['workers']} workers; no prediction")
    return found


def storage(quick, repeats, note):
    """k-means over storage: many shards always, and as many shards as workers."""
    rows, rounds = (1200, 3) if quick else (40000, 7)
    workers = [1, 3] if quick else [1, 2, 3, 4, 6, 8, 12, 16]
    most, clusters = max(workers), FEW_CLUSTERS if quick else CLUSTERS
    flags, shape = kmeans_flags(rows, clusters, rounds)
    with Cluster(most, **pace(quick)) as cluster:
        profile = attempt(calibrate, note, cluster, "kmeans", simd=SIMD, store=True)
        found = []
        for name, shards in ((f"{most} shards", most), ("a shard for each worker", 0)):
            points = measure(cluster.train_on_storage, flags, [(p, ["--shards", shards or p]) for p in workers], repeats, 200, SIMD)
            many = ["--shards", shards] if shards else []
            found.append(series(name, points, profile and attempt(plan, note, profile, [*shape, "--runtime", "storage", *many], workers)))
    return {"cluster": cluster.settings, "simd": SIMD, "rows": rows, "cols": COLS, "clusters": clusters, "profile": profile, "series": found}


def scaleup(quick, repeats, note):
    """The best number of workers for more and more rows. The law of k-means on storage: T ~ N^(1/3), P ~ N^(2/3)."""
    rounds, clusters = (3, FEW_CLUSTERS) if quick else (6, CLUSTERS)
    sizes = {1200: [1, 3], 2400: [1, 3]} if quick else {
        10000: [2, 3, 4, 6], 20000: [3, 4, 6], 40000: [4, 6, 8], 80000: [6, 8, 12, 16]}
    with Cluster(max(map(max, sizes.values())), **pace(quick)) as cluster:
        profile = attempt(calibrate, note, cluster, "kmeans", simd=SIMD, store=True)
        found = []
        for rows, workers in sizes.items():
            flags, shape = kmeans_flags(rows, clusters, rounds)
            points = measure(cluster.train_on_storage, flags, [(p, ["--shards", p]) for p in workers], repeats, 200, SIMD)
            predicted = profile and attempt(plan, note, profile, [*shape, "--runtime", "storage"], workers)
            found.append({"rows": rows, **series(f"{rows} rows", points, predicted)})
    laws = {}
    for who in ("measured", "predicted"):
        best = [(s["rows"], s[f"{who}_best"]) for s in found if f"{who}_best" in s]
        if best:
            at = [n for n, _ in best]
            laws[who] = {"seconds": exponent(at, [b["seconds"] for _, b in best]), "workers": exponent(at, [b["workers"] for _, b in best]),
                         "smooth_workers": exponent(at, [b["smooth_workers"] for _, b in best])}
            say(f"{who}: seconds ~ rows^{laws[who]['seconds']:.2f}, workers ~ rows^{laws[who]['smooth_workers']:.2f}")
    return {"cluster": cluster.settings, "simd": SIMD, "cols": COLS, "clusters": clusters, "profile": profile, "series": found, "exponents": laws,
            "law": {"seconds": 1 / 3, "workers": 2 / 3}}


def svm(quick, repeats, note):
    """Tree against allreduce over MPI: a model whose bytes decide, and one whose messages do."""
    workers = [1, 4] if quick else [1, 2, 4, 8, 12, 16]
    # Rows of a file, how often it is read, columns, nonzeros of a row, rounds. Rows enough that a sixteenth of them touches all columns: updates with many zeros travel
    # without them, and nobody plans for that.
    models = {"large": (1000, 1, 5000, 50, 6)} if quick else {"large": (200000, 4, 20000, 30, 25), "small": (200000, 1, 60, 30, 60)}
    with Cluster(max(workers), **(pace(quick) if quick else {"rate_mbit": 25, "cpu_percent": 8})) as cluster:
        profile = attempt(calibrate, note, cluster, "svm", ranks=max(workers))
        found = []
        for model, (file_rows, files, cols, nonzeros, rounds) in models.items():
            rows = file_rows * files
            same = ["--solver", "lbfgs", "--max-iter", rounds]
            flags = ["svm", *[labelled(file_rows, cols, nonzeros)] * files, "--n-features", cols, *same, "--tol", 0, "--shards", max(workers)]
            shape = ["svm", "--rows", rows, "--dims", cols, "--nonzeros", rows * nonzeros, *same, "--runtime", "mpi",
                     "--shards", max(workers)]
            for exchange in ("allreduce", "tree"):
                points = measure(cluster.train_on_ranks, flags, [(p, ["--exchange", exchange]) for p in workers], repeats, 120)
                predicted = profile and attempt(plan, note, profile, [*shape, "--exchange", exchange], workers)
                found.append({"model": model, "exchange": exchange, "rows": rows, "cols": cols, "nonzeros": nonzeros,
                              **series(f"{model} model, {exchange}", points, predicted)})
    return {"cluster": cluster.settings, "profile": profile, "series": found}


def another_size(quick, repeats, note):
    """A profile made in a minute, and jobs of other sizes: three times the rows, other numbers of clusters."""
    rows, rounds = (2000, 3) if quick else (120000, 6)  # three times those of `storage`
    workers = [4] if quick else [4, 8, 16]
    found = []
    with Cluster(max(workers), **pace(quick)) as cluster:
        profile = attempt(calibrate, note, cluster, "kmeans", simd=SIMD, store=True)
        for clusters in [FEW_CLUSTERS] if quick else [256]:
            flags, shape = kmeans_flags(rows, clusters, rounds)
            points = measure(cluster.train_on_storage, flags, [(p, ["--shards", p]) for p in workers], repeats, 200, SIMD)
            predicted = profile and attempt(plan, note, profile, [*shape, "--runtime", "storage"], workers)
            found.append({"rows": rows, "clusters": clusters, **series(f"{rows} rows, {clusters} clusters, in the lab", points, predicted)})

    def train_here(flags, threads, simd, limit_s):
        out = FOLDER / "run-here"
        run(["rm", "-rf", out], 60)
        start = time.monotonic()
        text = run([PROGRAM, "train", *flags, "--runtime", "threads", "--threads", threads, "--out", out, "--json", "--quiet"], limit_s)
        return {**json.loads(text), "rounds": rounds_of(out), "wall_s": time.monotonic() - start}

    here = attempt(calibrate_here, note, 2)
    rows = 20000 if quick else 300000
    for clusters in [512] if quick else [256, 1024]:
        flags, shape = kmeans_flags(rows, clusters, 6)
        points = measure(train_here, flags, [(p, ["--shards", 8]) for p in (1, 2)], repeats + 2, 120)
        predicted = here and attempt(plan, note, here, [*shape, "--runtime", "threads", "--shards", 8], [1, 2])
        found.append({"rows": rows, "clusters": clusters, **series(f"{rows} rows, {clusters} clusters, on the bare machine", points, predicted)})
    return {"cluster": cluster.settings, "simd_in_the_lab": SIMD, "cols": COLS, "profile": profile, "profile_here": here, "series": found}


def graph(quick, repeats, note):
    """PageRank over MPI, mirrors against allreduce, on a graph without any order in its file; belief propagation on a grid."""
    workers = [2, 4] if quick else [2, 3, 4, 6, 8]
    scale, side, rounds = (12, 60, 5) if quick else (18, 500, 6)
    with Cluster(max(workers), rate_mbit=100 if quick else 10, cpu_percent=10 if quick else 20) as cluster:
        profile = attempt(calibrate, note, cluster, "pagerank", ranks=max(workers))
        found = []
        flags = ["pagerank", kronecker(scale), "--max-iter", rounds, "--tol", 0]
        for exchange in ("mirrors", "allreduce"):
            same = ["--exchange", exchange]
            points = measure(cluster.train_on_ranks, flags, [(p, [*same, "--shards", p]) for p in workers], repeats, 200)
            predicted = profile and attempt(plan, note, profile, [*flags, "--runtime", "mpi", *same], workers)
            found.append({"exchange": exchange, "scale": scale, **series(f"Kronecker {scale}, {exchange}", points, predicted)})
        profile_of_belief = attempt(calibrate, note, cluster, "belief", ranks=max(workers))
        flags = ["belief", ising(side), "--schedule", "flood", "--max-iter", rounds, "--tol", 0]
        same = ["--exchange", "allreduce"]
        points = measure(cluster.train_on_ranks, flags, [(p, [*same, "--shards", p]) for p in workers], repeats, 200)
        predicted = profile_of_belief and attempt(plan, note, profile_of_belief, [*flags, "--runtime", "mpi", *same], workers)
        found.append({"exchange": "allreduce", "side": side, **series(f"Ising {side} x {side}, flood", points, predicted)})
    return {"cluster": cluster.settings, "profile": profile, "profile_of_belief": profile_of_belief, "series": found}


def staleness(quick, repeats, note):
    """Time to an objective at each staleness, with and without stragglers."""
    path = RESULTS / "staleness.json"
    before = json.loads(path.read_text()) if path.exists() and not quick else {}
    return dial.staleness(quick, repeats, parts_of_dial or ["needs", *dial.PARTS], before, say)


parts_of_dial = []  # --part

EXPERIMENTS = {"storage": storage, "scaleup": scaleup, "svm": svm, "graph": graph, "another_size": another_size, "staleness": staleness}


def main():
    options = argparse.ArgumentParser(description="experiments on a virtual cluster; needs root")
    options.add_argument("--quick", action="store_true", help="few points, to see that it works; nothing is kept but build/lab/NAME.json")
    options.add_argument("--only", choices=EXPERIMENTS, action="append", help="this one; may be repeated")
    options.add_argument("--repeats", type=int, default=1, metavar="N", help="jobs of each point; an experiment takes N times as long (default: 1)")
    options.add_argument("--part", choices=["needs", *dial.PARTS], action="append", default=[], help="of `staleness`: this one; may be repeated")
    asked = options.parse_args()
    parts_of_dial.extend(asked.part)
    if asked.repeats < 1:
        options.error("--repeats is at least 1")
    stop_on_signals()
    failed = []
    for name in asked.only or EXPERIMENTS:
        print(f"{name}: {EXPERIMENTS[name].__doc__.splitlines()[0]}", flush=True)
        note, facts, start = [], machine_facts(), time.monotonic()
        try:
            found = EXPERIMENTS[name](asked.quick, asked.repeats, note)
        except Failed as error:
            print(f"  {name} failed: {error}", file=sys.stderr, flush=True)
            failed.append(name)
            continue
        found = {"experiment": name, "quick": asked.quick, "program": run([PROGRAM, "--version"], 10).strip(), "machine": facts,
                 "load_after": machine_facts()["load_before"], "took_s": time.monotonic() - start, "notes": note, **found}
        path = (FOLDER if asked.quick else RESULTS) / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=1) + "\n")
        for line in note:
            say(f"note: {line}")
        say(f"{found['took_s']:.0f} s; written to {path.relative_to(ROOT)}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
