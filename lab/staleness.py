"""The dial: time to a given objective at each staleness, with and without stragglers.

Hosts are slow because their share of a core is made smaller for a while, on a seed; nothing in the program sleeps. A setting is given
as many rounds as it needs to come within 0.01 of the optimum, which L-BFGS finds first; the objective of its model is beside its time.
"""

import json
import random
import statistics
import threading

from runs import FOLDER, PROGRAM, Cluster, labelled, run, thread_shares

SHARDS, HOSTS = 32, 8


class Stragglers:
    """Makes hosts slow for a while, and as they were again at its end. `slow`: host -> factor, always; or on a seed, each host for a
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
    return json.loads(run([PROGRAM, "train", *flags, "--threads", threads, "--out", out, "--json", "--quiet"], 300))


def rounds_to(flags, more, target):
    """The least number of rounds whose model is at the target. Fresh reads: as they happen to be here, and one more."""
    least, most = 1, 64
    fresh = "--staleness" in more and more[more.index("--staleness") + 1] >= 2
    if "--replicas" in more:  # changes no bit, and needs several workers
        more = more[:more.index("--replicas")]
    while least < most:
        middle = (least + most) // 2
        if train_here([*flags, *more, "--max-iter", middle], HOSTS if fresh else 2)["objective"] <= target:
            most = middle
        else:
            least = middle + 1
    return least + (1 if fresh else 0)


def settle(name, rounds, results, target, say):
    """What the turns of a setting came to: (lines, objective of the model) each."""
    found = {"name": name, "rounds": rounds, "seconds": statistics.median(lines[-1]["elapsed_s"] for lines, _ in results),
             "all_seconds": [lines[-1]["elapsed_s"] for lines, _ in results], "objective": max(objective for _, objective in results),
             "reached": all(objective <= target for _, objective in results),
             "round_s": statistics.median((lines[-1]["elapsed_s"] - lines[2]["elapsed_s"]) / (len(lines) - 3) for lines, _ in results)}
    stale = [line["staleness"] for lines, _ in results for line in lines if "staleness" in line]
    if stale:
        found["staleness"] = {"mean": statistics.mean(s["mean"] for s in stale), "most": max(s["most"] for s in stale)}
    say(f"{name}: {rounds} rounds, {found['seconds']:.2f} s ({found['round_s']:.3f} a round), objective {found['objective']:.4f}" +
        ("" if found["reached"] else f", not the target of {target:.4f}") +
        (f", staleness {found['staleness']['mean']:.2f} in the mean, {found['staleness']['most']} at most" if stale else ""))
    return found


def over_ranks(cluster, flags, settings, needs, target, repeats, say, stragglers=None):
    results = {name: [] for name in settings}
    for turn in range(repeats):
        for name, more in settings.items():
            with (stragglers(turn) if stragglers else Stragglers(cluster, 0, 1)):
                done = cluster.train_on_ranks([*flags, *more, "--max-iter", needs[name]], HOSTS, None, 240)
            results[name].append((lines_of(FOLDER / "run"), done["objective"]))
    return ratios([settle(name, needs[name], turns, target, say) for name, turns in results.items()])


def on_threads(flags, settings, needs, target, repeats, percent, slow, say):
    """Eight threads of one process, each with a share of a core; one of them has a `slow`-th of it."""
    results = {name: [] for name in settings}
    for _ in range(repeats):
        for name, more in settings.items():
            out = FOLDER / "run"
            run(["rm", "-rf", out], 60)
            with thread_shares([PROGRAM, "train", *flags, *more, "--max-iter", needs[name], "--threads", HOSTS, "--out", out, "--quiet"],
                               [percent / slow] + [percent] * (HOSTS - 1), 240):
                pass
            results[name].append((lines_of(out), json.loads((out / "run.json").read_text())["objective"]))
    return ratios([settle(name, needs[name], turns, target, say) for name, turns in results.items()])


def ratios(found):
    for other in found[1:]:
        other["against_first"] = found[0]["seconds"] / other["seconds"]
    return found


def staleness(quick, repeats, note, say=print):
    rows, files, cols, nonzeros = (20000, 1, 2000, 20) if quick else (200000, 3, 20000, 30)
    percent, period_ms = 10, 100  # a fifth of it is still what a kernel can hand out
    data = [*[labelled(rows, cols, nonzeros)] * files, "--n-features", cols, "--l2", "1e-4"]
    best = train_here(["svm", *data, "--solver", "lbfgs", "--max-iter", 300, "--tol", "1e-6"])["objective"]
    target = best + 0.01
    same = ["svm", *data, "--solver", "sgd", "--tol", 0, "--shards", SHARDS]
    rate = train_here([*same, "--max-iter", 1])["chosen"]["learning_rate"]
    flags = [*same, "--learning-rate", rate]
    dial = {"staleness 0": ["--staleness", 0], "staleness 1": ["--staleness", 1], "staleness 4": ["--staleness", 4], "staleness 8": ["--staleness", 8],
            "staleness 1, replicas 2": ["--staleness", 1, "--replicas", 2]}
    needs = {name: rounds_to(flags, more, target) for name, more in dial.items()}
    say(f"optimum {best:.4f}; rounds to 0.01 of it: {needs}")
    some = lambda *names: {name: dial[name] for name in names}  # noqa: E731
    found = {}
    # Links such that an exchange takes about as long as the work, and half as long.
    with Cluster(HOSTS, rate_mbit=30, cpu_percent=percent, period_ms=period_ms) as cluster:
        say("exchange about as long as work:")
        found["even"] = over_ranks(cluster, flags, some("staleness 0", "staleness 1", "staleness 4"), needs, target, repeats, say)
    with Cluster(HOSTS, rate_mbit=60, cpu_percent=percent, period_ms=period_ms) as cluster:
        period_s = 5 * found["even"][0]["round_s"]
        say("hosts slow 5x for 5 % of the time, 5 rounds at once:")
        found["stragglers"] = over_ranks(cluster, flags, dial, needs, target, repeats, say,
                                         lambda turn: Stragglers(cluster, percent, 5, 0.05, period_s, seed=turn + 1))
        say("one host always 4x slow:")
        found["one slow"] = over_ranks(cluster, flags, some("staleness 0", "staleness 1", "staleness 1, replicas 2"), needs, target, repeats, say,
                                       lambda turn: Stragglers(cluster, percent, 4, always=3))
    say("one of eight threads always 4x slow:")
    threads = {"fixed shards": ["--exchange", "allreduce", "--staleness", 0], "staleness 0": ["--staleness", 0], "staleness 1": ["--staleness", 1]}
    needs["fixed shards"] = needs["staleness 0"]
    found["one slow thread"] = on_threads(flags, threads, needs, target, repeats, percent, 4, say)
    return {"hosts": HOSTS, "shards": SHARDS, "cpu_percent": percent, "period_ms": period_ms, "optimum": best, "rows": rows * files, "cols": cols, "nonzeros": nonzeros,
            "settings": found}
