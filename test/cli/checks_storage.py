"""Jobs at a store that is a directory: the same model as on threads, whoever comes, goes, or is stopped."""

import errno
import json
import os
import shutil
import signal
import subprocess
import time

from harness import expect, expect_equal, libsvm_text, messages, points, write_npy

LEARNERS = {
    "kmeans": "kmeans x.npy --n-clusters 7 --n-init 2 --max-iter 5 --tol 0",
    "svm": "svm rows.libsvm --solver sgd --max-iter 6",
    "logistic": "logistic rows.libsvm --solver hybrid --l1 1e-3 --standardize --max-iter 12",
}
# Some seconds of short rounds: more columns than rows, so that the loss falls for ever.
ROUNDS = 150
LONG = f"logistic wide.libsvm --solver sgd --l2 0 --tol 0 --max-iter {ROUNDS} --shards 8"


def write_data(box):
    write_npy(box / "x.npy", points(900, 6, blobs=7), 900, 6)
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    (box / "test.libsvm").write_text(libsvm_text(200, 40, 5, seed=2))


def write_long_data(box):
    (box / "wide.libsvm").write_text(libsvm_text(300, 600, 10))


def on_threads(box, flags):
    return box.json(f"train {flags} --quiet --out on-threads")["model_sha256"]


def on_store(box, flags, run="on-store"):
    result = box.json(f"train {flags} --runtime storage --store job --quiet --out {run}")
    expect(result["runtime"] == "storage", result["runtime"])
    expect(left(box) == [], left(box))
    return result["model_sha256"]


def left(box, store="job"):
    """Files of a store, but for what a directory keeps for itself."""
    root = box / store
    files = (str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    return sorted(name for name in files if name != "clock" and not name.startswith("locks/"))


def contents(box, store="job"):
    return {name: (box / store / name).read_bytes() for name in left(box, store)}


def wait_until(condition, what):
    deadline = time.monotonic() + 60
    while not (found := condition()):
        expect(time.monotonic() < deadline, f"no {what} after a minute")
        time.sleep(0.01)
    return found


def submit(box, flags, lease=2):
    return box.json(f"submit {flags} --lease {lease} --store job --quiet")


def status(box):
    return box.json("status --store job")


class Workers:
    """Worker processes; none outlives the test."""

    def __init__(self, box):
        self.box, self.all = box, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.all:
            process.kill()
            process.communicate()

    def start(self, words="", **options):
        words = ["worker", "--store", "job", "--threads", "1", *words.split()]
        self.all.append(self.box.start(words, **options))
        return self.all[-1]

    def begun(self, step=5):
        """Waits until the job is in the middle of it."""
        wait_until(lambda: status(self.box)["step"] >= step, "rounds")


def ended(process, code=0, seconds=60):
    """What it printed, once it has ended with `code`."""
    out, said = process.communicate(timeout=seconds)
    expect(process.returncode == code, f"exit code {process.returncode}, expected {code}\n{said}")
    return out + said


def fetched(box, run="run"):
    """The model of the job, which is taken away; its record is whole."""
    result = box.json(f"fetch --store job --remove --quiet --out {run}")
    expect_whole(box, run, result)
    expect(left(box) == [], left(box))
    return result["model_sha256"]


def expect_whole(box, run, result):
    record = box.record(run)
    expect(record["status"] == "done" and record["runtime"] == "storage", record)
    expect(box.rounds(run) == list(range(1, result["rounds"] + 1)), f"rounds {box.rounds(run)}")
    for field in ("rounds", "model_sha256", "stopped_because", "bill"):
        expect(record[field] == result[field], f"{field}: {record[field]}, printed {result[field]}")
    bill = record["bill"]
    expect(bill["requests_total"] == sum(bill["requests"].values()) > 0, bill)
    expect(bill["bytes_sent"] > 0 and bill["worker_seconds"] > 0 and bill["workers"] > 0, bill)
    by_hand = (bill["worker_seconds"] / 3600 * bill["price_per_hour"] +
               bill["requests_total"] / 1e6 * bill["price_per_million_requests"])
    expect(abs(bill["price"] - by_hand) <= 1e-9 * by_hand, bill)
    box.run(f"inspect {run}")


def one_answer(box, learner):
    write_data(box)
    for shards in (8, 20):  # added at once; by groups
        flags = f"{LEARNERS[learner]} --shards {shards}"
        found = {"threads": on_threads(box, flags)}
        for workers in (1, 3, 8):
            found[f"{workers} workers"] = on_store(box, f"{flags} --workers {workers}")
        expect_equal(found)


def check_kmeans_on_a_store_is_that_on_threads(box):
    one_answer(box, "kmeans")


def check_svm_on_a_store_is_that_on_threads(box):
    one_answer(box, "svm")


def check_logistic_on_a_store_is_that_on_threads(box):
    one_answer(box, "logistic")


def check_held_out_data_on_a_store(box):
    write_data(box)
    flags = "logistic rows.libsvm --eval test.libsvm --shards 9 --solver sgd --l2 0"
    found = {"threads": on_threads(box, flags), "store": on_store(box, f"{flags} --workers 3")}
    submit(box, flags)
    box.run("worker --store job --quiet")
    found["worker"] = fetched(box)
    expect_equal(found)
    expect_equal({run: box.record(run)["stopped_because"] for run in ("on-threads", "on-store", "run")})


def check_a_run_goes_on_at_a_store_and_back(box):
    write_data(box)
    for solver in ("sgd", "lbfgs"):
        flags = f"logistic rows.libsvm --shards 8 --solver {solver} --tol 0 --seed 3"
        places = {"threads": "", "store": "--runtime storage --store job"}
        found = {"whole": on_threads(box, f"{flags} --max-iter 12")}
        for first, here in places.items():
            box.run(f"train {flags} --max-iter 5 {here} --quiet --out {solver}-{first}")
            for then, there in places.items():
                run = f"{solver}-{first}-{then}"
                result = box.json(f"train logistic rows.libsvm --resume {solver}-{first} --max-iter 12 "
                                  f"{there} --quiet --out {run}")
                expect(box.rounds(run) == list(range(1, 13)), f"{run}: {box.rounds(run)}")
                found[f"{first}, then {then}"] = result["model_sha256"]
        submit(box, f"logistic rows.libsvm --resume {solver}-store --max-iter 12")
        box.run("worker --store job --quiet")
        found["submitted"] = box.json("fetch --store job --remove --quiet --out last")["model_sha256"]
        expect_equal(found)


def check_a_run_directory_is_whole(box):
    write_data(box)
    result = box.json(f"train {LEARNERS['svm']} --workers 3 --runtime storage --store job --out run "
                      "--price-hour 7 --price-requests 3 --quiet")
    expect_whole(box, "run", result)
    bill = box.record("run")["bill"]
    expect((bill["price_per_hour"], bill["price_per_million_requests"]) == (7, 3), bill)
    expect(bill["workers"] == 3, bill)


def check_worker_processes_share_a_job(box):
    write_long_data(box)
    for shards in (8, 20):
        flags = f"{LONG} --shards {shards}"
        job = submit(box, flags)["job"]
        before = status(box)
        expect(before["state"] == "waiting" and before["job"] == job and before["rounds"] == 0, before)
        expect(before["workers"] == [] and before["missing_shards"] == list(range(shards)), before)
        with Workers(box) as workers:
            running = [workers.start() for _ in range(3)]
            during = wait_until(lambda: (s := status(box))["rounds"] >= 5 and len(s["workers"]) == 3 and s,
                                "three workers")
            expect(during["state"] == "running" and all(w["alive"] for w in during["workers"]), during)
            expect(during["rounds"] + during["rounds_left"] == ROUNDS, during)
            text = box.run("status --store job").stdout
            for part in ("running: ", "rounds done, at most ", " a round: at most ", " updates are there; ",
                         "last sign ", *(w["worker"] for w in during["workers"])):
                expect(part in text, f"status lacks {part!r}:\n{text}")
            for process in running:
                expect("the job is done: " in (said := ended(process)), said)
        after = status(box)
        expect(after["state"] == "done" and after["rounds"] == ROUNDS and after["workers"] == [], after)
        expect(f"done: {ROUNDS} rounds done, " in (text := box.run("status --store job").stdout), text)
        expect(after["bill"]["workers"] == 3, after["bill"])
        expect_equal({"threads": on_threads(box, flags), "workers": fetched(box, f"run-{shards}")})


def check_workers_wait_for_a_job(box):
    write_data(box)
    with Workers(box) as workers:
        waiting = workers.start("--wait 60 --json --quiet")
        # Not before it has looked once: then the store is made behind its back.
        time.sleep(0.3)
        submit(box, LEARNERS["svm"])
        result = json.loads(ended(waiting))
    expect(result["ending"] == "done" and result["updates"] > 0, result)
    expect_equal({"threads": on_threads(box, LEARNERS["svm"]), "worker": fetched(box)})


def check_cancel_sends_workers_home(box):
    write_long_data(box)
    for shards in (8, 20):
        submit(box, f"{LONG} --shards {shards} --max-iter 100000", lease=2)
        with Workers(box) as workers:
            running = [workers.start() for _ in range(3)]
            workers.begun()
            said = box.run("cancel --store job").stderr
            expect("is no longer at job" in said and "note:" not in said, said)
            for process in running:
                expect("the job is no longer at job" in (said := ended(process)), said)
        expect(left(box) == [], left(box))
        expect("there is no job" in box.run("status --store job", code=2).stderr, "still a job")


def check_a_stopped_worker_gives_its_tasks_back(box):
    """Its lease is far longer than this waits."""
    write_long_data(box)
    model = on_threads(box, LONG)
    for number in (signal.SIGINT, signal.SIGTERM):
        submit(box, LONG, lease=600)
        with Workers(box) as workers:
            first, second = workers.start(), workers.start()
            workers.begun()
            first.send_signal(number)
            expect("Its tasks are given back" in (said := ended(first, code=130)), said)
            workers.begun(40)
            second.send_signal(number)
            ended(second, code=130)
            now = status(box)
            expect(now["state"] == "waiting" and now["workers"] == [] and now["rounds"] < ROUNDS, now)
            ended(workers.start())
        expect_equal({"threads": model, "third": fetched(box, f"run-{number}")})


def check_an_interrupted_run_goes_on(box):
    write_long_data(box)
    command = f"train {LONG} --runtime storage --store job --workers 3 --lease 600"
    process = box.start(f"{command} --out first".split())
    try:
        wait_until(lambda: (box / "job/blobs/job.json").exists(), "job")
        wait_until(lambda: status(box)["step"] >= 5, "rounds")
        process.send_signal(signal.SIGINT)
        ended(process, code=130)
    finally:
        process.kill()
        process.communicate()
    expect(box.record("first")["status"] == "interrupted", box.record("first"))
    done = box.run(f"{command} --out second --json")
    expect("note: job already holds this job, which goes on" in done.stderr, done.stderr)
    result = json.loads(done.stdout)
    expect_whole(box, "second", result)
    expect(left(box) == [], left(box))
    expect_equal({"threads": on_threads(box, LONG), "gone on": result["model_sha256"]})


def check_a_killed_run_goes_on(box):
    write_long_data(box)
    command = f"train {LONG} --runtime storage --store job --workers 3 --lease 1"
    process = box.start(f"{command} --quiet --out first".split())
    try:
        wait_until(lambda: (box / "job/blobs/job.json").exists(), "job")
        wait_until(lambda: status(box)["step"] >= 5, "rounds")
    finally:
        process.kill()
        process.communicate()
    result = box.json(f"{command} --quiet --out second")
    expect_whole(box, "second", result)
    expect_equal({"threads": on_threads(box, LONG), "gone on": result["model_sha256"]})


def check_a_job_half_submitted_is_not_begun(box):
    write_data(box)
    job = submit(box, LEARNERS["svm"])["job"]
    (box / "job/blobs" / job / "ready").unlink()
    expect(status(box)["state"] == "uploading", status(box))
    said = box.run("worker --store job", code=2).stderr
    expect("not fully submitted" in said, said)
    expect("upload completed" in box.run(f"submit {LEARNERS['svm']} --store job").stderr, "not mended")
    box.run("worker --store job --quiet")
    expect_equal({"threads": on_threads(box, LEARNERS["svm"]), "store": fetched(box)})


def check_a_record_of_another_hand_does_no_harm(box):
    write_data(box)
    flags = LEARNERS["svm"]
    submit(box, flags)
    path = box / "job/blobs/job.json"
    right = path.read_text()
    record = json.loads(right)
    wrong = {
        "every worker must be of the version that submitted": {**record, "version": "99.1"},
        "was changed since it was written": {**record, "seed": 5},
        "was changed since it was written ": {**record, "parameters": {**record["parameters"], "l2": 3}},
        "is not the record of a job": ["job"],
        "job.json": {"kind": "job", "format": 1, "version": record["version"]},
    }
    for message, content in wrong.items():
        path.write_text(json.dumps(content))
        before = contents(box)
        for command in (f"submit {flags}", "worker", "status", "fetch --out run", "cancel",
                        f"train {flags} --runtime storage --out run"):
            done = box.run(f"{command} --store job", code=2)
            expect(message.strip() in done.stderr and "job.json" in done.stderr, f"{command}: {done.stderr}")
            expect(len(messages(done.stderr)) == 1, done.stderr)
        expect(contents(box) == before and not (box / "run").exists(), f"{message}: something changed")
    path.write_text(right)
    box.run("worker --store job --quiet")
    expect_equal({"threads": on_threads(box, flags), "store": fetched(box)})


def check_a_full_disk_is_said_and_survived(box):
    """On a small file system of its own, for which one must be root."""
    write_long_data(box)
    place = box / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        print("SKIPPED: a full disk: only root can mount a small file system")
        return
    try:
        os.symlink("small/job", box / "job")
        ballast = place / "ballast"

        def fill():
            with open(ballast, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(1 << 16))
                except OSError as error:
                    expect(error.errno == errno.ENOSPC, error)

        flags = f"{LONG} --max-iter 3000"  # memory is fast
        fill()
        done = box.run(f"submit {flags} --lease 1 --store small/job", code=1)
        expect("No space" in done.stderr and len(messages(done.stderr)) == 1, done.stderr)
        ballast.unlink()
        submit(box, flags, lease=1)
        with Workers(box) as workers:
            running = [workers.start(), workers.start()]
            workers.begun()
            fill()
            for process in running:
                said = ended(process, code=1)
                expect("No space" in said and len(messages(said)) == 1, said)
            ballast.unlink()
            ended(workers.start())
        expect_equal({"threads": on_threads(box, flags), "store": fetched(box)})
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def check_credentials_that_do_not_fit(box):
    (box / "rows.libsvm").write_text("+1 1:1\n-1 2:1\n")
    key = "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldCBzZWNyZXQgMQ=="
    cases = (
        ({}, "account acc: no credentials; set AZURE_STORAGE_CONNECTION_STRING"),
        ({"AZURE_STORAGE_ACCOUNT": "acc"}, "no credentials"),
        ({"AZURE_STORAGE_CONNECTION_STRING": f"AccountName=other;AccountKey={key}"},
         "AZURE_STORAGE_CONNECTION_STRING is of account other, the location of account acc"),
        ({"AZURE_STORAGE_CONNECTION_STRING": key}, "AZURE_STORAGE_CONNECTION_STRING: part 1"),
        ({"AZURE_STORAGE_ACCOUNT": "acc", "AZURE_STORAGE_KEY": key[:40] + "!"},
         "AZURE_STORAGE_KEY: is not an account key"),
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AZURE_")}
    for environment, message in cases:
        for command in ("submit svm rows.libsvm", "worker", "status", "fetch", "cancel",
                        "train svm rows.libsvm --runtime storage"):
            done = box.run(f"{command} --store azure://acc/container/x", code=2, env={**clean, **environment})
            expect(message in done.stderr and len(messages(done.stderr)) == 1, done.stderr)
            expect(key[:16] not in done.stdout + done.stderr, "the key is shown")
    expect(not (box / "runs").exists(), "a run was begun")
