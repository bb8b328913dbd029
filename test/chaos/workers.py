#!/usr/bin/env python3
"""Workers that are killed, stopped and started again at random, and blobs that are damaged, until every job has ended:

    test/chaos/workers.py PROGRAM MEMORY_PROGRAM TABLE_PROGRAM [--kills 200] [--memory-kills 100] [--table-kills 60]
                          [--seed N] [--seconds 360]

Every job must end and have the model of threads, to the last bit. MEMORY_PROGRAM has a learner with shard memory,
running_mean, and TABLE_PROGRAM one with tables, words, with and without memory: their runs also go from threads to a
store and back, by kill and resume. The seed fixes what is done to
whom and how often; when it meets them is up to the machine. Also measured: all workers are killed, new ones start;
how long until the job is a round further? A lease, for the tasks of the dead to come back, and a round.
"""

import contextlib
import itertools
import json
import pathlib
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from harness import Sandbox, documents, expect, libsvm_text, points, write_npy  # noqa: E402
from counts import main  # noqa: E402

LEASE = 1
# Some hundred steps each; seeding k-means is one or more a centre.
JOBS = (
    "kmeans x.npy --n-clusters 60 --n-init 1 --init k-means++ --max-iter 40 --tol 0",
    "svm rows.libsvm --solver sgd --send gradient --batch-fraction 0.5 --max-iter 180 --tol 0",
    "logistic wide.libsvm --solver sgd --l2 0 --max-iter 180 --tol 0",
    "logistic wide.libsvm --solver hybrid --l1 1e-5 --max-iter 180 --tol 0",
)
SHARDS = (8, 20)
# Rounds of the learner with memory: the root adds the updates itself, or groups do.
MEMORY_ROUNDS = 120
MEMORY_SHARDS = (5, 12)
# The same of the learner with tables: of all kinds, slices of each.
TABLE_ROUNDS = 30
TABLE_JOBS = ("words documents.npy --words 300 --width 8 --all-kinds 1 --shards 5",
              "words documents.npy --words 300 --width 8 --all-kinds 1 --remembers 1 --shards 10")
MOST_WORKERS = 4
STOPPED = 1.5  # leases


class Chaos:
    def __init__(self, box, draw, deadline, counts, has_memory):
        self.box, self.draw, self.deadline, self.counts = box, draw, deadline, counts
        self.has_memory = has_memory
        self.running, self.stopped = [], []  # processes; (process, when it goes on)
        self.kills = self.starts = 0
        self.recoveries = []

    def start(self):
        self.starts += 1
        process = self.box.start(["worker", "--store", "job", "--threads", "1", "--quiet"],
                                 stdout=subprocess.DEVNULL)
        self.running.append(process)

    def kill(self, process):
        """Returns whether it was still there to be killed."""
        process.kill()
        _, said = process.communicate()
        self.running = [other for other in self.running if other is not process]
        self.stopped = [(other, when) for other, when in self.stopped if other is not process]
        if process.returncode == -signal.SIGKILL:
            self.kills += 1
            self.counts["kills"] += 1
        else:
            self.expect_well(process, said)

    def kill_all(self):
        for process in self.everybody():
            self.kill(process)

    def everybody(self):
        return self.running + [process for process, _ in self.stopped]

    @staticmethod
    def expect_well(process, said):
        expect(process.returncode == 0, f"a worker ended with {process.returncode}: {said}")

    def reap(self):
        """Forgets workers that have ended, which they may only do well; wakes those whose time has come."""
        for process in [p for p in self.running if p.poll() is not None]:
            self.running.remove(process)
            self.expect_well(process, process.communicate()[1])
        now = time.monotonic()
        for process, when in [entry for entry in self.stopped if entry[1] <= now]:
            process.send_signal(signal.SIGCONT)
            self.stopped.remove((process, when))
            self.running.append(process)

    def stop(self, process):
        self.counts["stops"] += 1
        process.send_signal(signal.SIGSTOP)
        self.running.remove(process)
        self.stopped.append((process, time.monotonic() + STOPPED * LEASE))

    def is_done(self):
        return bool(list((self.box / "job/blobs").glob("*/result.json")))

    def pause(self, seconds):
        """Lets the job go on for a while. Returns whether it is done."""
        until = time.monotonic() + seconds
        while not self.is_done():
            expect(time.monotonic() < self.deadline, "the time given for all jobs is over")
            if time.monotonic() >= until:
                return False
            time.sleep(0.01)
        return True

    def step(self):
        """How far the job is: the newest total, or state."""
        found = [0]
        for folder in (self.box / "job/blobs").glob("*/rounds/*"):
            found += [int(folder.name) + 1] if (folder / "total").exists() else []
        for state in (self.box / "job/blobs").glob("*/state/*"):
            found += [int(state.name)] if state.name.isdigit() else []
        return max(found)

    def act(self):
        """Something bad, chosen by the seed."""
        deed = self.draw.choices(("kill", "all", "newborn", "stop", "damage"), (6, 1, 2, 1, 2))[0]
        if deed == "all":
            self.kill_all()
            self.recover()
        elif deed == "newborn":
            self.start()
            time.sleep(self.draw.uniform(0, 0.02))
            self.kill(self.running[-1])
        elif deed == "damage":
            self.damage()
        elif self.running:
            victim = self.draw.choice(self.running)
            self.stop(victim) if deed == "stop" else self.kill(victim)

    def damage(self):
        """Changes, cuts, empties or removes something that workers can make again: an update, a sum, a total or a
        message. Totals of jobs with shard memory stay: memory is made again from them."""
        store = self.box / "job"
        found = sorted(path for path in itertools.chain(store.glob("blobs/*/rounds/*/*"), store.glob("queue/*"),
                                                        store.glob("blobs/*/rounds/*/*/*"),
                                                        store.glob("blobs/*/rounds/*/deltas/*/*"))
                       if path.name != "total" or not self.has_memory)
        path = self.draw.choice(found) if found else store
        deed = "remove" if "queue" in path.parts else self.draw.choice(("flip", "cut", "empty", "remove"))
        # A worker may have removed the file meanwhile.
        with contextlib.suppress(FileNotFoundError, IsADirectoryError, IndexError, ValueError):
            if deed == "remove":
                path.unlink()
            else:
                data = bytearray(path.read_bytes())
                data[self.draw.randrange(len(data))] ^= 1 << self.draw.randrange(8)
                kept = {"flip": len(data), "cut": self.draw.randrange(len(data)), "empty": 0}[deed]
                # In one step, and never a new file in place of one that was removed meanwhile.
                with open(path, "r+b") as file:
                    file.write(data[:kept])
                    file.truncate()
            self.counts["damaged blobs"] += 1

    def recover(self):
        """Starts workers where all were killed, and takes the time until there is a new total."""
        before, begin = self.step(), time.monotonic()
        for _ in range(self.draw.randint(2, MOST_WORKERS)):
            self.start()
        while self.step() <= before and not self.is_done():
            expect(time.monotonic() < self.deadline, "no round after all were killed")
            self.reap()
            time.sleep(0.005)
        if not self.is_done():
            self.recoveries.append(time.monotonic() - begin)

    def submit(self, flags):
        """Perhaps whoever does is killed, and does it again."""
        words = f"submit {flags} --lease {LEASE} --store job --quiet".split()
        for _ in range(self.draw.choice((0, 1, 3))):
            process = self.box.start(words)
            time.sleep(self.draw.uniform(0, 0.06))
            self.kill(process)
        self.box.run(words)

    def expect_nothing_left(self):
        """Neither blobs nor messages. What the dead had begun to write is the directory's own affair."""
        found = [str(path) for path in (self.box / "job").rglob("*") if path.is_file() and
                 path.relative_to(self.box / "job").parts[0] not in ("clock", "locks", "partial")]
        expect(not found, f"left behind: {found}")

    def job(self, flags, most_kills, first_round=1):
        """One job from submission to model. Returns the run it was fetched to, and its model_sha256."""
        self.submit(flags)
        last = self.kills + most_kills
        while not self.is_done():
            self.reap()
            while len(self.running) < self.draw.randint(2, MOST_WORKERS):
                self.start()
            if self.pause(self.draw.uniform(0, 0.25)):
                break
            if self.kills < last:
                self.act()
        if self.draw.random() < 0.3:
            # Before they can tidy up; who comes later does.
            self.kill_all()
            self.start()
        # Workers that are left must find their way home.
        for process, _ in self.stopped:
            process.send_signal(signal.SIGCONT)
        for process in self.everybody():
            _, said = process.communicate(timeout=60)
            self.expect_well(process, said)
        self.running, self.stopped = [], []
        run = f"run-{self.starts}"
        result = self.box.json(f"fetch --store job --remove --quiet --out {run}")
        expected = list(range(first_round, result["rounds"] + 1))
        expect(self.box.rounds(run) == expected, f"rounds {self.box.rounds(run)}")
        self.expect_nothing_left()
        return run, result["model_sha256"]

    def kill_on_threads(self, flags, run):
        """Kills a run on threads after some checkpoints. Returns the round of the last one."""
        process = self.box.start(f"train {flags} --max-iter 1000000 --checkpoint-seconds 0 --quiet --out {run}".split(),
                                 stdout=subprocess.DEVNULL)
        found = []
        while len(found) < 2:
            expect(time.monotonic() < self.deadline and process.poll() is None, "no checkpoint on threads")
            time.sleep(self.draw.uniform(0, 0.1))
            found = list((self.box / run / "checkpoints").glob("round-*.safetensors"))
        process.kill()
        process.communicate()
        return max(int(path.stem.removeprefix("round-"))
                   for path in (self.box / run / "checkpoints").glob("round-*.safetensors"))

    def relay(self, flags, rounds, most_kills):
        """Threads, killed; a store, whose workers are killed; threads again. Returns the run that was fetched."""
        begun = self.kill_on_threads(flags, f"first-{self.starts}")
        there, all_rounds = begun + rounds, begun + rounds + 10
        run, _ = self.job(f"{flags} --max-iter {there} --resume first-{self.starts}", most_kills, begun + 1)
        found = self.box.json(f"train {flags} --max-iter {all_rounds} --resume {run} --quiet --out last-{self.starts}")
        whole = self.box.json(f"train {flags} --max-iter {all_rounds} --quiet --out whole-{self.starts}")
        expect(found["model_sha256"] == whole["model_sha256"], f"{flags}: not the model of threads after {begun} "
               f"rounds on threads and {rounds} at a store")
        return run


def write_data(box):
    write_npy(box / "x.npy", points(3000, 6, blobs=60), 3000, 6)
    write_npy(box / "documents.npy", documents(400, 8), 400, 8)
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    (box / "wide.libsvm").write_text(libsvm_text(300, 600, 10))


def round_seconds(box, run):
    lines = [json.loads(line) for line in (box / run / "metrics.jsonl").read_text().splitlines()]
    return statistics.median(line["seconds"] for line in lines if "round" in line)


def run_jobs(chaos, kills):
    """Returns seconds of a round, one for each job."""
    box, models, rounds = chaos.box, {}, []
    for flags, shards in itertools.cycle(itertools.product(JOBS, SHARDS)):
        if len(rounds) >= len(JOBS) * len(SHARDS) and chaos.kills >= kills:
            return rounds
        words = f"{flags} --shards {shards}"
        if words not in models:
            models[words] = box.json(f"train {words} --quiet --out threads-{len(models)}")["model_sha256"]
        with told(chaos, words):
            run, found = chaos.job(words, most_kills=-(-kills // (len(JOBS) * len(SHARDS))))
        expect(found == models[words], f"{words}: model {found}, on threads {models[words]}")
        rounds.append(round_seconds(box, run))


def run_memory_jobs(chaos, kills):
    """The same of jobs with shard memory, in one piece and in turns with threads."""
    jobs = [f"running_mean x.npy --shards {shards}" for shards in MEMORY_SHARDS]
    return run_and_relay(chaos, jobs, MEMORY_ROUNDS, kills)


def run_table_jobs(chaos, kills):
    """The same of jobs with tables."""
    return run_and_relay(chaos, TABLE_JOBS, TABLE_ROUNDS, kills)


def run_and_relay(chaos, jobs, max_iter, kills):
    box, rounds = chaos.box, []
    for flags in itertools.cycle(jobs):
        if len(rounds) >= 2 * len(jobs) and chaos.kills >= kills:
            return rounds
        most = -(-kills // (2 * len(jobs)))
        whole = f"{flags} --max-iter {max_iter}"
        expected = box.json(f"train {whole} --quiet --out threads-{chaos.starts}")["model_sha256"]
        with told(chaos, whole):
            run, found = chaos.job(whole, most)
        expect(found == expected, f"{whole}: model {found}, on threads {expected}")
        rounds.append(round_seconds(box, run))
        with told(chaos, f"{flags}, threads, store, threads"):
            run = chaos.relay(flags, max_iter, most)
        rounds.append(round_seconds(box, run))


@contextlib.contextmanager
def told(chaos, words):
    """Says what was done to a job."""
    begin, before, starts = time.monotonic(), chaos.kills, chaos.starts
    yield
    print(f"  {words}: {chaos.kills - before} kills, {chaos.starts - starts} starts, "
          f"{time.monotonic() - begin:.1f} s", flush=True)


def run_part(program, run_all, draw, kills, deadline, counts):
    with Sandbox(program) as box:
        write_data(box)
        chaos = Chaos(box, draw, deadline, counts, run_all is not run_jobs)
        try:
            rounds = run_all(chaos, kills)
        finally:
            for process in chaos.everybody():
                process.kill()
                process.communicate()
    counts["jobs"] += len(rounds)
    if chaos.recoveries:
        print(f"  all killed, then a round further after {statistics.median(chaos.recoveries):.2f} s "
              f"(at most {max(chaos.recoveries):.2f} s of {len(chaos.recoveries)}); "
              f"a lease and a round are {LEASE + statistics.median(rounds):.2f} s")


def run(program, memory_program, table_program, draw, kills, memory_kills, table_kills, deadline, counts):
    run_part(program, run_jobs, draw, kills, deadline, counts)
    run_part(memory_program, run_memory_jobs, draw, memory_kills, deadline, counts)
    run_part(table_program, run_table_jobs, draw, table_kills, deadline, counts)


if __name__ == "__main__":
    main(__doc__, ["program", "memory_program", "table_program"], run, kills=200, memory_kills=100, table_kills=60)
