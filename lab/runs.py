"""Running the program in a virtual cluster (cluster.sh), and what its rounds took.

Every wait has a deadline, and whatever ends the process that uses it, the cluster is removed: `Cluster` is a context, and
`stop_on_signals` makes the signals that end a process leave it as an exception would.
"""

import array
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "lab/cluster.sh"
PROGRAM = pathlib.Path(os.environ.get("MEANWHILE", ROOT / "build/release/meanwhile")).resolve()
FOLDER = ROOT / "build/lab"  # data and runs; nothing of it is needed later
FOLDER.mkdir(parents=True, exist_ok=True)


class Failed(Exception):
    """A command that did not do what it should, with what it said."""


def stop_on_signals():
    def stop(number, frame):
        signal.signal(number, signal.SIG_IGN)  # once is enough: the end must not be cut short
        raise SystemExit(128 + number)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def run(command, limit_s, environment=None, codes=(0,)):
    """Standard output of a command that must end in time, with one of these codes."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit_s, stdin=subprocess.DEVNULL,
                              env={**os.environ, **(environment or {})})
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(words)}: not done after {limit_s} s") from None
    if done.returncode not in codes:
        raise Failed(f"{' '.join(words)}: exit code {done.returncode}\n{done.stderr.strip()}")
    return done.stdout


def rounds_of(folder):
    """Seconds of each round of training, the first one first."""
    with open(folder / "metrics.jsonl") as lines:
        return [line["seconds"] for line in map(json.loads, lines) if "round" in line]


def simd_flags(simd):
    return ["--simd", simd] if simd else []


class Cluster:
    def __init__(self, hosts, rate_mbit, cpu_percent, period_ms=20, storage_rate_mbit=1000):
        self.settings = {"hosts": hosts, "rate_mbit": rate_mbit, "cpu_percent": cpu_percent, "period_ms": period_ms,
                         "storage_rate_mbit": storage_rate_mbit}
        self.environment = {"LAB": f"mwlab-{os.getpid()}"}
        self.script = SCRIPT
        self.server = None
        self.jobs = 0

    def __enter__(self):
        s = self.settings
        run([SCRIPT, "up", "--hosts", s["hosts"], "--rate", s["rate_mbit"], "--cpu", s["cpu_percent"], "--period-ms", s["period_ms"],
             "--storage-rate", s["storage_rate_mbit"]], 120, self.environment)
        return self

    def __exit__(self, *what):
        run([SCRIPT, "down"], 60, self.environment)
        if self.server:
            self.server.wait(10)

    def on(self, host, *command, limit_s=300):
        return run([SCRIPT, "on", host, *command], limit_s, self.environment)

    def mpi(self, ranks, *command, limit_s=300, codes=(0,)):
        # mpirun is given up a little later than by itself, so that it is heard.
        return run([SCRIPT, "mpi", ranks, *command], limit_s + 10, {**self.environment, "LAB_TIMEOUT": str(limit_s)}, codes)

    def store(self):
        """The address of a place of its own at Azurite on the storage host, which is started when it is first asked for."""
        if self.server is None:
            self.environment["AZURE_STORAGE_CONNECTION_STRING"] = run([SCRIPT, "connection"], 10).strip()
            log = FOLDER / "azurite.log"
            with open(log, "w") as out:
                self.server = subprocess.Popen([SCRIPT, "serve"], stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                               env={**os.environ, **self.environment})
            deadline = time.monotonic() + 60
            while log.read_text().count("successfully listening") < 3:
                if self.server.poll() is not None or time.monotonic() > deadline:
                    raise Failed(f"Azurite does not start: {log.read_text()}")
                time.sleep(0.05)
            # Workers and calibrations that come before any job want the container to be there: a job that is taken back makes it.
            first = "azure://devstoreaccount1/lab/first"
            self.on("storage", PROGRAM, "submit", "kmeans", uniform(16, 2), "--n-clusters", "2", "--store", first, "--create-container", "--quiet", limit_s=60)
            self.on("storage", PROGRAM, "cancel", "--store", first, limit_s=60)
        self.jobs += 1
        return f"azure://devstoreaccount1/lab/job-{self.jobs}"

    def train_on_storage(self, flags, workers, simd, limit_s, store=None):
        """One worker of one thread on each of the first hosts. Workers are there before the job is, so that none begins
        with the tasks of those who come later. The result of the job, with "rounds" and "wall_s" added."""
        store = store or self.store()
        start = time.monotonic()
        with contextlib.ExitStack() as stack:
            started = []
            for host in range(1, workers + 1):
                log = stack.enter_context(open(FOLDER / f"worker-{host}.log", "w+"))
                started.append((host, log, subprocess.Popen(
                    [SCRIPT, "on", str(host), PROGRAM, "worker", "--store", str(store), "--threads", "1", *simd_flags(simd), "--wait", "60",
                     "--timeout", "120", "--quiet"], stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **self.environment})))
                stack.callback(started[-1][2].kill)  # does nothing when it has ended
            self.on("storage", PROGRAM, "submit", *flags, "--store", store, "--quiet", limit_s=120)
            for host, log, process in started:
                try:
                    code = process.wait(max(1, start + limit_s - time.monotonic()))
                except subprocess.TimeoutExpired:
                    code = f"none after {limit_s} s"
                if code != 0:
                    log.seek(0)
                    raise Failed(f"worker on host {host}: exit code {code}\n{log.read().strip()}")
        wall_s = time.monotonic() - start
        out = FOLDER / "run"
        shutil.rmtree(out, ignore_errors=True)
        result = json.loads(self.on("storage", PROGRAM, "fetch", "--store", store, "--out", out, "--remove", "--json", "--quiet", limit_s=60))
        return {**result, "rounds": rounds_of(out), "wall_s": wall_s}

    def train_on_ranks(self, flags, ranks, simd, limit_s):
        """One rank of one thread on each of the first hosts."""
        out = FOLDER / "run"
        shutil.rmtree(out, ignore_errors=True)
        start = time.monotonic()
        text = self.mpi(ranks, PROGRAM, "train", *flags, "--runtime", "mpi", "--threads", "1", *simd_flags(simd), "--out", out, "--checkpoint-seconds",
                        "3600", "--timeout", "120", "--json", "--quiet", limit_s=limit_s, codes=(0, 3))  # 3: did not converge, nor was to
        return {**json.loads(text), "rounds": rounds_of(out), "wall_s": time.monotonic() - start}


# --- threads with a share of a core each ---

@contextlib.contextmanager
def thread_shares(command, percents, limit_s, period_us=100000):
    """Runs a program whose threads each have a share of a core, in percent: cgroups of version 1, whose `tasks` takes threads. The
    first thread has the first share, and another one that of the group with the fewest threads. Ends the program at the limit."""
    root = next((words[1] for words in map(str.split, open("/proc/mounts")) if words[2] == "cgroup" and "cpu" in words[3].split(",")), None)
    if root is None:
        raise Failed("shares of threads need cgroups of version 1")
    groups = [pathlib.Path(root) / f"mwlab-{os.getpid()}-thread{i}" for i in range(len(percents))]
    try:
        for group, percent in zip(groups, percents):
            group.mkdir()
            (group / "cpu.cfs_period_us").write_text(str(period_us))
            (group / "cpu.cfs_quota_us").write_text(str(max(1000, int(percent * period_us / 100))))
            (group / "cpu.shares").write_text("262144")  # what it may use it gets, whatever else the machine does
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + limit_s
        seen = {}  # thread: group
        while process.poll() is None:
            if time.monotonic() > deadline:
                process.kill()
                raise Failed(f"{command[0]}: not done after {limit_s} s")
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                alive = sorted(map(int, os.listdir(f"/proc/{process.pid}/task")))
                for ended in seen.keys() - set(alive):
                    del seen[ended]
                for thread in alive:
                    if thread in seen:
                        continue
                    # A pool of threads may be followed by another one: each has one thread in every group.
                    fewest = min(range(len(groups)), key=list(seen.values()).count)
                    with contextlib.suppress(OSError):
                        (groups[fewest] / "tasks").write_text(str(thread))
                        seen[thread] = fewest
            time.sleep(0.002)
        if process.returncode != 0:
            raise Failed(f"{command[0]}: exit code {process.returncode}")
        yield process
    finally:
        for group in groups:
            with contextlib.suppress(OSError):
                group.rmdir()


# --- data ---

def kronecker(scale):
    """A Kronecker graph, converted: every host maps it."""
    path = FOLDER / f"kron-{scale}.safetensors"
    if not path.exists():
        run([PROGRAM, "generate", "kronecker", "--scale", scale, "--out", path, "--quiet"], 300)
    return path


def ising(side):
    """A grid of binary variables."""
    path = FOLDER / f"ising-{side}.uai"
    if not path.exists():
        run([PROGRAM, "generate", "ising", "--rows", side, "--cols", side, "--out", path, "--quiet"], 300)
    return path


def uniform(rows, cols, seed=1):
    """A file of float32 rows, uniform in the unit cube: bounds on distances save little there, so that rounds cost the same."""
    path = FOLDER / f"uniform-{rows}-{cols}-{seed}.npy"
    if path.exists():
        return path
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {cols}), }}"
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    source = random.Random(seed)
    partial = path.with_suffix(".part")
    with open(partial, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode())
        for _ in range(rows):
            array.array("f", [source.random() for _ in range(cols)]).tofile(file)
    partial.rename(path)
    return path


def labelled(rows, cols, nonzeros):
    """libsvm text: rows of values at random columns, labelled by a random hyperplane with some noise."""
    path = FOLDER / f"labelled-{rows}-{cols}-{nonzeros}.libsvm"
    if path.exists():
        return path
    source = random.Random(2)
    weights = [source.gauss(0, 1) for _ in range(cols)]
    partial = path.with_suffix(".part")
    with open(partial, "w") as file:
        for _ in range(rows):
            columns = sorted(source.sample(range(cols), nonzeros))
            values = [round(source.gauss(0, 1), 3) for _ in columns]
            score = sum(v * weights[c] for c, v in zip(columns, values)) + source.gauss(0, 1)
            file.write("1" if score > 0 else "-1")
            file.write("".join(f" {c + 1}:{v}" for c, v in zip(columns, values)) + "\n")
    partial.rename(path)
    return path


def machine_facts():
    with open("/proc/cpuinfo") as lines:
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    return {"cpu": model, "cores": os.cpu_count(), "kernel": os.uname().release, "load_before": os.getloadavg()[0]}
