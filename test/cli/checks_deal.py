"""--deal content: the model is a function of the weighted multiset of rows, wherever it is trained."""

import json
import random
import shutil

from harness import expect, expect_equal

LEARNERS = {
    "kmeans": "kmeans {} --n-clusters 5 --n-init 2 --max-iter 20 --standardize",
    "kmeans||": "kmeans {} --n-clusters 5 --n-init 1 --init k-means||",
    "random": "kmeans {} --n-clusters 5 --n-init 1 --init random",
    "mini-batch": "kmeans {} --n-clusters 5 --batch-size 50 --max-iter 8",
    "svm": "svm {} --solver sgd --max-iter 6",
    "logistic": "logistic {} --solver lbfgs --class-weight balanced --max-iter 20",
    "held out": "logistic {} --solver lbfgs --validation-fraction 0.3 --max-iter 12",
    "lasso": "linear {} --l1 0.01 --max-iter 20",
    "gradient": "svm {} --send gradient --batch-fraction 0.3 --max-iter 9",
}


def rows_of(count, seed=1):
    """Rows of a label, a weight and numbers with few values, so that many rows are equal."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        numbers = [draw.randrange(4), draw.randrange(3) - 1, round(draw.choice((0, 0.25, 1.5)), 2)]
        label = int(numbers[0] + numbers[1] + draw.randrange(2) > 2)
        rows.append([label, draw.choice((1, 1, 2, 0.5)), *numbers])
    return rows


def write_csv(path, rows):
    path.write_text("label,weight,a,b,c\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))


def write_libsvm(path, rows):
    path.write_text("".join(f"{row[0]} " + " ".join(f"{i + 1}:{v}" for i, v in enumerate(row[2:]) if v) + "\n"
                            for row in rows))


CSV = "--label-column label --weight-column weight"


def model(box, words, out="run", ranks=0):
    shutil.rmtree(box / out, ignore_errors=True)
    result = box.json(f"train {words} --deal content --quiet --out {out}", ranks=ranks, code=None)
    expect(box.record(out)["deal"] == "content", box.record(out))
    return result["model_sha256"] + " " + result["data_sha256"][:8]


def check_content_gives_one_model_for_every_order_of_the_rows(box):
    rows = rows_of(900)
    shuffled = random.Random(2).sample(rows, len(rows))
    write_csv(box / "a.csv", rows)
    write_csv(box / "shuffled.csv", shuffled)
    write_csv(box / "1.csv", shuffled[:100])
    write_csv(box / "2.csv", shuffled[100:])
    # A weight of 2 is the row twice; of 0, none.
    halves = [[row[0], row[1] / 2, *row[2:]] for row in rows]
    write_csv(box / "twice.csv", random.Random(3).sample(halves + halves, 2 * len(rows)))
    write_csv(box / "zeros.csv", [*rows[:50], [1, 0, 9, 9, 9], *rows[50:], [0, 0, 7, 7, 7]])
    for name, learner in LEARNERS.items():
        found = {}
        for files in ("a.csv", "shuffled.csv", "1.csv 2.csv", "2.csv 1.csv", "twice.csv", "zeros.csv"):
            found[f"{name} of {files}"] = model(box, f"{learner.format(files)} {CSV} --seed 3")
        expect_equal(found)


def check_the_order_in_which_classes_are_met_does_not_count(box):
    rows = [[("oak", "ash", "elm")[row[0] + (row[2] > 2)], *row[1:]] for row in rows_of(300)]
    found = {}
    for seed in (1, 2, 3):
        write_csv(box / "a.csv", random.Random(seed).sample(rows, len(rows)))
        for ranks in (0, 2):
            words = f"logistic a.csv {CSV} --max-iter 10 --threads 1"
            found[f"order {seed}, {ranks} ranks"] = model(box, words, ranks=ranks)
    expect_equal(found)


def check_content_gives_one_model_on_threads_ranks_and_storage(box):
    rows = rows_of(700)
    write_csv(box / "a.csv", rows)
    write_libsvm(box / "a.libsvm", rows)
    box.run("convert a.libsvm a.safetensors --quiet")
    for name in ("kmeans", "svm", "held out", "lasso"):
        for files in (f"a.csv {CSV}", "a.libsvm", "a.safetensors"):
            words = f"{LEARNERS[name].format(files)} --shards 5"
            found = {}
            for threads in (1, 3):
                found[f"{threads} threads"] = model(box, f"{words} --threads {threads}")
            for ranks in (2, 3):
                found[f"{ranks} ranks"] = model(box, f"{words} --threads 1", ranks=ranks)
            found["tree"] = model(box, f"{words} --threads 3 --exchange tree")
            for workers in (1, 3):
                found[f"{workers} workers of a store"] = model(
                    box, f"{words} --runtime storage --store job --workers {workers}")
            expect_equal({f"{name} of {files} on {where}": value for where, value in found.items()})


def check_content_on_disk_gives_the_same_model(box):
    rows = [[*row, i % 97 / 8] for i, row in enumerate(rows_of(4000))]
    write_libsvm(box / "a.libsvm", rows)
    box.run("convert a.libsvm a.safetensors --quiet")
    for name in ("kmeans", "svm", "held out"):
        words = f"{LEARNERS[name].format('a.safetensors')} --max-iter 4"
        found = {"in memory": model(box, words), "on disk": model(box, f"{words} --memory-limit 4K"),
                 "on disk, ranks": model(box, f"{words} --threads 1 --memory-limit 4K", ranks=2)}
        expect_equal({f"{name} {where}": value for where, value in found.items()})
    left = [path.name for path in box.path.iterdir() if "content-" in path.name]
    expect(not left, f"left behind: {left}")


def check_lda_keeps_equal_documents_apart(box):
    draw = random.Random(4)
    documents = [" ".join(f"{w}:{draw.randrange(1, 4)}" for w in sorted(draw.sample(range(1, 30), 5)))
                 for _ in range(60)]
    documents += documents[:20]
    for name, texts in (("a", documents), ("b", draw.sample(documents, len(documents)))):
        (box / f"{name}.libsvm").write_text("".join(f"0 {text}\n" for text in texts))
    found = {}
    for name in ("a", "b"):
        for ranks in (0, 2):
            found[f"{name}, {ranks} ranks"] = model(
                box, f"lda {name}.libsvm --n-topics 3 --passes 2 --threads 1", ranks=ranks)
    expect_equal(found)
    expect(box.record("run")["data"]["dealt_rows"] == 80, box.record("run")["data"])


def check_a_run_goes_on_with_its_deal(box):
    rows = rows_of(500)
    write_csv(box / "a.csv", rows)
    write_csv(box / "b.csv", random.Random(2).sample(rows, len(rows)))
    words = f"svm a.csv {CSV} --solver sgd --tol 0 --threads 2"
    for deal in ("content", "blocks"):
        whole = box.json(f"train {words} --max-iter 8 --deal {deal} --quiet --out whole")
        box.run(f"train {words} --max-iter 3 --deal {deal} --quiet --out half")
        more = box.json(f"train svm a.csv {CSV} --resume half --max-iter 8 --quiet")
        expect(more["model_sha256"] == whole["model_sha256"], f"{deal}: another model")
        expect(box.record("half")["deal"] == deal, box.record("half"))
    # The order of the rows is no other data.
    box.run(f"train {words} --max-iter 3 --deal content --quiet --out half")
    whole = box.json(f"train {words} --max-iter 8 --deal content --quiet --out whole")
    more = box.json(f"train svm b.csv {CSV} --resume half --max-iter 8 --quiet")
    expect(more["model_sha256"] == whole["model_sha256"], "another model after rows were shuffled")


def check_a_run_that_does_not_say_was_dealt_in_blocks(box):
    write_csv(box / "a.csv", rows_of(500))
    words = f"logistic a.csv {CSV} --solver sgd --tol 0 --threads 2"
    whole = box.json(f"train {words} --max-iter 8 --deal blocks --quiet --out whole")
    box.run(f"train {words} --max-iter 3 --deal blocks --quiet --out half")
    record = box.record("half")
    del record["deal"], record["seal"]
    (box / "half" / "run.json").write_text(json.dumps(record))
    more = box.json(f"train logistic a.csv {CSV} --resume half --max-iter 8 --quiet --unsealed")
    expect(more["model_sha256"] == whole["model_sha256"], "another model")
    expect(box.record("half")["deal"] == "blocks", box.record("half"))
    said = box.run(f"train logistic a.csv {CSV} --resume half --max-iter 9 --deal content --unsealed", code=None).stderr
    expect("deal was blocks in half" in said, said)
    record["deal"] = "cards"
    (box / "half" / "run.json").write_text(json.dumps(record))
    said = box.run(f"train logistic a.csv {CSV} --resume half --max-iter 9 --unsealed", code=2).stderr
    expect("its deal is 'cards', expected blocks or content" in said, said)


def check_predictions_keep_the_order_of_the_file(box):
    rows = [[i % 2, 1, i % 7, i % 5, i] for i in range(60)]
    write_csv(box / "a.csv", rows)
    box.run(f"train kmeans a.csv {CSV} --n-clusters 3 --deal content --quiet --out run")
    whole = box.run("predict run a.csv").stdout.splitlines()
    write_csv(box / "b.csv", rows[::-1])
    expect(box.run("predict run b.csv").stdout.splitlines() == whole[::-1], "another order")


def check_more_clusters_than_distinct_rows(box):
    write_csv(box / "a.csv", rows_of(3) * 4)
    for init in ("auto", "random", "k-means||"):
        words = f"train kmeans a.csv {CSV} --n-clusters 6 --init {init} --quiet --deal content"
        expect(len(set(box.json(words, ranks=ranks)["model_sha256"] for ranks in (0, 2))) == 1, init)
    said = box.run(f"train kmeans a.csv {CSV} --n-clusters 13 --deal content", code=2).stderr
    expect("n_clusters is 13, but the data has only 12 rows" in said, said)


def check_graphs_are_not_dealt_by_content(box):
    (box / "g.txt").write_text("0 1\n1 2\n2 0\n")
    said = box.run("train pagerank g.txt --deal content", code=2).stderr
    expect("--deal" in said, said)
