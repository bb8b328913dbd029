"""Measures: every key is documented, and tables of many classes are cut."""

import pathlib
import random

from harness import expect

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "doc/measures.md"


def keys_of(value):
    """All names in the JSON; those of classes and quantiles, too."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


def write_table(path, classes, rows=400):
    draw = random.Random(classes)
    lines = ["x,y,z,label"]
    for i in range(rows):
        k = i % classes
        lines.append(f"{draw.gauss(k, 1):.4f},{draw.gauss(-k, 2):.4f},{draw.random():.4f},c{k:02}")
    path.write_text("\n".join(lines) + "\n")


def check_every_measure_is_documented(box):
    documented = DOCUMENT.read_text()
    write_table(box / "two.csv", 2)
    write_table(box / "four.csv", 4)
    (box / "words.txt").write_text("cat dog cat\ncow cat dog\ncar bus\nbus train car\ncar bus bus\n" * 4)
    draw = random.Random(1)
    pairs = [f"u{draw.randrange(30)},i{draw.randrange(20)},{draw.randint(1, 5)}" for _ in range(400)]
    (box / "ratings.csv").write_text("user,item,rating\n" + "\n".join(dict.fromkeys(pairs)) + "\n")
    runs = {
        "kmeans two.csv --label-column label --n-clusters 3": "two.csv",
        "svm two.csv --label-column label": "two.csv",
        "svm four.csv --label-column label": "four.csv",
        "logistic two.csv --label-column label": "two.csv",
        "logistic four.csv --label-column label": "four.csv",
        "linear two.csv --label-column x --ignore-column label": "two.csv",
        "lda words.txt --n-topics 2": "words.txt",
        "lda words.txt --n-topics 2 --sampler mh": "words.txt",
        "factorize ratings.csv --n-factors 4": "ratings.csv",
        "factorize ratings.csv --n-factors 4 --feedback implicit": "ratings.csv",
    }
    seen = set()
    for number, (what, data) in enumerate(runs.items()):
        box.run(f"train {what} --out r{number} --quiet")
        names = set(keys_of(box.json(f"evaluate r{number} {data}")))
        expect(len(names) > 4, f"{what}: only {names}")
        missing = sorted(name for name in names if f"`{name}`" not in documented)
        expect(not missing, f"doc/measures.md lacks {missing}, which evaluate prints of {what}")
        seen |= names
    expect({"ari", "silhouette", "auc_macro", "residual_quantiles", "ndcg", "perplexity"} <= seen, f"seen {seen}")


def check_tables_of_many_classes_are_cut(box):
    write_table(box / "many.csv", 37, rows=800)
    box.run("train svm many.csv --label-column label --out r --quiet --max-iter 20")
    text = box.run("evaluate r many.csv").stdout
    expect("the 20 classes with the most rows, of 37; --json has all" in text, text)
    expect(sum(line.startswith("  c") for line in text.splitlines()) == 40, text)  # 20 in each table
    measures = box.json("evaluate r many.csv")
    expect(len(measures["classes"]) == 37, "classes")
    expect([len(row) for row in measures["confusion"]] == [37] * 37, "confusion")
    expect(sum(map(sum, measures["confusion"])) == 800, "all rows are in the table")
