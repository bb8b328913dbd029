"""The dial: one answer with a staleness of 0 and 1; records of fresh reads that give the same bits."""

import json
import os
import random
import signal
import time

from checks_failures import expect_gone, ranks_of
from checks_storage import Workers, ended, fetched, left, on_store, on_threads, status, wait_until, write_data
from checks_training import wait_for_rounds
from harness import expect, expect_equal, libsvm_text

FLAGS = "rows.libsvm --solver sgd --shards 8 --tol 0 --seed 3 --quiet"


def places(box, flags):
    """model_sha256 on threads, ranks and a store."""
    found = {}
    for threads in (1, 3):
        found[f"{threads} threads"] = box.json(f"{flags} --threads {threads} --out t{threads}")
    found["4 threads as workers"] = box.json(f"{flags} --exchange allreduce --threads 4 --out w")
    for ranks in (2, 5):
        found[f"{ranks} ranks"] = box.json(f"{flags} --threads 1 --out r{ranks}", ranks=ranks)
    found["store"] = box.json(f"{flags} --store ./job --workers 2 --out s")
    return {where: result["model_sha256"] for where, result in found.items()}


def check_staleness_1_is_the_same_on_threads_ranks_and_stores(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    for learner in ("svm", "logistic"):
        expect_equal(places(box, f"train {learner} {FLAGS} --max-iter 7 --staleness 1"))


def check_a_run_with_staleness_1_is_resumed_to_the_same_model(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    flags = f"train svm {FLAGS} --staleness 1"
    whole = box.json(f"{flags} --max-iter 9 --out whole")
    box.json(f"{flags} --max-iter 9 --time-limit 1e-6 --out part")
    run = json.loads((box / "part/run.json").read_text())
    expect(run["rounds"] < 9, run["rounds"])
    resumed = box.json("train svm rows.libsvm --resume part --threads 2 --quiet")
    expect_equal({"whole": whole["model_sha256"], "resumed": resumed["model_sha256"]})
    expect(resumed["staleness"] == 1, resumed["staleness"])


def check_fresh_reads_of_threads_and_ranks_are_replayed_anywhere(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    flags = f"train svm {FLAGS} --max-iter 8"
    for name, where, ranks in (("threads", "--threads 4", 0), ("ranks", "--threads 1", 3)):
        run = box.json(f"{flags} --staleness 3 {where} --out {name}", ranks=ranks)
        expect(run["reads"] == "fresh" and run["staleness"] == 3, run)
        found = {"run": run["model_sha256"]}
        replay = f"{flags} --replay {name}"
        found["2 threads"] = box.json(f"{replay} --threads 2 --out a")["model_sha256"]
        found["2 ranks"] = box.json(f"{replay} --threads 1 --out b", ranks=2)["model_sha256"]
        found["store"] = box.json(f"{replay} --store ./job --workers 2 --out c")["model_sha256"]
        expect_equal(found)


def check_topics_with_fresh_reads_are_replayed(box):
    words = ["ant", "bee", "cat", "dog", "eel", "fox"]
    rows = [" ".join(words[(i * j) % 6] for j in range(1, 9)) for i in range(1, 200)]
    (box / "text.txt").write_text("\n".join(rows) + "\n")
    flags = "train lda text.txt --n-topics 3 --passes 2 --shards 4 --seed 3 --quiet"
    run = box.json(f"{flags} --staleness 2 --threads 3 --out run")
    again = box.json(f"{flags} --replay run --threads 2 --out again")
    expect_equal({"run": run["model_sha256"], "again": again["model_sha256"]})


def check_a_fresh_run_that_is_interrupted_goes_on_and_can_be_replayed(box):
    (box / "rows.libsvm").write_text(libsvm_text(300, 1000, 20))
    flags = f"train logistic {FLAGS} --l2 0 --max-iter 12 --staleness 3 --threads 3"
    box.json(f"{flags} --time-limit 1e-6 --out run")
    done = box.json("train logistic rows.libsvm --resume run --threads 3 --quiet")
    expect(done["rounds"] == 12 and done["reads"] == "fresh", done)
    again = box.json(f"train logistic {FLAGS} --l2 0 --max-iter 12 --replay run --threads 2 --out again")
    expect_equal({"run": done["model_sha256"], "again": again["model_sha256"]})


def check_a_damaged_record_is_refused(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    flags = f"train svm {FLAGS} --max-iter 5"
    box.json(f"{flags} --staleness 2 --threads 2 --out run")
    path = box / "run/reads.bin"
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:40], whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], b""):
        path.write_bytes(damaged)
        done = box.run(f"{flags} --replay run --out again", code=2)
        expect("run/reads.bin" in done.stderr, done.stderr)
        expect(not (box / "again").exists(), "a directory was made")
    path.write_bytes(whole)
    done = box.run(f"train svm {FLAGS} --max-iter 6 --replay run --out again", code=2)
    expect("--replay: what the learner was given" in done.stderr, done.stderr)
    (box / "rows.libsvm").write_text(libsvm_text(500, 40, 5))
    done = box.run(f"{flags} --replay run --out again", code=2)
    expect("--replay: the hash of the data" in done.stderr, done.stderr)


def check_a_staleness_on_a_store_is_that_on_threads(box):
    write_data(box)
    flags = "logistic rows.libsvm --solver sgd --l2 0 --tol 0 --max-iter 12 --shards 9 --staleness 1"
    found = {"threads": on_threads(box, flags)}
    for workers in (1, 3):
        found[f"{workers} workers"] = on_store(box, f"{flags} --workers {workers}")
    expect_equal(found)
    lines = [json.loads(line) for line in (box / "on-store/metrics.jsonl").read_text().splitlines()]
    ahead = [line["storage"]["ahead_seconds"] for line in lines if "round" in line]
    # How long depends on who waits for whom.
    expect(len(ahead) == 12 and min(ahead) >= 0, ahead)


def staleness_of(box, run):
    """Lines of a run with fresh reads; none may have seen less than the bound allows."""
    lines = [json.loads(line) for line in (box / run / "metrics.jsonl").read_text().splitlines()]
    return [line["staleness"] for line in lines if "staleness" in line]


def expect_replayed(box, flags, run, model, store=True):
    """The record of a run gives its model on threads, ranks and a store."""
    found = {"run": model}
    found["3 threads"] = box.json(f"{flags} --replay {run} --threads 3 --out ra")["model_sha256"]
    found["3 ranks"] = box.json(f"{flags} --replay {run} --threads 1 --out rb", ranks=3)["model_sha256"]
    if store:
        found["store"] = box.json(f"{flags} --replay {run} --store ./again --workers 2 --out rc")["model_sha256"]
    expect_equal(found)


def check_fresh_reads_at_a_store_are_replayed_anywhere(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    flags = f"train svm {FLAGS} --max-iter 40"  # it converges before
    for workers in (2, 3):
        run = box.json(f"{flags} --staleness 4 --store ./job --workers {workers} --out run{workers}")
        expect(run["reads"] == "fresh" and run["staleness"] == 4 and run["rounds"] >= 6, run)
        expect(left(box) == [], left(box))
        expect(box.rounds(f"run{workers}") == list(range(1, run["rounds"] + 1)), box.rounds(f"run{workers}"))
        seen = staleness_of(box, f"run{workers}")
        expect(len(seen) == run["rounds"] and max(line["most"] for line in seen) <= 4, seen)
        expect(all(sum(line["histogram"]) == 8 * 7 for line in seen), seen)
        expect_replayed(box, flags, f"run{workers}", run["model_sha256"], store=workers == 3)
        observed = box.record(f"run{workers}")["audit"]["observed_staleness"]
        expect(len(observed["histogram"]) <= 5, observed)
        expect(0 <= observed["waits_saved"] <= observed["clocks"] >= 8 * run["rounds"], observed)


def check_workers_killed_among_fresh_reads_are_no_harm(box):
    (box / "rows.libsvm").write_text(libsvm_text(1500, 300, 20))
    flags = f"svm {FLAGS} --max-iter 160"
    box.json(f"submit {flags} --staleness 3 --lease 1 --store job")
    with Workers(box) as workers:
        for number in range(3):
            killed = [workers.start() for _ in range(2)]
            rounds = wait_until(lambda: box_clocks(box) > 20 * number, "clocks")
            for process in killed:
                process.send_signal(signal.SIGKILL)
            expect(rounds, "no clocks")
        ended(workers.start())
    model = fetched(box)
    expect(max(line["most"] for line in staleness_of(box, "run")) <= 3, staleness_of(box, "run"))
    expect_replayed(box, f"train {flags}", "run", model, store=False)


def box_clocks(box):
    """Moves at the store: of the stretch that is under way and those before that are kept."""
    return len(list((box / "job/blobs").glob("*/rounds/*/moves/*/*"))) + 64 * status(box)["step"]


def check_a_run_at_a_store_goes_on_from_fresh_reads_on_threads(box):
    # More columns than rows, so that the loss falls for ever.
    (box / "rows.libsvm").write_text(libsvm_text(300, 1000, 20))
    flags = f"train logistic {FLAGS} --l2 0 --staleness 2"
    box.json(f"{flags} --max-iter 10 --threads 3 --out a")
    more = box.json("train logistic rows.libsvm --resume a --max-iter 30 --store ./job --workers 2 --quiet --out b")
    expect(more["rounds"] == 30 and more["reads"] == "fresh", more)
    again = box.json("train logistic rows.libsvm --resume b --max-iter 34 --threads 2 --quiet --out c")
    expect(again["rounds"] == 34, again)


def check_16_workers_give_the_model_of_one(box):
    (box / "rows.libsvm").write_text(libsvm_text(800, 40, 5))
    for staleness in (0, 1):
        flags = f"train svm rows.libsvm --solver sgd --shards 16 --tol 0 --seed 3 --quiet --max-iter 6 --staleness {staleness}"
        found = {"a thread": box.json(f"{flags} --threads 1 --out a")["model_sha256"]}
        found["16 threads"] = box.json(f"{flags} --threads 16 --out b")["model_sha256"]
        found["16 ranks"] = box.json(f"{flags} --threads 1 --out c", ranks=16)["model_sha256"]
        found["16 at a store"] = box.json(f"{flags} --store ./job --workers 16 --out d")["model_sha256"]
        expect_equal(found)


def check_killed_ranks_with_staleness_1_go_on_in_other_numbers(box):
    (box / "rows.libsvm").write_text(libsvm_text(1500, 2000, 20))
    flags = "logistic rows.libsvm --solver sgd --l2 0 --tol 0 --max-iter 1000 --shards 6 --quiet --staleness 1"
    whole = box.json(f"train {flags} --threads 2 --checkpoint-seconds 100 --out whole")["model_sha256"]
    found = {"whole": whole}
    for killed, ranks in ((0, 2), (2, 5)):
        run = f"run{killed}"
        process = box.start(f"train {flags} --threads 1 --checkpoint-seconds 0 --out {run}".split(), ranks=3)
        pids = []
        try:
            wait_for_rounds(box, run, 10, process)
            pids = ranks_of(process)
            os.kill(pids[killed], signal.SIGKILL)
            process.communicate(timeout=60)
        finally:
            process.kill()
            expect_gone(pids)
        expect(10 <= len(box.rounds(run)) < 1000, f"{len(box.rounds(run))} rounds: not the middle")
        resumed = box.json(f"train logistic rows.libsvm --resume {run} --threads 1 --quiet --checkpoint-seconds 100",
                           ranks=ranks)
        found[f"rank {killed} killed, then {ranks} ranks"] = resumed["model_sha256"]
    expect_equal(found)


def check_ranks_that_stand_still_are_recorded_and_replayed(box):
    (box / "rows.libsvm").write_text(libsvm_text(1500, 1000, 20))
    flags = "train logistic rows.libsvm --solver sgd --l2 0 --tol 0 --max-iter 200 --shards 8 --quiet"
    process = box.start(f"{flags} --staleness 4 --threads 1 --out run".split(), ranks=4)
    draw = random.Random(7)
    pids = []
    try:
        wait_for_rounds(box, "run", 5, process)
        pids = ranks_of(process)
        for _ in range(8):
            pid, rounds = draw.choice(pids), len(box.rounds("run"))
            os.kill(pid, signal.SIGSTOP)
            deadline = time.monotonic() + draw.uniform(0.02, 0.1)  # the others come to the bound and wait
            while time.monotonic() < deadline and len(box.rounds("run")) < rounds + 4:
                time.sleep(0.002)
            os.kill(pid, signal.SIGCONT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        expect_gone(pids)
    expect(process.returncode == 0, said)
    seen = staleness_of(box, "run")
    expect(1 <= max(line["most"] for line in seen) <= 4, seen)
    found = {"4 ranks": box.record("run")["model_sha256"]}
    found["3 threads"] = box.json(f"{flags} --replay run --threads 3 --out a")["model_sha256"]
    found["3 at a store"] = box.json(f"{flags} --replay run --store ./job --workers 3 --out b")["model_sha256"]
    expect_equal(found)
