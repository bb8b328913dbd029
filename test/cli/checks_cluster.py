"""One answer: the same model, to the last bit, on threads and on ranks, whoever adds up what."""

import gzip
import json

from harness import expect, expect_equal, libsvm_text, points, write_npy

WORKERS = (1, 2, 3, 5, 8)
# (ranks, threads of each); no ranks: threads of one process.
THREADS = [(0, workers) for workers in WORKERS]
RANKS = [(ranks, 1) for ranks in WORKERS] + [(2, 2)]


def models(box, flags, exchanges, places):
    """model_sha256 by where it was made."""
    found = {}
    for exchange in exchanges:
        for ranks, threads in places:
            words = f"{flags} --exchange {exchange} --threads {threads} --quiet --out run"
            result = box.json(words, ranks=ranks)
            where = f"{exchange}, {ranks} ranks, {threads} threads"
            expect(result["runtime"] == ("mpi" if ranks else "threads"), (where, result["runtime"]))
            if exchange != "auto":
                expect(result["workers"] == (ranks or threads), (where, result["workers"]))
            found[where] = result["model_sha256"]
    return found


def one_answer(box, flags):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    found = models(box, flags, ("auto", "tree", "allreduce"), THREADS)
    found |= models(box, flags, ("tree", "allreduce"), RANKS)
    expect_equal(found)


def check_svm_is_the_same_on_threads_and_ranks(box):
    one_answer(box, "train svm rows.libsvm --shards 8 --solver sgd --max-iter 6")


def check_logistic_is_the_same_on_threads_and_ranks(box):
    one_answer(box, "train logistic rows.libsvm --shards 5 --solver hybrid --l1 1e-3 "
                    "--standardize --class-weight balanced --max-iter 12")


def check_gradients_are_the_same_on_threads_and_ranks(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    flags = "train svm rows.libsvm --shards 7 --send gradient --batch-fraction 0.2 --max-iter 9"
    expect_equal(models(box, flags, ("auto", "tree"), [(0, 3)]) |
                 models(box, flags, ("tree", "allreduce"), [(3, 1)]))


def check_kmeans_is_the_same_on_threads_and_ranks(box):
    write_npy(box / "x.npy", points(900, 6, blobs=7), 900, 6)
    flags = "train kmeans x.npy --n-clusters 7 --shards 6 --max-iter 5 --tol 0"
    expect_equal(models(box, flags, ("auto", "tree", "allreduce"), [(0, 3)]) |
                 models(box, flags, ("tree", "allreduce"), [(1, 1), (3, 1), (5, 1), (2, 2)]))


def check_every_format_gives_ranks_the_same_data(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    box.run("convert rows.libsvm rows.safetensors --quiet")
    (box / "rows.libsvm.gz").write_bytes(gzip.compress((box / "rows.libsvm").read_bytes()))
    found = {}
    for name in ("rows.libsvm", "rows.safetensors", "rows.libsvm.gz"):
        for ranks in (0, 3):
            result = box.json(f"train svm {name} --shards 8 --max-iter 3 --threads 1 --quiet",
                              ranks=ranks)
            found[f"{name}, {ranks} ranks"] = result["data_sha256"] + result["model_sha256"]
    expect_equal(found)


def check_replicas_leave_the_model_as_it_is(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    (box / "test.libsvm").write_text(libsvm_text(200, 40, 5, seed=2))
    box.run("convert rows.libsvm rows.safetensors --quiet")
    for flags in ("rows.libsvm --staleness 1", "rows.libsvm --tfidf", "rows.safetensors",
                  "rows.libsvm --eval test.libsvm --staleness 1 --send gradient"):
        words = f"train svm {flags} --solver sgd --shards 8 --max-iter 6 --tol 0 --quiet --out run"
        found = {"threads": box.json(f"{words} --threads 2")["model_sha256"]}
        for ranks, more in ((2, ""), (3, ""), (5, "--exchange tree"), (0, "--exchange allreduce")):
            result = box.json(f"{words} {more} --threads {1 if ranks else 3} --replicas 2",
                              ranks=ranks)
            expect(result["replicas"] == 2, result)
            lines = (box / "run/metrics.jsonl").read_text().splitlines()
            shared = [line for line in map(json.loads, lines) if "stolen" in line]
            expect(len(shared) >= 5, f"{len(shared)} rounds in which shards could be taken")
            for line in shared:
                expect(sum(line["shards_of_workers"]) == 8, line)
            found[f"{flags}, {ranks} ranks"] = result["model_sha256"]
        expect_equal(found)


def check_held_out_data_is_the_same_on_ranks(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    (box / "test.libsvm").write_text(libsvm_text(200, 45, 5, seed=2))
    flags = "train logistic rows.libsvm --eval test.libsvm --shards 8 --solver sgd --l2 0 --quiet"
    found = {ranks: box.json(f"{flags} --threads 1 --out run-{ranks}", ranks=ranks)
             for ranks in (0, 2, 3)}
    expect_equal({ranks: result["model_sha256"] for ranks, result in found.items()})
    expect_equal({ranks: result["stopped_because"] for ranks, result in found.items()})


def check_a_checkpoint_of_three_ranks_goes_on_elsewhere(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    for solver in ("sgd", "lbfgs", "hybrid"):
        flags = f"train logistic rows.libsvm --shards 8 --solver {solver} --tol 0 --seed 3"
        whole = box.json(f"{flags} --max-iter 12 --quiet --out {solver}-whole")
        expect(whole["rounds"] == 12, whole)
        box.run(f"{flags} --max-iter 5 --checkpoint-seconds 0 --threads 1 --quiet "
                f"--out {solver}-part", ranks=3)
        found = {"whole": whole["model_sha256"]}
        for ranks, threads in ((2, 1), (0, 2), (1, 2)):
            result = box.json(f"train logistic rows.libsvm --resume {solver}-part --max-iter 12 "
                              f"--out {solver}-{ranks} --threads {threads} --quiet", ranks=ranks)
            expect(result["rounds"] == 12 and result["shards"] == 8, result)
            expect(box.rounds(f"{solver}-{ranks}") == list(range(1, 13)), "rounds")
            found[f"{ranks} ranks"] = result["model_sha256"]
        expect_equal(found)


def check_a_path_of_three_ranks_goes_on_elsewhere(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    flags = ("train logistic rows.libsvm --shards 8 --solver working-set --path 16 --path-ratio 1e-3 "
             "--validation-fraction 0.3 --patience 3 --tol 1e-8 --quiet")
    whole = box.json(f"{flags} --out whole")
    box.run(f"{flags} --max-iter 1 --checkpoint-seconds 0 --threads 1 --out part", ranks=3)
    found = {"whole": whole["model_sha256"]}
    for ranks in (0, 2):
        result = box.json(f"train logistic rows.libsvm --resume part --max-iter 200 --threads 1 --quiet --out on-{ranks}",
                          ranks=ranks)
        expect(result["path"] == whole["path"], result["path"])
        found[f"{ranks} ranks"] = result["model_sha256"]
    expect_equal(found)
    losses = [point["held_out_loss"] for point in whole["path"]]
    expect(whole["held_out_loss"] == min(losses) and len(losses) < 16, losses)


def check_a_resumed_run_keeps_its_held_out_data(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    (box / "test.libsvm").write_text(libsvm_text(200, 40, 5, seed=2))
    flags = "train logistic rows.libsvm --eval test.libsvm --solver sgd --l2 0 --tol 0 --shards 4"
    whole = box.json(f"{flags} --out whole --quiet")
    # Cut by time: a run that is done has gone back to its best weights.
    cut = box.json(f"{flags} --time-limit 1e-6 --out part --quiet")
    expect(cut["rounds"] < whole["rounds"], (cut, whole))
    result = box.json("train logistic rows.libsvm --resume part --quiet")
    expect_equal({"whole": whole["model_sha256"], "resumed": result["model_sha256"]})
    expect(result["stopped_because"] == whole["stopped_because"], result)
