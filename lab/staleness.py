"""The dial: time to a given objective at each staleness, with and without stragglers.

Hosts are slow because their share of a core is made smaller for a while, on a seed; nothing in the program sleeps. A setting is given
as many rounds as it needs to come within 0.01 of the optimum, which L-BFGS finds first; the objective of its model is beside its time.
The experiment has parts (PARTS), each a few minutes; `needs` finds optimum and rounds on the bare machine and keeps them for the others.
"""

import json
import math
import pathlib
import random
import shutil
import statistics
import subprocess
import threading

from runs import FOLDER, PROGRAM, Cluster, Failed, labelled, run, thread_shares

SHARDS, HOSTS = 32, 8
PERCENT, PERIOD_MS = 10, 50  # a fifth of it is still what a kernel can hand out
EVEN_MBIT, HALF_MBIT = 10, 20  # an exchange takes about as long as the work, and half as long
DIAL = {"staleness 0": ["--staleness", 0], "staleness 1": ["--staleness", 1], "staleness 4": ["--staleness", 4], "staleness 8": ["--staleness", 8],
        "staleness 1, replicas 2": ["--staleness", 1, "--replicas", 2]}
L2 = "5e-5"  # weak: a job of some thirty rounds, of which preparing is a small part
MOST_TRIES = 8  # of a setting, each with a twentieth more rounds than the one before
SLOW = 3  # the host or thread that is always slow; not the first, which absorbs for all threads


class Stragglers:
    """Makes hosts slow for a while, and as they were again at its end. `always`: this host, all the time; or on a seed, each host for a
    part of the time, `period_s` at once."""

    def __init__(self, cluster, percent, factor, share=0.0, period_s=1.0, always=None, seed=1):
        self.cluster, self.percent, self.factor, self.share, self.period_s = cluster, percent, factor, share, period_s
        self.always = always
        self.random = random.Random(seed)
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.play)

    def quota(self, host, percent):
        run(["bash", self.cluster.script, "quota", host, max(1, round(percent))], 10, self.cluster.environment)

    def play(self):
        slow = set()
        while not self.ends.is_set():
            for host in range(1, HOSTS + 1):
                now = self.random.random() < self.share
                if now != (host in slow):
                    self.quota(host, self.percent / self.factor if now else self.percent)
                    (slow.add if now else slow.discard)(host)
            self.ends.wait(self.period_s)
        for host in slow:
            self.quota(host, self.percent)

    def __enter__(self):
        if self.always:
            self.quota(self.always, self.percent / self.factor)
        elif self.share:
            self.thread.start()
        return self

    def __exit__(self, *what):
        self.ends.set()
        if self.always:
            self.quota(self.always, self.percent)
        elif self.share:
            self.thread.join()


def lines_of(folder):
    with open(folder / "metrics.jsonl") as lines:
        return [line for line in map(json.loads, lines) if "round" in line]


def train_here(flags, threads=2):
    """On the bare machine: models with a staleness of 0 and 1 are the same everywhere, so that their quality is known before."""
    out = FOLDER / "here"
    run(["rm", "-rf", out], 60)
    return json.loads(run([PROGRAM, "train", *flags, "--threads", threads, "--out", out, "--json", "--quiet"], 300, codes=(0, 3)))


def is_fresh(more):
    return more[more.index("--staleness") + 1] >= 2


def rounds_to(flags, more, target, count="--max-iter", most=100):
    """The least number of rounds whose model is at the target; `most` if none is."""
    least = 1
    while least < most:
        middle = (least + most) // 2
        if train_here([*flags, *more, count, middle])["objective"] <= target:
            most = middle
        else:
            least = middle + 1
    return least


def needs_of(flags, dial, target, count="--max-iter", most=100):
    """Fresh reads are as they happen to be: they begin with the rounds of staleness 1, and get more where they miss the target."""
    found = {name: rounds_to(flags, more, target, count, most) for name, more in dial.items() if not is_fresh(more)}
    return {**found, **{name: found["staleness 1"] for name, more in dial.items() if is_fresh(more)}}


def settle(name, rounds, results, target, say):
    """What the turns of a setting came to: (lines, objective of the model) each."""
    mean = lambda part: statistics.median(statistics.mean(part(line) for line in lines[2:]) for lines, _ in results)  # noqa: E731
    took = [lines[-1]["elapsed_s"] for lines, _ in results]
    # Slow spells differ by turn: a mean is what a long job would see of them.
    found = {"name": name, "rounds": rounds, "seconds": statistics.mean(took),
             "prepare_s": statistics.median(lines[0]["elapsed_s"] - lines[0]["seconds"] for lines, _ in results),
             "all_seconds": took, "objective": max(objective for _, objective in results),
             "reached": all(objective <= target for _, objective in results),
             "round_s": mean(lambda line: line["seconds"]), "exchange_s": mean(lambda line: line.get("exchange", {}).get("seconds", 0)),
             "hidden_s": mean(lambda line: line.get("exchange", {}).get("hidden_seconds", 0))}
    stale = [line["staleness"] for lines, _ in results for line in lines if "staleness" in line]
    if stale:
        found["staleness"] = {"mean": statistics.mean(s["mean"] for s in stale), "most": max(s["most"] for s in stale)}
    say(f"{name}: {rounds} rounds, {found['seconds']:.2f} s (preparing {found['prepare_s']:.2f}, a round {found['round_s']:.3f}, exchange {found['exchange_s']:.3f}, of it beside work "
        f"{found['hidden_s']:.3f}), objective {found['objective']:.4f}" + ("" if found["reached"] else f", not the target of {target:.4f}") +
        (f", staleness {found['staleness']['mean']:.2f} in the mean, {found['staleness']['most']} at most" if stale else ""))
    return found


def alternating(settings, needs, target, repeats, say, train):
    """`train(turn, more, rounds)` trains and returns (lines, objective). Turns of all settings alternate."""
    results = {name: [] for name in settings}
    rounds, tries = {name: needs[name] for name in settings}, {name: 1 for name in settings}
    while missing := [name for name in settings if len(results[name]) < repeats]:
        for name in missing:
            done = train(len(results[name]), settings[name], rounds[name])
            results[name].append(done)
            say(f"{name}: {rounds[name]} rounds, {done[0][-1]['elapsed_s']:.2f} s, objective {done[1]:.4f}")
            if done[1] > target and is_fresh(settings[name]) and tries[name] < MOST_TRIES:
                # All turns of a setting have as many rounds, and all reach the target.
                rounds[name], tries[name], results[name] = math.ceil(1.05 * rounds[name]), tries[name] + 1, []
    found = [settle(name, rounds[name], turns, target, say) for name, turns in results.items()]
    for other in found[1:]:
        other["against_first"] = found[0]["seconds"] / other["seconds"]
        say(f"{other['name']}: {other['against_first']:.2f}x")
    return found


def over_ranks(cluster, flags, stragglers=None, count="--max-iter"):
    def train(turn, more, rounds):
        with (stragglers(turn) if stragglers else Stragglers(cluster, 0, 1)):
            done = cluster.train_on_ranks([*flags, *more, count, rounds], HOSTS, None, 240)
        return lines_of(FOLDER / "run"), done["objective"]
    return train


def over_threads(flags, percent, slow):
    """Eight threads of one process, each with a share of a core; one of them has a `slow`-th of it."""
    def train(turn, more, rounds):
        out = FOLDER / "run"
        run(["rm", "-rf", out], 60)
        shares = [percent / slow if i == SLOW else percent for i in range(HOSTS)]
        with thread_shares([PROGRAM, "train", *flags, *more, "--max-iter", rounds, "--threads", HOSTS, "--out", out, "--quiet"], shares, 240):
            pass
        return lines_of(out), json.loads((out / "run.json").read_text())["objective"]
    return train


def over_store(cluster, flags, slow):
    """A store in a directory, one worker on each host; one host has a `slow`-th of its share."""
    def train(turn, more, rounds):
        store = FOLDER / "store"
        shutil.rmtree(store, ignore_errors=True)
        with Stragglers(cluster, PERCENT, slow, always=SLOW):
            done = cluster.train_on_storage([*flags, *more, "--max-iter", rounds], HOSTS, None, 200, store)
        return lines_of(FOLDER / "run"), done["objective"]
    return train


# --- what is trained ---

def converted(rows, files, cols, nonzeros):
    """Rows that hosts map: parsing text takes a tenth of a core long."""
    path = FOLDER / f"labelled-{rows}x{files}-{cols}-{nonzeros}.safetensors"
    if not path.exists():
        run([PROGRAM, "convert", *[labelled(rows, cols, nonzeros)] * files, path, "--n-features", cols, "--quiet"], 300)
    return path


def topics():
    """The UCI bag of words `kos`, which LAB_WORDS names; null: there is none."""
    import os
    path = os.environ.get("LAB_WORDS")
    return pathlib.Path(path) if path else None


def linear_needs(learner, data, dial, say):
    same = [learner, *data, "--l2", L2, "--tol", 0]
    best = train_here([learner, *data, "--l2", L2, "--solver", "lbfgs", "--max-iter", 300, "--tol", "1e-6"])["objective"]
    flags = [*same, "--solver", "sgd", "--shards", SHARDS]
    flags += ["--learning-rate", train_here([*flags, "--max-iter", 1])["chosen"]["learning_rate"]]
    found = {"flags": [str(f) for f in flags], "optimum": best, "target": best + 0.01, "count": "--max-iter",
             "needs": needs_of(flags, dial, best + 0.01)}
    say(f"{learner}: optimum {best:.4f}; rounds to 0.01 of it: {found['needs']}")
    return found


def topic_needs(words, dial, say):
    """Topics have no known optimum: the objective that ten passes without staleness come to."""
    flags = ["lda", words, "--n-topics", 20, "--tol", 0, "--shards", SHARDS]
    target = train_here([*flags, "--staleness", 0, "--passes", 10])["objective"] + 1e-9
    found = {"flags": [str(f) for f in flags], "target": target, "count": "--passes",
             "needs": needs_of(flags, dial, target, "--passes", 30)}
    say(f"lda: perplexity per word in logarithms {target:.4f}; passes to it: {found['needs']}")
    return found


def some(*names):
    return {name: DIAL[name] for name in names}


def needs(quick, say):
    rows, files, cols, nonzeros = (20000, 1, 2000, 20) if quick else (200000, 3, 20000, 90)
    data = [converted(rows, files, cols, nonzeros)]
    dial = {name: more for name, more in DIAL.items() if "--replicas" not in more}  # replicas change no bit
    found = {learner: linear_needs(learner, data, dial, say) for learner in ("svm", "logistic")}
    if words := topics():
        found["lda"] = topic_needs(words, dial, say)
    for of in found.values():
        of["needs"]["staleness 1, replicas 2"] = of["needs"]["fixed shards"] = of["needs"]["staleness 1"]
        of["needs"]["fixed shards"] = of["needs"]["staleness 0"]
    return {"rows": rows * files, "cols": cols, "nonzeros": nonzeros, "of": found}


def even(known, repeats, say):
    of = known["svm"]
    with Cluster(HOSTS, rate_mbit=EVEN_MBIT, cpu_percent=PERCENT, period_ms=PERIOD_MS) as cluster:
        return alternating(some("staleness 0", "staleness 1", "staleness 4"), of["needs"], of["target"], repeats, say, over_ranks(cluster, of["flags"]))


def stragglers(known, repeats, say):
    of = known["svm"]
    with Cluster(HOSTS, rate_mbit=HALF_MBIT, cpu_percent=PERCENT, period_ms=PERIOD_MS) as cluster:
        calm = cluster.train_on_ranks([*of["flags"], "--staleness", 0, "--max-iter", 6], HOSTS, None, 240)["rounds"]
        period_s = 5 * statistics.mean(calm[2:])
        say(f"hosts slow 5x for 5 % of the time, {period_s:.2f} s at once")
        slow = lambda turn: Stragglers(cluster, PERCENT, 5, 0.05, period_s, seed=turn + 1)  # noqa: E731
        return alternating(some("staleness 0", "staleness 1", "staleness 8", "staleness 1, replicas 2"), of["needs"], of["target"], repeats, say,
                           over_ranks(cluster, of["flags"], slow))


def one_slow(known, repeats, say):
    of = known["svm"]
    with Cluster(HOSTS, rate_mbit=HALF_MBIT, cpu_percent=PERCENT, period_ms=PERIOD_MS) as cluster:
        slow = lambda turn: Stragglers(cluster, PERCENT, 4, always=SLOW)  # noqa: E731
        return alternating(some("staleness 0", "staleness 1", "staleness 1, replicas 2"), of["needs"], of["target"], repeats, say,
                           over_ranks(cluster, of["flags"], slow))


def one_slow_thread(known, repeats, say):
    of = known["svm"]
    settings = {"fixed shards": ["--exchange", "allreduce", "--staleness", 0], **some("staleness 0", "staleness 1")}
    return alternating(settings, of["needs"], of["target"], repeats, say, over_threads(of["flags"], PERCENT, 4))


def one_slow_at_a_store(known, repeats, say):
    of = known["svm"]
    with Cluster(HOSTS, rate_mbit=HALF_MBIT, cpu_percent=PERCENT, period_ms=PERIOD_MS) as cluster:
        return alternating(some("staleness 0", "staleness 1"), of["needs"], of["target"], repeats, say, over_store(cluster, of["flags"], 4))


def learners(known, repeats, say):
    found = {}
    with Cluster(HOSTS, rate_mbit=EVEN_MBIT, cpu_percent=PERCENT, period_ms=PERIOD_MS) as cluster:
        for name, of in known.items():
            say(f"{name}:")
            found[name] = alternating(some("staleness 0", "staleness 1", "staleness 4", "staleness 8"), of["needs"], of["target"], repeats, say,
                                      over_ranks(cluster, of["flags"], count=of["count"]))
    return found


PARTS = {"even": even, "stragglers": stragglers, "one slow": one_slow, "one slow thread": one_slow_thread, "one slow at a store": one_slow_at_a_store,
         "learners": learners}


def staleness(quick, repeats, parts, before, say=print):
    """`before`: what an earlier call found, whose parts that are not asked for are kept."""
    kept = FOLDER / f"staleness-needs{'-quick' if quick else ''}.json"
    if "needs" in parts or not kept.exists():
        kept.write_text(json.dumps(needs(quick, say)))
    known = json.loads(kept.read_text())
    settings = dict(before.get("settings", {}))
    for part in PARTS:
        if part in parts:
            say(f"{part}:")
            try:
                settings[part] = PARTS[part](known["of"], repeats, say)
            except (Failed, subprocess.SubprocessError) as error:
                say(f"{part} failed: {error}")
    return {"hosts": HOSTS, "shards": SHARDS, "cpu_percent": PERCENT, "period_ms": PERIOD_MS, "even_mbit": EVEN_MBIT, "half_mbit": HALF_MBIT,
            "optimum": known["of"]["svm"]["optimum"], **{key: known[key] for key in ("rows", "cols", "nonzeros")}, "settings": settings}
