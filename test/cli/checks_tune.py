"""Rows that are split are the rows of the input, and a comparison keeps the run that train makes."""

import csv
import io
import json
import random
import signal
import time

from harness import expect, expect_equal


def check_split_copies_rows_byte_for_byte(box):
    draw = random.Random(4)
    pieces = ['plain', '"quoted, field"', '"two\nlines"', '"a ""quote"""', 'ü€', '007', '', '"CR\r\nLF"', '1e5']
    for line_end, mark, seed in (("\n", b"", 1), ("\r\n", b"\xef\xbb\xbf", 2)):
        rows = [f'{i},{draw.choice(pieces)},{draw.choice(pieces)},{"ab"[i % 2]}{line_end}' for i in range(500)]
        header = f"id,x,y,kind{line_end}"
        (box / "in.csv").write_bytes(mark + (header + "".join(rows)).encode())
        box.run(f"split in.csv --label-column kind --test-fraction 0.3 --seed {seed} --out-train a.csv --out-test b.csv")
        start = mark + header.encode()
        train, test = (box / "a.csv").read_bytes(), (box / "b.csv").read_bytes()
        expect(train.startswith(start) and test.startswith(start), "the header is not in both files")
        train, test = train.removeprefix(start).decode(), test.removeprefix(start).decode()
        inputs = {row: i for i, row in enumerate(rows)}
        found = []
        for text, count in ((train, 350), (test, 150)):
            parsed = list(csv.reader(io.StringIO(text, newline="")))
            expect(len(parsed) == count, f"{len(parsed)} rows, expected {count}")
            kinds = [row[-1] for row in parsed]
            expect(kinds.count("a") == count // 2, f"{kinds.count('a')} of {count} rows are of kind a")
            numbers = [int(row[0]) for row in parsed]
            expect(numbers == sorted(numbers), "rows are not in the order of the input")
            expect("".join(rows[i] for i in numbers) == text, "a row is not what it was")
            found += numbers
        expect(sorted(found) == sorted(inputs.values()), "rows are missing, or twice")


def check_split_of_folds_tests_each_row_once(box):
    lines = [f"{1 if i % 3 else -1} 1:{i}\n" for i in range(90)]
    (box / "rows.libsvm").write_text("".join(lines))
    box.run("split rows.libsvm --stratify --folds 4 --out-train a{}.libsvm --out-test b{}.libsvm")
    tested = []
    for fold in range(1, 5):
        train = (box / f"a{fold}.libsvm").read_text().splitlines(keepends=True)
        test = (box / f"b{fold}.libsvm").read_text().splitlines(keepends=True)
        expect(sorted(train + test) == sorted(lines), f"fold {fold} has not all rows")
        expect(sum(line.startswith("-1") for line in test) in (7, 8), f"fold {fold} has not its share")
        tested += test
    expect(sorted(tested) == sorted(lines), "a row is tested on more than once, or never")


def check_split_of_npy_keeps_type_and_shape(box):
    import array
    import struct
    def npy(rows, text):
        header = f"{{'descr': '<i2', 'fortran_order': False, 'shape': {text}, }}"
        header = header.ljust(117) + "\n"
        values = array.array("h", rows)
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values.tobytes()
    (box / "x.npy").write_bytes(npy(range(40), "(20, 2)"))
    (box / "y.npy").write_bytes(npy([i % 2 for i in range(20)], "(20,)"))
    box.run("split x.npy --labels y.npy --test-fraction 0.5 --out-train a.npy --out-test b.npy")
    box.run("split y.npy --test-fraction 0.25 --out-train c.npy --out-test d.npy")
    found = []
    for name, shape, count in (("a.npy", "(10, 2)", 20), ("b.npy", "(10, 2)", 20), ("c.npy", "(15,)", 15)):
        data = (box / name).read_bytes()
        size = struct.unpack("<H", data[8:10])[0]
        header = data[10:10 + size].decode()
        expect("'<i2'" in header and shape in header, f"{name}: {header}")
        values = array.array("h", data[10 + size:])
        expect(len(values) == count, f"{name} has {len(values)} values")
        if name in ("a.npy", "b.npy"):
            found += values
            expect(sum(v // 2 % 2 for v in values[::2]) == 5, f"{name} has not its share of the labels")
    expect(sorted(found) == list(range(40)), "values are missing, or twice")


def check_tune_keeps_the_run_that_train_makes(box):
    draw = random.Random(6)
    lines = []
    for _ in range(400):
        x = [draw.gauss(0, 1) for _ in range(5)]
        label = 1 if x[0] - x[1] + draw.gauss(0, 1) > 0 else -1
        lines.append(f"{label} " + " ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(x)) + "\n")
    (box / "rows.libsvm").write_text("".join(lines))
    hashes, scores = {}, {}
    for threads in (1, 2, 3):
        result = box.json(f"tune logistic rows.libsvm --l2 1e-5..1e-1 --folds 4 --seed 3 --threads {threads} --out t{threads} --quiet")
        hashes[f"{threads} threads"] = result["run"]["model_sha256"]
        scores[threads] = json.dumps([c["scores"] for c in result["candidates"]])
    expect_equal(scores)
    alone = box.json(f"train logistic rows.libsvm --l2 {result['chosen']['l2']} --seed 3 --deal blocks --out alone --quiet")
    hashes["train"] = alone["model_sha256"]
    expect_equal(hashes)
    kept = json.loads((box / "t1" / "tuning.json").read_text())
    expect(len(kept["candidates"]) == 5, kept)
    expect(box.record("t1")["tuned"]["candidates"] == 5, box.record("t1"))


def check_tune_says_when_the_best_value_is_the_last_one_tried(box):
    draw = random.Random(9)
    lines = []
    for _ in range(300):
        x = [draw.gauss(0, 1) for _ in range(3)]
        lines.append(f"{x[0] - x[1] + draw.gauss(0, 0.1)} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x)) + "\n")
    (box / "rows.libsvm").write_text("".join(lines))
    tune = "tune linear rows.libsvm --score rmse --quiet"
    line = "best l2 is the smallest tried: try smaller ones\n"
    # A penalty costs more than noise here, so the smallest is the best of all.
    table = box.run(f"{tune} --l2 1e-1..1e1 --out a").stdout
    expect(table.endswith("with the lowest rmse\n" + line), table)
    kept = json.loads((box / "a" / "tuning.json").read_text())
    expect(kept["edges"] == {"l2": "smallest"}, kept)
    both = box.run(f"{tune} --l2 1e-1,1,10 --max-iter 1,2,3 --standardize --out b").stdout
    expect(line in both and "best max_iter is the largest tried: try larger ones\n" in both, both)
    for other in ("--l2 1e-1,1", "--l2 0,1e-1,1", "--solver lbfgs,sgd"):
        result = box.json(f"{tune} {other} --out c --overwrite")
        expect("edges" not in result, f"{other}: {result.get('edges')}")
        expect("tried" not in box.run(f"{tune} {other} --out c --overwrite").stdout, other)
    # Two is the least number of clusters that has a silhouette.
    (box / "points.csv").write_text("".join(f"{20 * (i % 2) + draw.gauss(0, 1)},{draw.gauss(0, 1)}\n" for i in range(200)))
    result = box.json("tune kmeans points.csv --n-clusters 2..5 --out d --quiet")
    expect(result["chosen"] == {"n_clusters": 2} and "edges" not in result, result)


def planted_topics(draw, topics, documents):
    """Documents of 60 words, nine in ten of which are of one topic; each topic has 20 words of its own."""
    lines = []
    for _ in range(documents):
        own = draw.randrange(topics)
        topic_of = [own if draw.random() < 0.9 else draw.randrange(topics) for _ in range(60)]
        lines.append(" ".join(f"word{'abcdefgh'[topic]}{'abcdefghijklmnopqrst'[draw.randrange(20)]}"
                              for topic in topic_of) + "\n")
    return "".join(lines)


def check_tune_finds_the_number_of_topics(box):
    (box / "planted.txt").write_text(planted_topics(random.Random(12), 4, 400))
    hashes, scores = {}, {}
    for threads in (1, 3):
        result = box.json(f"tune lda planted.txt --n-topics 1,2,4 --test-fraction 0.2 --seed 5 --threads {threads} "
                          f"--out t{threads} --quiet")
        hashes[f"{threads} threads"] = result["run"]["model_sha256"]
        scores[threads] = json.dumps([c["scores"] for c in result["candidates"]])
    expect_equal(scores)
    one, two, four = (candidate["score"] for candidate in result["candidates"])
    expect(result["chosen"] == {"n_topics": 4} and not result["higher_is_better"], result)
    expect(one > 1.3 * two > 1.5 * four, f"perplexities {one}, {two} and {four}")
    expect(20 < four < 45, f"{four} is not near the 20 words of a topic")
    hashes["train"] = box.json("train lda planted.txt --n-topics 4 --seed 5 --deal blocks --out alone --quiet")["model_sha256"]
    expect_equal(hashes)
    table = box.run("tune lda planted.txt --n-topics 2,4 --folds 3 --score coherence_npmi --out npmi").stdout
    expect("coherence_npmi" in table.splitlines()[0] and "perplexity" in table.splitlines()[0], table)
    expect("+-" in table and "best: n_topics 4, with the highest coherence_npmi" in table, table)


def check_a_running_run_is_not_removed(box):
    (box / "rows.libsvm").write_text("".join(f"{i % 2} 1:{i}\n" for i in range(3000)))
    words = "train logistic rows.libsvm --solver sgd --max-iter 100000000 --tol 0 --out slow --quiet".split()
    process = box.start(words)
    try:
        deadline = time.monotonic() + 120
        while not (box / "slow" / "metrics.jsonl").exists():
            expect(time.monotonic() < deadline and process.poll() is None, "the run did not begin")
            time.sleep(0.02)
        listed = box.json("runs slow")["runs"]
        expect(listed[0]["state"] == "running", listed)
        done = box.run("runs --remove slow --yes", code=2)
        expect("is being written by process" in done.stderr, done.stderr)
        expect((box / "slow" / "run.json").exists(), "it was removed")
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    expect(box.json("runs slow")["runs"][0]["state"] == "killed", "a killed run is not called so")
    box.run("runs --remove slow --yes")
    expect(not (box / "slow").exists(), "it was not removed")


def check_merged_models_are_measured_beside_their_parts(box):
    draw = random.Random(8)
    for name, count in (("a", 300), ("b", 100), ("test", 400)):
        lines = []
        for _ in range(count):
            x = [draw.gauss(0, 1) for _ in range(3)]
            label = 1 if x[0] + x[1] + 0.3 * draw.gauss(0, 1) > 0 else -1
            lines.append(f"{label} " + " ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(x)) + "\n")
        (box / f"{name}.libsvm").write_text("".join(lines))
    for name in ("a", "b"):
        box.run(f"train svm {name}.libsvm --out {name} --quiet")
    merged = box.json("merge a b --out both.safetensors --data test.libsvm")
    expect([one["weight"] for one in merged["merged"]] == [300, 100], merged)
    for name, measures in (("a", merged["measures"]["models"][0]), ("b", merged["measures"]["models"][1]),
                           ("both.safetensors", merged["measures"]["merged"])):
        own = box.json(f"evaluate {name} test.libsvm")
        expect(own["accuracy"] == measures["accuracy"], f"{name}: {own} is not {measures}")
    expect(merged["measures"]["merged"]["accuracy"] > 0.9, merged)
    again = box.json("merge both.safetensors a --out more.safetensors")
    expect(len(again["merged"][0]["merged"]) == 2, again)


def check_topics_of_two_halves_are_merged(box):
    draw = random.Random(3)
    words = [["sun", "rain", "wind", "snow"], ["bread", "milk", "salt", "rice"]]
    texts = [" ".join(draw.choice(words[i % 2]) for _ in range(20)) + "\n" for i in range(200)]
    vocabulary = sorted(word for topic in words for word in topic)
    (box / "words.txt").write_text("\n".join(vocabulary) + "\n")
    (box / "a.txt").write_text("".join(texts[:100]))
    (box / "b.txt").write_text("".join(texts[100:]))
    for name, seed in (("a", 1), ("b", 2)):
        box.run(f"train lda {name}.txt --vocabulary words.txt --n-topics 2 --seed {seed} --out {name} --quiet")
    merged = box.json("merge a b --out both.safetensors --data b.txt")
    measures = merged["measures"]
    expect([one["weight"] for one in merged["merged"]] == [100, 100], merged)
    parts = [one["perplexity"] for one in measures["models"]]
    expect(measures["merged"]["perplexity"] < 1.05 * max(parts), measures)
    described = box.json("inspect both.safetensors")
    tops = {frozenset(topic["words"][:4]) for topic in described["topics"]}
    expect(tops == {frozenset(topic) for topic in words}, described["topics"])
