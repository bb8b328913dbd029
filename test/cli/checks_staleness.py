"""The dial: one answer with a staleness of 0 and 1; records of fresh reads that give the same bits."""

import json

from checks_storage import on_store, on_threads, write_data
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
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    flags = f"train svm {FLAGS} --max-iter 12 --staleness 3 --threads 3"
    box.json(f"{flags} --time-limit 1e-6 --out run")
    done = box.json("train svm rows.libsvm --resume run --threads 3 --quiet")
    expect(done["rounds"] == 12 and done["reads"] == "fresh", done)
    again = box.json(f"train svm {FLAGS} --max-iter 12 --replay run --threads 2 --out again")
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
