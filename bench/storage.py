"""Jobs on nothing but storage, measured five ways; see each function for what is counted, and how.

Peers take turns in one run, with what is loaded outside the clock, and every timing is printed beside a check
that the bytes or models are the same: by SHA-256. Ratios are of minima and of medians. Only the standard
library is used. The table at the end has what was asked for.
"""

import argparse
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import time

from storage_server import ACCOUNT, FOLDER, asked, azurite, bench, run, say, summary, table
from storage_transfer import transfer

PROGRAM = os.environ.get("MEANWHILE", "build/release/meanwhile")

# --- jobs ---

def points(rows, cols):
    path = FOLDER / f"points-{rows}-{cols}.npy"
    if not path.exists():
        bench("points", path, rows, cols)
    return path


def kmeans(path, clusters, rounds, shards):
    return ["kmeans", path, "--n-clusters", clusters, "--init", "random", "--n-init", "1", "--tol", "0", "--max-iter", rounds, "--shards", shards]


def train(flags, environment=None):
    """What the program says at the end, with the seconds of a round: from the end of round 2 to that of the last,
    for rows are loaded in the first."""
    out = FOLDER / "run"
    shutil.rmtree(out, ignore_errors=True)
    begin = time.monotonic()
    result = json.loads(run([PROGRAM, "train", *flags, "--out", out, "--json", "--quiet"], environment))
    result["wall_s"] = time.monotonic() - begin
    with open(out / "metrics.jsonl") as lines:
        elapsed = {line["round"]: line["elapsed_s"] for line in map(json.loads, lines) if "round" in line}
    last = max(elapsed)
    result["round_s"] = (elapsed[last] - elapsed[2]) / (last - 2) if last > 2 else float("nan")
    shutil.rmtree(out)
    return result


fresh = iter(range(10**6))


def on_store(flags, workers, where, *more):
    """The flags of the same job at a new place, and the environment it needs: a directory, or a running Azurite."""
    name = f"job-{os.getpid()}-{next(fresh)}"
    store = FOLDER / name if where is None else f"azure://{ACCOUNT}/bench/{name}"
    return [*flags, "--workers", workers, "--runtime", "storage", "--store", store, *more], where


def train_on_store(*arguments):
    flags, environment = on_store(*arguments)
    result = train(flags, environment)
    if environment is None:
        shutil.rmtree(flags[flags.index("--store") + 1], ignore_errors=True)
    return result


# --- 2. rounds, against threads ---

def overhead(size):
    turns, rounds, shards, workers = (1, 5, 8, 2) if size.quick else (5, 12, 8, 2)
    flags = kmeans(size.points, size.clusters, rounds, shards)
    results = {"threads": [], "storage": []}
    for turn in range(turns):
        for runtime in (("threads", "storage") if turn % 2 else ("storage", "threads")):
            results[runtime].append(train([*flags, "--runtime", "threads", "--threads", workers]) if runtime == "threads"
                                    else train_on_store(flags, workers, None))
        say(f"overhead, turn {turn + 1} of {turns}: " + ", ".join(f"{name} {r[-1]['round_s']:.3f} s a round" for name, r in results.items()))
    equal = len({r["model_sha256"] for both in results.values() for r in both}) == 1
    rows = []
    for what, value in (("a round", lambda r: r["round_s"]), ("all training", lambda r: r["seconds"]["train"]), ("the command", lambda r: r["wall_s"])):
        threads, storage = ([value(r) for r in results[name]] for name in ("threads", "storage"))
        of_min, of_median = min(storage) / min(threads) - 1, statistics.median(storage) / statistics.median(threads) - 1
        rows.append([what, *(f"{f(v):.3f}" for v in (threads, storage) for f in (min, statistics.median)), f"{of_min:+.1%}", f"{of_median:+.1%}",
                     "equal" if equal else "NOT EQUAL"])
        if what != "the command":
            asked(f"rounds on a directory over threads, seconds of {what}", f"{of_min:+.1%} (medians {of_median:+.1%})", "≤ 15 %",
                  equal and of_median <= 0.15)
    table(f"k-means of {size.text}, {rounds} rounds, {shards} shards, {workers} workers, {turns} turns: seconds", ["", "threads min", "threads median",
          "storage min", "storage median", "more", "of medians", "model SHA-256"], rows)
    print("\nA round: from the end of the second to the end of the last. All training: workers' fetching of rows and the result included,"
          "\nnot the submitting. The command: from its start to its exit, submitting included.")


# --- 3. requests ---

def requests(size):
    """The bill of a job of many rounds less that of one of few: whatever a job costs once is in both. The lease is
    an hour, so that no renewal or heartbeat falls into a job: those are by the second, and have a job of their own.
    Polls, too, are by the second, and are those of the longer job over the seconds it trained."""
    few, many = (5, 15) if size.quick else (5, 45)
    cases = [(shards, workers, None) for shards in ((8, 16) if size.quick else (8, 16, 64)) for workers in ((1, 2) if size.quick else (1, 2, 8))]
    rows, most = [], {}

    def pair(shards, workers, environment, lease):
        """Requests by kind, and polls, that the rounds between have cost; and the longer job."""
        short, long = (train_on_store(kmeans(size.fewer_points, size.clusters, rounds, shards), workers, environment, "--lease", lease)
                       for rounds in (few, many))
        kinds = {kind: (count - short["bill"]["requests"][kind]) / (many - few) for kind, count in long["bill"]["requests"].items()}
        return kinds, (long["bill"]["polls"] - short["bill"]["polls"]) / (many - few), long

    expected = {shards: train([*kmeans(size.fewer_points, size.clusters, many, shards), "--runtime", "threads", "--threads", "2"])["model_sha256"]
                for shards in {16, *(case[0] for case in cases)}}
    with azurite() as environment:
        for shards, workers, where in [*cases, (16, 4, environment)]:
            group = shards if shards <= 8 else 1 << math.floor(math.log2(shards) / 2 + 0.5)
            tasks = shards + (math.ceil(shards / group) if group < shards else 0) + 1
            kinds, polls, long = pair(shards, workers, where, 3600)
            each = sum(kinds[kind] for kind in ("put", "get", "list", "remove")) - polls
            limit = 3 * shards + 3 * math.sqrt(shards)
            seconds, bill = long["seconds"]["train"], long["bill"]
            rate = bill["polls"] / seconds / tasks
            equal = long["model_sha256"] == expected[shards]
            store = "directory" if where is None else "Azurite"
            most[store] = max(most.get(store, 0.0), rate)
            rows.append([store, shards, workers, f"{long['round_s']:.2f}", *(f"{kinds[kind]:.1f}" for kind in ("put", "get", "list", "remove")), f"{polls:.1f}",
                         f"{each:.1f}", f"{limit:.1f}", f"{each / limit:.2f}", f"{rate:.2f}", f"{bill['requests']['lease'] / seconds:.2f}", bill["retries"],
                         "equal" if equal else "NOT EQUAL"])
            asked(f"requests of a round, S = {shards}, W = {workers}, {store}", f"{each:.1f}", f"≤ {limit:.1f}", equal and each <= limit)
            say(f"requests, S = {shards}, W = {workers}, {store}: {each:.1f} of {limit:.1f} a round")
        # The second's share, with a lease short enough to see it.
        shards, workers, lease, tasks = 16, 4, 3, 16 + 4 + 1
        long = pair(shards, workers, environment, lease)[2]
        renewals = long["bill"]["requests"]["renew"] / long["seconds"]["train"]
    table(f"Requests of a round of k-means, {size.text_fewer}: a job of {many} rounds less one of {few}", ["store", "S", "W", "s a round", "put", "get", "list",
          "remove", "of them polls", "without polls", "3·S + 3·√S", "ratio", "polls a task and second", "queue looks a second", "retries", "model SHA-256"], rows)
    print("\nCounted by the workers' own meters, every try of every request, as a cloud would bill: blobs removed together are one."
          "\nPolls: requests for what others have to put that found nothing new. S shards, W workers; tasks: S + groups (where S > 8) + 1."
          f"\nBy the second, S = {shards}, W = {workers}, Azurite, --lease {lease}: {renewals:.1f} renewals"
          f" ({tasks} tasks every {lease / 3:g} s are {tasks / (lease / 3):.1f}), and a heartbeat of one put and one list of each worker as often;"
          f"\nat the default lease of 30 s these would be {tasks / 10:.1f} + {2 * workers / 10:.1f} requests a second.")
    for store, rate in most.items():
        asked(f"polls a task and second, the most, {store}", f"{rate:.2f}", "≤ 2" if store == "Azurite" else "≤ 2 where requests cost",
              rate <= 2 if store == "Azurite" else None)


# --- 4. resuming ---

def steps_done(store):
    """Steps whose sum or whose following state is at the store: the names of both say which."""
    done = 0
    for job in store.glob("blobs/*/"):
        done = max([done, *(int(p.parent.name) + 1 for p in job.glob("rounds/*/total")), *(int(p.name) for p in job.glob("state/*"))])
    return done


def wait_until(condition, limit, what):
    begin = time.monotonic()
    while not condition():
        if time.monotonic() - begin > limit:
            raise SystemExit(f"{what}: not within {limit} s")
        time.sleep(0.002)
    return time.monotonic() - begin


def resume(size):
    """All worker processes are killed (SIGKILL) at a random moment, and as many are started at once. Measured from the
    start of the new ones to the first sum of a round that was not there, the fetching of rows by the new ones included."""
    kills, workers, lease, shards = (2, 2, 2, 8) if size.quick else (8, 2, 5, 8)
    rounds = 5 * kills + 5
    store = FOLDER / f"resume-{os.getpid()}"
    shutil.rmtree(store, ignore_errors=True)
    flags = kmeans(size.points, size.clusters, rounds, shards)
    expected = train([*flags, "--runtime", "threads", "--threads", workers])
    run([PROGRAM, "submit", *flags, "--store", store, "--lease", lease, "--quiet"])

    def start():
        return [subprocess.Popen([PROGRAM, "worker", "--store", store, "--threads", "1", "--quiet"]) for _ in range(workers)]

    chance, took = random.Random(4), []
    alive = start()
    try:
        before = 0
        for kill in range(kills):
            wait_until(lambda: steps_done(store) >= before + 2, 120, "two more steps")
            time.sleep(chance.uniform(0, 2 * expected["round_s"]))
            for worker in alive:
                worker.kill()
            for worker in alive:
                worker.wait()
            before = steps_done(store)
            alive = start()
            took.append(wait_until(lambda: steps_done(store) > before, 20 * lease, "a round after a kill"))
            say(f"resume, kill {kill + 1} of {kills} after step {before}: {took[-1]:.2f} s")
        for worker in alive:
            if worker.wait(timeout=600) != 0:
                raise SystemExit("a worker failed")
    finally:
        for worker in alive:
            worker.kill()
    out = FOLDER / "run"
    shutil.rmtree(out, ignore_errors=True)
    fetched = json.loads(run([PROGRAM, "fetch", "--store", store, "--out", out, "--json", "--quiet"]))
    equal = fetched.get("model_sha256") == expected["model_sha256"]
    with open(out / "metrics.jsonl") as lines:
        round_s = statistics.median(line["seconds"] for line in map(json.loads, lines) if "round" in line)
    shutil.rmtree(out)
    shutil.rmtree(store, ignore_errors=True)
    limit = lease + round_s
    table(f"Seconds to the next round after all {workers} workers were killed, {kills} times in one job of {rounds} rounds, --lease {lease}",
          ["min", "median", "max", "a round", "lease + a round", "within", "model SHA-256"],
          [[f"{min(took):.2f}", f"{statistics.median(took):.2f}", f"{max(took):.2f}", f"{round_s:.2f}", f"{limit:.2f}", f"{sum(t <= limit for t in took)} of {kills}",
            "equal" if equal else "NOT EQUAL"]])
    asked(f"seconds to the next round after all were killed, the longest of {kills}", f"{max(took):.2f}", f"≤ {limit:.2f} (lease + a round)",
          equal and max(took) <= limit)


# --- 5. barriers ---

def barriers(size):
    """The two barriers of "K-means on Azure". The reducer lists the updates, as the product does; or every worker adds itself
    to one blob by compare-and-swap, and the reducer reads that. The paper saw, and this shows, that the swaps cost more the
    more workers meet there."""
    repeats = 3 if size.quick else 9
    median = lambda passes, what: statistics.median(p[what] for p in passes)
    rows = []
    with azurite() as environment:
        for store in ("directory", "Azurite"):
            ratios = {}
            for workers in ((1, 4, 16) if size.quick else (1, 2, 4, 8, 16, 32, 64)):
                folder = FOLDER / "barrier"
                shutil.rmtree(folder, ignore_errors=True)
                url = folder if store == "directory" else f"azure://{ACCOUNT}/bench/barrier-{workers}"
                both = bench("barrier", url, workers, repeats, environment=environment)
                shutil.rmtree(folder, ignore_errors=True)
                listed, counted = both["list"], both["counter"]
                ratios[workers] = median(counted, "seconds") / median(listed, "seconds")
                least = lambda passes: min(p["seconds"] for p in passes)
                rows.append([store, workers, *(f"{1e3 * v:.1f}" for v in (least(listed), median(listed, "seconds"), least(counted), median(counted, "seconds"))),
                             f"{ratios[workers]:.1f}", f"{median(counted, 'conflicts'):.0f}", f"{median(listed, 'requests'):.0f}", f"{median(counted, 'requests'):.0f}"])
            asked(f"barrier alone, counter over list, {store}", ", ".join(f"{w}: {r:.1f}" for w, r in ratios.items()), "grows with the workers",
                  max(ratios) == max(ratios, key=ratios.get))
            say(f"barriers, {store}: done")
        table(f"A barrier alone: ms until the reducer knows that all updates are there, {repeats} times", ["store", "workers", "list min", "list median",
              "counter min", "counter median", "of medians", "swaps that failed", "requests, list", "requests, counter"], rows)


class Size:
    """Of what is learnt: about a second a round on two cores, and a fraction of it where requests are counted."""

    def __init__(self, quick):
        self.quick = quick
        rows, fewer_rows, cols, self.clusters = (60_000, 30_000, 16, 200) if quick else (1_000_000, 200_000, 64, 4500)
        self.points, self.fewer_points = points(rows, cols), points(fewer_rows, cols)
        text = f" x {cols}, K = {self.clusters:,}"
        self.text, self.text_fewer = f"{rows:,}{text}", f"{fewer_rows:,}{text}"


def main():
    parser = argparse.ArgumentParser()
    parts = {"transfer": lambda size: transfer(size.quick), "overhead": overhead, "requests": requests, "resume": resume, "barriers": barriers}
    parser.add_argument("--quick", action="store_true", help="small and few: to try the benchmark, not to measure")
    parser.add_argument("--only", choices=parts, action="append", help="may be repeated")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    print(f"{run(['curl', '--version']).split(' (')[0]}, node {run(['node', '--version']).strip()}, {os.cpu_count()} threads")
    size = Size(arguments.quick)
    for name in arguments.only or parts:
        parts[name](size)
    table("What was asked for" + (" (--quick: not a measurement)" if arguments.quick else ""), ["", "measured", "asked", "holds"], summary)


if __name__ == "__main__":
    main()
