"""Topic models: this program beside its peers, and sending models beside sending gradients.

Same documents, same number of topics, same priors (1 / topics), two cores; loading is outside the clock. Every run is
a process of its own, and the systems take turns, so that a slow minute of the machine hits all alike. The topics each
run ends with are scored by bench/lda/score.py on held-out documents, never by the program that made them. All runs go
to a file of JSON lines; the table at the end has what was asked for.
"""

import argparse
import importlib.metadata
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import corpora
import numpy as np
import score

PROGRAM = os.environ.get("MEANWHILE", "build/release/meanwhile")
CORES = 2
TIMEOUT = 3600  # seconds, of one run

# Peers: processes, and documents an update. The first batch is the peer's default; what it does to the perplexity is
# much, so each peer is run with larger or smaller ones, too, and its best counts.
SETTINGS = {"scikit-learn": [(jobs, batch) for batch in (128, 1000, 2000) for jobs in (1, 2)],
            "gensim": [(jobs, batch) for batch in (2000, 500) for jobs in (1, 2)]}
BATCHES = [2**k for k in range(8, 17)]  # of models against gradients, the same for both; more than all are all
KAPPAS = [0.51, 0.7, 0.9]  # of both; tau0 is so many documents for both

summary = []  # rows of the table at the end: what, measured, asked, whether it holds


def asked(what, measured, limit, holds):
    summary.append([what, measured, limit, "yes" if holds else "NO"])


def table(title, head, rows):
    print(f"\n{title}\n\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(end="", flush=True)


def nats(perplexity, truth):
    return math.log(perplexity / truth)


class Bench:
    def __init__(self, folder, log, flags):
        self.folder, self.log, self.flags = folder, log, flags

    def process(self, command, threads=CORES):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
        done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=TIMEOUT)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        return done.stdout

    def note(self, data, run):
        print(json.dumps(dict(corpus=data.name, **run)), file=self.log, flush=True)
        return run

    def peer(self, data, name, setting, seed):
        jobs, batch = setting
        out = self.folder / "peer.npy"
        said = self.process([sys.executable, pathlib.Path(__file__).with_name("peers.py"), name, data.train, out, "--topics", data.topics,
                             "--passes", data.passes, "--batch", batch, "--jobs", jobs, "--seed", seed], max(1, CORES // jobs))
        seconds = json.loads(said.splitlines()[-1])["seconds"]
        return self.note(data, dict(system=name, setting=f"batch {batch}, {jobs} job{'s'[:jobs > 1]}", seed=seed, seconds=seconds,
                                    documents=data.documents * data.passes, perplexity=data.scorer(np.load(out))))

    def ours(self, data, seed, flags=(), documents=None, passes=None):
        """Stops after about so many documents when told, otherwise after the passes."""
        out = self.folder / "run"
        shutil.rmtree(out, ignore_errors=True)
        # A run that is cut short still knows for how many passes it was meant: more passes than it takes.
        wanted = passes or (data.passes if documents is None else max(data.passes, math.ceil(documents / data.documents)))
        limit = [] if documents is None else ["--max-documents", documents]
        self.process([PROGRAM, "train", "lda", data.train, "--n-topics", data.topics, "--passes", wanted, "--alpha", repr(data.prior),
                      "--no-learn-alpha", "--eta", repr(data.prior), "--tol", 0, "--threads", CORES, "--seed", seed, "--out", out, "--quiet", *self.flags, *flags, *limit])
        rounds = [r for r in map(json.loads, open(out / "metrics.jsonl")) if "round" in r]
        return self.note(data, dict(system="meanwhile", setting=" ".join(map(str, flags)), seed=seed, rounds=len(rounds),
                                    seconds=json.load(open(out / "run.json"))["seconds"]["train"], documents=rounds[-1]["documents"],
                                    perplexity=data.scorer(score.load_topics(out / "model.safetensors"))))


# --- speed, perplexity after the same passes, and time to a peer's perplexity ---

def median(runs, key="seconds"):
    return statistics.median(run[key] for run in runs)


def rate(runs, of=min):
    return runs[0]["documents"] / of(run["seconds"] for run in runs)


def peers(bench, data, repeat, skip_ours):
    runs = {}  # (system, setting) -> runs
    todo = [] if skip_ours else [("meanwhile", None)]
    todo += [(name, setting) for name, settings in SETTINGS.items() for setting in settings]
    for turn in range(repeat):
        shift = turn % len(todo)
        for key in todo[shift:] + todo[:shift]:
            name, setting = key
            run = bench.ours(data, turn + 1) if name == "meanwhile" else bench.peer(data, name, setting, turn + 1)
            runs.setdefault(key, []).append(run)
        if turn == 0:  # from now on, of each peer, only what was fastest, what was best, and the default batch at its fastest
            keep = set()
            for name, settings in SETTINGS.items():
                mine = [k for k in todo if k[0] == name]
                seconds, quality = (lambda k: runs[k][0]["seconds"]), (lambda k: runs[k][0]["perplexity"])
                best = min(mine, key=quality)
                keep |= {best, min(mine, key=seconds), min((k for k in mine if k[1][1] == best[1][1]), key=seconds),
                         min((k for k in mine if k[1][1] == settings[0][1]), key=seconds)}
            todo = [k for k in todo if k[0] == "meanwhile" or k in keep]
    report(bench, data, {k: r for k, r in runs.items() if k in todo}, {k: r for k, r in runs.items() if k not in todo}, repeat)


def report(bench, data, runs, dropped, repeat):
    mine = runs.get(("meanwhile", None))
    rows = []
    for kept, group in ((True, runs), (False, dropped)):
        for key, same in group.items():
            ratio = f"{rate(mine) / rate(same):.1f}x" if mine and key[0] != "meanwhile" else ""
            far = "" if data.truth is None else f"{nats(median(same, 'perplexity'), data.truth):.3f}"
            rows.append([key[0], same[0]["setting"] or "as it comes", len(same), f"{rate(same):,.0f}", f"{rate(same, lambda s: statistics.median(list(s))):,.0f}",
                         ratio, f"{median(same, 'perplexity'):,.1f}", far])
    known = f"one topic {data.unigram:,.1f}" + ("" if data.truth is None else f", true topics {data.truth:,.1f}")
    table(f"{data.name}: {data.documents:,} documents, {data.topics} topics, {data.passes} pass{'es'[:2 * (data.passes > 1)]}; held-out perplexity of {known}",
          ["system", "setting", "runs", "documents/s (of min)", "(of median)", "ours over it", "perplexity", "nats from true"], rows)
    if not mine:
        return
    others = {k: r for k, r in {**runs, **dropped}.items() if k[0] != "meanwhile"}
    fastest, best = max(map(rate, others.values())), min(median(r, "perplexity") for r in others.values())
    ours = median(mine, "perplexity")
    asked(f"{data.name}: documents/s over the fastest peer", f"{rate(mine) / fastest:.1f}x", ">= 10x", rate(mine) >= 10 * fastest)
    asked(f"{data.name}: perplexity after the same passes", f"{ours:,.1f}, best peer {best:,.1f}", "no worse", ours <= best)
    if data.truth is not None and data.passes == 1:
        share = nats(ours, data.truth) / nats(best, data.truth)
        asked(f"{data.name}: nats from the true topics, after one pass", f"{share:.2f} of the best peer's", "<= 0.50", share <= 0.5)
    sooner(bench, data, {k: r for k, r in runs.items() if k[0] != "meanwhile"}, mine, repeat)


def sooner(bench, data, peers, mine, repeat):
    """Seconds to each peer's final perplexity: models of runs that stop after ever more documents, each scored."""
    rows, ladder = [], {}
    total = data.documents * data.passes
    steps = [round(data.documents * 2**(k / 2)) for k in range(-14, 40)]
    for (name, _), same in sorted(peers.items(), key=lambda item: -median(item[1], "perplexity")):
        target, found = median(same, "perplexity"), None
        for documents in [d for d in steps if d <= 4 * total]:
            if documents not in ladder:
                ladder[documents] = [bench.ours(data, 1, documents=documents)]
            if ladder[documents][0]["perplexity"] > target:
                continue
            while len(ladder[documents]) < repeat:
                ladder[documents].append(bench.ours(data, len(ladder[documents]) + 1, documents=documents))
            if median(ladder[documents], "perplexity") <= target:
                found = ladder[documents]
                break
        cells = ["not reached", "", "", ""]
        if found:
            ratio = median(same) / median(found)
            cells = [f"{median(found):.2f}", f"{found[0]['documents'] / data.documents:.3g}", f"{median(found, 'perplexity'):,.1f}", f"{ratio:.1f}x"]
        if name == "gensim":
            asked(f"{data.name}: time to the perplexity of gensim, {same[0]['setting']}", cells[3] or "not reached", ">= 15x sooner", bool(found) and ratio >= 15)
        rows.append([name, same[0]["setting"], f"{target:,.1f}", f"{median(same):.2f}", *cells])
    table(f"{data.name}: seconds (medians) to a peer's final perplexity", ["peer", "setting", "its perplexity", "its seconds", "ours", "passes", "perplexity", "sooner"], rows)


# --- models against gradients ---

def reach(bench, data, run, target, beat, known):
    """The fewest rounds of this setting that end at the target, if fewer than `beat`; otherwise None. By halving:
    each count that is tried is trained and scored, once."""
    each = run["documents"] / run["rounds"]

    def after(rounds):
        key = (*run["flags"], rounds)
        if key not in known:
            known[key] = bench.ours(data, 1, run["flags"], documents=round(rounds * each))
        return known[key]

    low, best = 0, run
    if best["rounds"] >= beat:
        best = after(beat - 1) if beat > 1 else None
        if best is None or best["perplexity"] > target or best["rounds"] >= beat:
            return None
    while best["rounds"] - low > max(1, best["rounds"] // 20):
        middle = (low + best["rounds"]) // 2
        tried = after(middle)
        if tried["perplexity"] > target:
            low = middle
        elif tried["rounds"] < best["rounds"]:
            best = tried
        else:  # the program does not stop that early
            break
    return dict(rounds=best["rounds"], perplexity=best["perplexity"], batch=run["batch"])


def send(bench, data, shards, init):
    best = {"model": {}, "gradient": {}}  # batch -> the best over the schedules
    every = []
    where = f"{data.name}, {init} first topics"
    for batch in [b for b in BATCHES if b < 2 * data.documents]:
        for way in best:
            for kappa in KAPPAS:
                flags = ["--send", way, "--batch-size", batch, "--shards", shards, "--kappa", kappa, "--init", init]
                run = dict(bench.ours(data, 1, flags), flags=flags, batch=batch, way=way, kappa=kappa)
                every.append(run)
                if batch not in best[way] or run["perplexity"] < best[way][batch]["perplexity"]:
                    best[way][batch] = run
    say = lambda run: f"{run['perplexity']:,.1f} ({run['rounds']} rounds; kappa {run['kappa']})"
    table(f"{where}: perplexity after {data.documents * data.passes:,} documents, {shards} shards, the best of {len(KAPPAS)} schedules",
          ["batch", "send model", "send gradient"], [[b, say(best["model"][b]), say(best["gradient"][b])] for b in best["model"]])
    top = {way: min(runs.values(), key=lambda run: run["perplexity"]) for way, runs in best.items()}
    asked(f"{where}: best perplexity of models, of gradients",
          ", ".join(f"{top[w]['perplexity']:,.1f} at batch {top[w]['batch']}" for w in ("model", "gradient")), "lower, at a larger batch",
          top["model"]["perplexity"] < top["gradient"]["perplexity"] and top["model"]["batch"] > top["gradient"]["batch"])
    rows, known = [], {}
    for above in (1.2, 1.05, 1.0):  # of the best that gradients came to
        target, found = top["gradient"]["perplexity"] * above, {}
        for way in best:
            # Few rounds first: then one trial tells that a setting of many is not worth halving.
            for run in sorted((r for r in every if r["way"] == way and r["perplexity"] <= target), key=lambda r: r["rounds"]):
                fewer = reach(bench, data, run, target, found[way]["rounds"] if way in found else math.inf, known)
                found[way] = fewer or found[way]
        cells = [f"{found[w]['rounds']} (batch {found[w]['batch']}, {found[w]['perplexity']:,.1f})" if w in found else "not reached" for w in best]
        ratio = found["gradient"]["rounds"] / found["model"]["rounds"] if len(found) == 2 else 0
        rows.append([f"{target:,.1f}", *cells, f"{ratio:.1f}x" if ratio else ""])
        asked(f"{where}: rounds to {above:g} x the best of gradients", rows[-1][3] or "not reached", ">= 5x fewer", ratio >= 5)
    table(f"{where}: fewest rounds to a perplexity, over all batches and schedules", ["perplexity", "send model", "send gradient", "fewer"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--real", type=pathlib.Path, default=pathlib.Path(os.environ.get("MEANWHILE_DATA", "../shared/data")),
                        help="folder with nips, ap, 20newsgroups; without it these are left out")
    parser.add_argument("--only", default="", help="corpora whose name contains this: generated, nips, ap, 20news")
    parser.add_argument("--rows", choices=("peers", "send"))
    parser.add_argument("--topics", type=int, default=50, help="of real corpora")
    parser.add_argument("--passes", type=int, default=10, help="over real corpora")
    parser.add_argument("--generated-passes", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--shards", type=int, default=8, help="of models against gradients")
    parser.add_argument("--jobs", type=int, default=0, help="of peers; 0: one and two, and the better of them counts")
    parser.add_argument("--peers-only", action="store_true")
    parser.add_argument("--flags", default="", help="given to every run of this program")
    parser.add_argument("--out", type=pathlib.Path, default=corpora.CACHE / "runs.jsonl", help="all runs, as JSON lines")
    arguments = parser.parse_args()
    if arguments.jobs:
        for name, settings in SETTINGS.items():
            SETTINGS[name] = [(jobs, batch) for jobs, batch in settings if jobs == arguments.jobs]
    print("  ".join(f"{p} {importlib.metadata.version(p)}" for p in ("numpy", "scipy", "scikit-learn", "gensim")), flush=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="meanwhile-bench-") as name, open(arguments.out, "a") as log:
        bench = Bench(pathlib.Path(name), log, arguments.flags.split())
        for data in corpora.all_of(arguments.real, arguments.only, arguments.topics, arguments.passes, arguments.generated_passes):
            if arguments.rows in (None, "peers"):
                peers(bench, data, arguments.repeat, arguments.peers_only)
            if arguments.rows in (None, "send") and not arguments.peers_only:
                for init in ("random", "documents"):
                    send(bench, data, arguments.shards, init)
    if summary:
        table("What was asked for", ["what", "measured", "asked", "holds"], summary)


if __name__ == "__main__":
    main()
