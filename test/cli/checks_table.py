"""A table of words, dates and missing values gives one model from any file, on any runtime."""

import csv
import gzip
import json
import random

from arrow_files import reads_arrow, write_arrow
from harness import expect, expect_equal

LEVELS = ("clerk", "sales, abroad", "tech", "farm")


def rows_of(count):
    """Rows as dictionaries; a missing value is None."""
    draw = random.Random(5)
    rows = []
    for i in range(count):
        age, job, paid = draw.randint(17, 80), draw.choice(LEVELS), draw.random() < 0.5
        score = age / 20 + LEVELS.index(job) - 4 + 2 * paid + draw.gauss(0, 1)
        rows.append({"age": None if i % 13 == 4 else age,
                     "job": None if i % 17 == 5 else job,
                     "paid": paid,
                     "since": f"2024-{i % 12 + 1:02}-{i % 28 + 1:02}",
                     "rich": "yes" if score > 0 else "no"})
    return rows


def separated(rows, delimiter):
    def cell(value):
        text = "" if value is None else str(value)
        return f'"{text}"' if delimiter in text else text
    lines = [delimiter.join(rows[0])]
    lines += [delimiter.join(cell(value) for value in row.values()) for row in rows]
    return "\n".join(lines) + "\n"


def write_files(box, rows):
    text = separated(rows, ",")
    (box / "t.csv").write_text(text)
    (box / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    (box / "t.tsv").write_text(separated(rows, "\t"))
    (box / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if reads_arrow(box):
        types = {"age": "int64", "job": "string", "paid": "bool_", "since": "date32", "rich": "dictionary", "pay": "int32"}
        columns = [(name, types[name], [row[name] for row in rows]) for name in rows[0]]
        write_arrow(box, columns, "t.parquet", "t.feather")
    mixed = [dict(reversed(row.items())) for row in rows]
    (box / "mixed.csv").write_text(separated(mixed, ","))


def files_in(box):
    names = ("t.csv", "t.csv.gz", "t.tsv", "t.jsonl", "t.parquet", "t.feather")
    return [name for name in names if (box / name).exists()]


def one_model(box, missing):
    rows = rows_of(700)
    write_files(box, rows)
    flags = f"--label-column rich --missing {missing} --max-iter 6 --solver lbfgs --tol 0 --quiet"
    shorter = flags.replace("--max-iter 6", "--max-iter 3")
    found, answers = {}, {}
    for name in files_in(box):
        found[f"{name}, threads"] = box.json(f"train logistic {name} {flags} --out run")["model_sha256"]
        found[f"{name}, 3 ranks"] = box.json(f"train logistic {name} {flags} --threads 1 --out ranks",
                                             ranks=3)["model_sha256"]
        stored = box.json(f"train logistic {name} {flags} --store store-{missing}-{name} --workers 2 --out stored")
        found[f"{name}, storage"] = stored["model_sha256"]
        # No flag of the table is repeated.
        box.json(f"train logistic {name} {shorter} --out part")
        longer = box.json(f"train logistic {name} --resume part --max-iter 6 --quiet")
        found[f"{name}, resumed"] = longer["model_sha256"]
        for run in ("run", "ranks", "stored", "part"):
            answers[f"{name}, {run}"] = box.run(f"predict {run} {name}").stdout
    text = (box / "t.csv").read_text()
    found["standard input"] = box.json(f"train logistic - --format csv {flags} --out piped",
                                       input=text)["model_sha256"]
    box.run(f"convert t.csv t.safetensors --label-column rich --missing {missing} --quiet")
    converted = "train logistic t.safetensors --max-iter 6 --solver lbfgs --tol 0 --quiet"
    found["converted"] = box.json(f"{converted} --out converted")["model_sha256"]
    found["converted, 3 ranks"] = box.json(f"{converted} --threads 1 --out converted-ranks",
                                           ranks=3)["model_sha256"]
    expect_equal(found)
    answers["reordered"] = box.run("predict run mixed.csv").stdout
    answers["by standard input"] = box.run("predict piped - --format csv", input=text).stdout
    expect_equal(answers)
    lines = answers["reordered"].splitlines()
    expect(len(lines) == len(rows), len(lines))
    empty = sum(line == "" for line in lines)
    lacking = sum(row["age"] is None or row["job"] is None for row in rows)
    expect(empty == (lacking if missing == "drop" else 0), empty)


def check_a_table_with_dropped_rows_gives_one_model(box):
    one_model(box, "drop")


def check_a_table_filled_by_the_mean_gives_one_model(box):
    one_model(box, "mean")


def check_a_table_filled_by_the_median_gives_one_model(box):
    one_model(box, "median")


def check_a_table_with_indicators_gives_one_model(box):
    one_model(box, "indicator")


def check_standardised_clusters_are_the_same_everywhere(box):
    write_files(box, [{**row, "pay": (row["age"] or 40) * 1000} for row in rows_of(500)])
    flags = "--ignore-column rich --missing mean --n-clusters 3 --n-init 1 --standardize --max-iter 4 --tol 0 --quiet"
    found = {"threads": box.json(f"train kmeans t.csv {flags} --out run")["model_sha256"],
             "ranks": box.json(f"train kmeans t.csv {flags} --threads 1 --out ranks",
                               ranks=3)["model_sha256"],
             "storage": box.json(f"train kmeans t.csv {flags} --store s --workers 2 --out stored")["model_sha256"]}
    shorter = flags.replace("--max-iter 4", "--max-iter 2")
    box.json(f"train kmeans t.csv {shorter} --out part")
    found["resumed"] = box.json("train kmeans t.csv --resume part --max-iter 4 --quiet")["model_sha256"]
    expect_equal(found)
    expect_equal({name: box.run(f"predict {name} mixed.csv").stdout
                  for name in ("run", "ranks", "stored", "part")})
    centers = box.json("inspect run/model.safetensors --json")["centers"]
    expect(all(20_000 < center["pay"] < 80_000 for center in centers), centers)


def check_one_level_changes_the_hash_of_a_model(box):
    """The columns are part of the model: tensors of the learner are the same here."""
    found = set()
    for level in ("b", "c"):
        (box / "t.csv").write_text(f"x,w,y\n1,a,1\n2,{level},2\n3,a,3\n4,{level},4\n")
        found.add(box.json("train linear t.csv --label-column y --quiet --out run")["model_sha256"])
    expect(len(found) == 2, found)


def check_text_of_a_column_gives_one_model(box):
    """Words of a CSV or JSON Lines column, weighted, with labels."""
    draw = random.Random(3)
    words = {"good": ("great", "lovely", "superb"), "bad": ("dull", "awful", "poor")}
    rows = []
    for i in range(300):
        stars = draw.choice(("good", "bad"))
        text = " ".join(draw.choice(words[stars] if draw.random() < 0.4 else ("film", "plot", "actor, "))
                        for _ in range(12))
        rows.append({"id": i, "review": text + ("\nnew line" if i % 5 == 0 else ""), "stars": stars})
    with open(box / "t.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, ["id", "review", "stars"])
        writer.writeheader()
        writer.writerows(rows)
    (box / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = ("--text-column review --label-column stars --tfidf --normalize l2 --ngrams 2 "
             "--max-iter 5 --solver lbfgs --tol 0 --quiet")
    found, answers = {}, {}
    for name in ("t.csv", "t.jsonl"):
        found[name] = box.json(f"train logistic {name} {flags} --out run")["model_sha256"]
        found[f"{name}, ranks"] = box.json(f"train logistic {name} {flags} --threads 1 --out ranks",
                                           ranks=3)["model_sha256"]
        found[f"{name}, storage"] = box.json(
            f"train logistic {name} {flags} --store s-{name} --workers 2 --out stored")["model_sha256"]
        for run in ("run", "ranks", "stored"):
            answers[f"{name}, {run}"] = box.run(f"predict {run} {name}").stdout
    (box / "t.txt").write_text("".join(row["review"].replace("\n", " ") + "\n" for row in rows))
    answers["plain text"] = box.run("predict run t.txt --format text").stdout
    expect_equal(found)
    expect_equal(answers)
    expect(box.json("evaluate run t.csv --json")["accuracy"] > 0.9, "accuracy")
    # Topics of the same column.
    box.run("train lda t.csv --text-column review --max-df 1 --n-topics 2 --passes 2 --quiet --out topics")
    expect(len(box.run("predict topics t.jsonl").stdout.splitlines()) == len(rows), "mixtures")
