"""Linear models beside their peers: how long until the objective is near its optimum.

Every contestant starts from the libsvm file and its clock includes reading it (Vowpal Wabbit reads a
copy in its own format, made outside the clock). Imports of Python are not counted. What each run ends
with is a vector of weights, which one independent float64 scorer turns into

    objective = mean loss(y w.x) + l2/2 |w|^2     on the training rows, no intercept,

outside the clock. A contestant has settings (a tolerance, a number of passes, a rate); the first turn
tries them all, and later turns repeat, in alternation, the ones that reached a goal first. Each run
is a process of its own. Output: one JSON object a line for each point (seconds, objective).

    linear_peers.py FILE --loss hinge --l2 1e-6 --repeat 3 --out peers.jsonl \\
        --ours 'build/release/meanwhile train svm {file} --l2 {l2} --no-fit-intercept --out {out} --quiet' --flags='--max-iter 3'
"""

import argparse
import json
import os
import pathlib
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

CACHE = pathlib.Path("build/bench")
ABSOLUTE, RELATIVE = 0.01, 1e-4  # the two goals: above the optimum by this, or by this fraction of it
TIMEOUT = 300  # seconds, of one run


# --- the scorer ---

LOSSES = {
    "hinge": lambda z: np.maximum(0, 1 - z),
    "squared_hinge": lambda z: np.maximum(0, 1 - z)**2,
    "logistic": lambda z: np.logaddexp(0, -z),
}


class Scorer:
    def __init__(self, path, loss, l2):
        import scipy.sparse
        from sklearn.datasets import load_svmlight_file
        stat = os.stat(path)
        kept = CACHE / f"{pathlib.Path(path).name}-{stat.st_size}-{stat.st_mtime_ns}.npz"
        if kept.exists():
            arrays = np.load(kept)
            self.x = scipy.sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), arrays["shape"])
            self.y = arrays["y"]
        else:
            self.x, y = load_svmlight_file(str(path))
            self.y = np.where(y == y.max(), 1.0, -1.0)
            CACHE.mkdir(parents=True, exist_ok=True)
            np.savez(kept, data=self.x.data, indices=self.x.indices, indptr=self.x.indptr, shape=self.x.shape, y=self.y)
        self.loss, self.l2 = LOSSES[loss], l2

    def __call__(self, weights):
        w = np.zeros(self.x.shape[1])
        count = min(len(w), len(weights))
        w[:count] = weights[:count]
        return float(self.loss(self.y * (self.x @ w)).mean() + self.l2 / 2 * (w @ w))


# --- peers; each yields (setting's name, what run() needs) and runs to a list of points ---
# A point: {"seconds", "cpu_seconds", "read_seconds" or None, "passes" or None, "weights": path of .npy}

def process(command, folder):
    """Runs it; wall and CPU seconds."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with open(folder / "log", "w") as log:
        done = subprocess.run(command, stdout=log, stderr=log, timeout=TIMEOUT)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(map(str, command))} failed:\n" + (folder / "log").read_text()[-2000:])
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Liblinear:
    SOLVERS = {"hinge": (3, ), "squared_hinge": (1, 2), "logistic": (7, 0)}
    TOLERANCES = (3, 1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0001)

    def __init__(self, solver):
        self.solver, self.name = solver, f"liblinear -s {solver}"
        self.as_it_comes = "-e 0.01" if solver in (0, 2) else "-e 0.1"  # its default

    def settings(self, task):
        return [f"-e {e}" for e in self.TOLERANCES]

    def run(self, setting, task, folder):
        model = folder / "model"
        wall, cpu = process(["liblinear-train", "-s", str(self.solver), "-c", repr(1 / (task["l2"] * task["rows"])),
                             *setting.split(), task["file"], model], folder)
        with open(model) as lines:
            positive_first = True
            for line in lines:
                if line.startswith("label"):
                    labels = [float(v) for v in line.split()[1:]]
                    positive_first = labels[0] > labels[1]
                if line.strip() == "w":
                    break
            weights = np.array(lines.read().split(), float)
        np.save(folder / "w.npy", weights if positive_first else -weights)
        return [dict(seconds=wall, cpu_seconds=cpu, weights=folder / "w.npy")]


class InPython:
    """A peer that is a Python library: runs in a process of its own, which prints the points."""

    def run(self, setting, task, folder):
        done = subprocess.run([sys.executable, __file__, "--worker", self.name, setting, json.dumps(task), str(folder)],
                              check=True, stdout=subprocess.PIPE, text=True, timeout=3 * TIMEOUT)
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


class SgdClassifier(InPython):
    name = "scikit-learn SGDClassifier"

    def settings(self, task):
        return ["optimal", "optimal average"]  # a constant rate of 0.3 ended above both

    def work(self, setting, task, folder):
        from sklearn.datasets import load_svmlight_file
        from sklearn.linear_model import SGDClassifier as Model
        schedule, *rest = setting.split()
        rate = float(rest[0]) if rest and rest[0] != "average" else 0.01
        model = Model(loss={"hinge": "hinge", "squared_hinge": "squared_hinge", "logistic": "log_loss"}[task["loss"]],
                      alpha=task["l2"], fit_intercept=False, learning_rate=schedule, eta0=rate, average="average" in rest,
                      random_state=1)
        begin, cpu = time.perf_counter(), time.process_time()
        x, y = load_svmlight_file(task["file"])
        if x.indices.dtype != np.int32:  # which it reads, but does not train on
            x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
        read = wall = time.perf_counter() - begin
        cpu = time.process_time() - cpu
        for passes in range(1, task["passes"] + 1):
            begin, begin_cpu = time.perf_counter(), time.process_time()
            model.partial_fit(x, y, classes=[-1, 1])
            wall += time.perf_counter() - begin
            cpu += time.process_time() - begin_cpu
            w = model.coef_[0]
            # Its own early exit: what it would have to compute is not counted.
            margins = (2 * (y > 0) - 1) * (x @ w)
            objective = LOSSES[task["loss"]](margins).mean() + task["l2"] / 2 * (w @ w)
            out = f"{folder}/w{passes}.npy"
            np.save(out, w)
            yield dict(seconds=wall, cpu_seconds=cpu, read_seconds=read, passes=passes, weights=out)
            if objective <= task["optimum"] * (1 + RELATIVE):
                return


class VowpalWabbit(InPython):
    name = "Vowpal Wabbit"

    def settings(self, task):
        # As it comes (adaptive), and with the schedule 1/(l2 (t + t0)) that suits the objective.
        settings = [f"-l 0.5 --passes {passes}" for passes in (1, 4)]
        for rate in (task["l2"]**-0.25, 0.2 * task["l2"]**-0.25):
            schedule = f"--sgd -l {rate:.4g} --initial_t {1 / (task['l2'] * rate):.4g} --power_t 1"
            settings += [f"{schedule} --passes {passes}" for passes in (4, 16)]
        return settings

    def work(self, setting, task, folder):
        from vowpalwabbit import Workspace
        bits = max(18, int(task["features"]).bit_length())  # no two features share a weight
        readable, cache = f"{folder}/readable", f"{folder}/cache"
        begin, cpu = time.perf_counter(), time.process_time()
        model = Workspace(f"-d {task['vw_file']} --cache_file {cache} -k --loss_function {task['loss']} --l2 {task['l2']} "
                          f"-b {bits} --noconstant --holdout_off --quiet --readable_model {readable} {setting}")
        model.finish()
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
        w, shrink = np.zeros(task["features"]), 1.0
        with open(readable) as lines:
            for line in lines:
                if line.startswith("l2_state"):  # weights are kept without what l2 has taken off
                    shrink = float(line.split()[1])
                index, colon, value = line.partition(":")
                # index:weight and what adapts its rate; the index as in the file, from 1.
                if colon and index.isdigit() and 1 <= int(index) <= len(w):
                    w[int(index) - 1] = float(value.split()[0])
        os.remove(cache)
        np.save(f"{folder}/w.npy", w * shrink)
        yield dict(seconds=wall, cpu_seconds=cpu, passes=int(setting.split()[-1]), weights=f"{folder}/w.npy")


class Ours:
    """A command line with {file}, {l2}, {out}, which leaves {out}/model.safetensors; settings are flags added to it."""
    name = "meanwhile"

    def __init__(self, command, flags):
        self.command, self.flags = command, list(flags) or [""]

    def settings(self, task):
        return self.flags

    def run(self, setting, task, folder):
        from safetensors.numpy import load_file
        out = folder / "run"
        shutil.rmtree(out, ignore_errors=True)
        wall, cpu = process([word.format(file=task["file"], l2=task["l2"], out=out)
                             for word in shlex.split(self.command) + shlex.split(setting)], folder)
        np.save(folder / "w.npy", load_file(out / "model.safetensors")["weights"].reshape(-1).astype(np.float64))
        return [dict(seconds=wall, cpu_seconds=cpu, weights=folder / "w.npy")]


def contestants(loss, ours):
    peers = [Liblinear(solver) for solver in Liblinear.SOLVERS[loss]] + [SgdClassifier()]
    if loss != "squared_hinge":  # which it does not know
        peers.append(VowpalWabbit())
    return ([ours] if ours else []) + peers


# --- the comparison ---

def seconds_of(points):
    """Of the same run, repeated."""
    return dict(runs=len(points), min=min(p["seconds"] for p in points), median=statistics.median(p["seconds"] for p in points),
                cpu=min(p["cpu_seconds"] for p in points), objective=max(p["objective"] for p in points))


def reached(point, goal, optimum):
    return point["objective"] <= optimum + (ABSOLUTE if goal == "absolute" else RELATIVE * optimum)


def fastest(points, goal, optimum):
    """Of one contestant: the setting and passes that reached the goal soonest, or None."""
    there = [p for p in points if reached(p, goal, optimum)]
    return min(there, key=lambda p: p["seconds"]) if there else None


def to_vw(path, folder):
    out = folder / "data.vw"
    with open(path) as lines, open(out, "w") as vw:
        for line in lines:
            label, _, rest = line.partition(" ")
            vw.write(f"{'1' if float(label) > 0 else '-1'} | {rest}")
    return out


def compare(path, loss, l2, optimum, repeat, ours=None, only="", passes=30, report=lambda point: None):
    """All points of all contestants, as dictionaries."""
    score = Scorer(path, loss, l2)
    points = []
    with tempfile.TemporaryDirectory(prefix="meanwhile-bench-") as name:
        folder = pathlib.Path(name)
        task = dict(file=str(path), loss=loss, l2=l2, rows=score.x.shape[0], features=score.x.shape[1], optimum=optimum, passes=passes)
        chosen = [c for c in contestants(loss, ours) if only in c.name]
        if any(isinstance(c, VowpalWabbit) for c in chosen):
            task["vw_file"] = str(to_vw(path, folder))
        turns = {c.name: c.settings(task) for c in chosen}
        for turn in range(repeat):
            for contestant in chosen:
                done = False
                for setting in turns[contestant.name]:
                    # Settings of liblinear get tighter and slower: enough, but for its default.
                    if done and setting != contestant.as_it_comes:
                        continue
                    for point in contestant.run(setting, task, folder):
                        weights = point.pop("weights")
                        point = dict(system=contestant.name, setting=setting, turn=turn, loss=loss, l2=l2, **point,
                                     objective=score(np.load(weights)))
                        point["excess"] = point["objective"] - optimum
                        points.append(point)
                        report(point)
                        done = done or isinstance(contestant, Liblinear) and reached(point, "relative", optimum)
            if turn == 0:
                for contestant in chosen:
                    mine = [p for p in points if p["system"] == contestant.name]
                    best = [fastest(mine, goal, optimum) for goal in ("absolute", "relative")]
                    keep = {p["setting"] for p in best if p} | {getattr(contestant, "as_it_comes", None)}
                    turns[contestant.name] = [s for s in turns[contestant.name] if s in keep]
    return points


def summary(points, goal, optimum):
    """For each contestant: what it took, at its best setting, or None where it did not get there."""
    rows = {}
    for system in dict.fromkeys(p["system"] for p in points):
        mine = [p for p in points if p["system"] == system]
        best = fastest(mine, goal, optimum)
        if best is None:
            rows[system] = None
            continue
        same = [p for p in mine if p["setting"] == best["setting"] and p.get("passes") == best.get("passes")]
        rows[system] = dict(setting=best["setting"], passes=best.get("passes"), read=best.get("read_seconds"), **seconds_of(same))
    return rows


def optimum_of(path, loss, l2, program, seconds=600):
    done = subprocess.run([program, path, "--loss", loss, "--l2", repr(l2), "--cache", CACHE / "optimum.json", "--seconds", str(seconds)],
                          check=True, stdout=subprocess.PIPE, text=True)
    optimum = json.loads(done.stdout)
    if optimum["gap"] > 1e-8:
        print(f"{path}, {loss}, l2 {l2:g}: the optimum is proved only to {optimum['gap']:.0e}", file=sys.stderr)
    return optimum


def main():
    if sys.argv[1:2] == ["--worker"]:
        name, setting, task, folder = sys.argv[2:]
        peer = {p.name: p for p in (SgdClassifier(), VowpalWabbit())}[name]
        for point in peer.work(setting, json.loads(task), folder):
            print(json.dumps(point), flush=True)
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--loss", choices=LOSSES, default="hinge")
    parser.add_argument("--l2", type=float, default=1e-6)
    parser.add_argument("--optimum", type=float, help="default: asked of bench/reference_optimum.cc")
    parser.add_argument("--reference", default="build/release/bench/reference_optimum")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--passes", type=int, default=30, help="of scikit-learn, at most")
    parser.add_argument("--only", default="", help="contestants whose name contains this")
    parser.add_argument("--ours", metavar="COMMAND", help="one more contestant, with {file}, {l2} and {out}")
    parser.add_argument("--flags", action="append", default=[], help="a setting of it, such as --flags='--max-iter 3'; may be repeated")
    parser.add_argument("--out", help="JSON lines; default: standard output")
    arguments = parser.parse_args()
    optimum = arguments.optimum
    if optimum is None:
        optimum = optimum_of(arguments.file, arguments.loss, arguments.l2, arguments.reference)["optimum"]
    out = open(arguments.out, "w") if arguments.out else sys.stdout
    compare(arguments.file, arguments.loss, arguments.l2, optimum, arguments.repeat,
            Ours(arguments.ours, arguments.flags) if arguments.ours else None, arguments.only, arguments.passes,
            lambda point: print(json.dumps(point), file=out, flush=True))


if __name__ == "__main__":
    main()
