#!/usr/bin/env python3
"""Tables: accuracy beside scikit-learn's usual pipeline, and reading beside pandas and pyarrow.

    bench/table.sh [--data FOLDER] [--only accuracy|reading] [--rows N]

Accuracy: the same rows to learn from and to measure on, split by a seed. The pipeline is
ColumnTransformer of OneHotEncoder and StandardScaler, with SimpleImputer where values are missing;
text goes through TfidfVectorizer. `--data` has kddcup99, mnist and 20newsgroups; what is not there
is left out, and said. Reading: table_reading.py.
"""

import argparse
import gzip
import io
import json
import pathlib
import random
import subprocess
import tempfile
import zipfile

import numpy as np
import pandas as pd
import table_reading
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

PROGRAM = "build/release/meanwhile"


def adult_like(rows, seed=3):
    """A table as of a census: numbers, words, truth values, dates; some missing."""
    draw = random.Random(seed)
    jobs = ["clerk", "sales", "technical support", "farming", "executive", "protective services"]
    schools = {"none": -1.2, "high school": -0.6, "bachelor": 0.5, "master": 1.0, "doctor": 1.6}
    table = []
    for _ in range(rows):
        age, hours = draw.randint(17, 80), draw.randint(10, 70)
        job, school = draw.choice(jobs), draw.choice(list(schools))
        married, gain = draw.random() < 0.5, draw.choice([0, 0, 0, draw.randint(100, 9999)])
        since = f"20{draw.randint(0, 23):02}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
        score = (0.03 * age + 0.03 * hours + schools[school] + 0.2 * jobs.index(job) + married
                 + gain / 5000 - 4 + draw.gauss(0, 1))
        table.append({"age": "" if draw.random() < 0.05 else age,
                      "job": "?" if draw.random() < 0.04 else job,
                      "school": school,
                      "hours": "NA" if draw.random() < 0.03 else hours,
                      "gain": gain,
                      "married": "yes" if married else "no",
                      "since": since,
                      "income": ">50K" if score > 0 else "<=50K"})
    return pd.DataFrame(table)


def diamonds():
    wheel = next(pathlib.Path("build/bench-venv").glob("plotnine-*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith("diamonds.csv"))
        return pd.read_csv(io.BytesIO(archive.read(name)))


def split(table, seed=1):
    order = np.random.default_rng(seed).permutation(len(table))
    cut = len(table) * 4 // 5
    return table.iloc[order[:cut]], table.iloc[order[cut:]]


def mine(folder, learner, train, test, flags):
    """The measures of this program on `test`."""
    run = folder / "run"
    subprocess.run([PROGRAM, "train", learner, *train, *flags, "--quiet", "--out", run], check=True)
    done = subprocess.run([PROGRAM, "evaluate", run, *test, "--json"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def pipeline(frame, label, model):
    numbers = [c for c in frame if c != label and pd.api.types.is_numeric_dtype(frame[c])]
    words = [c for c in frame if c != label and c not in numbers]
    return make_pipeline(
        ColumnTransformer([
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            ("words", make_pipeline(SimpleImputer(strategy="most_frequent"),
                                    OneHotEncoder(handle_unknown="ignore")), words)]), model)


def show(name, measure, ours, theirs):
    verdict = "" if ours >= theirs - 0.005 else "   BEHIND"
    print(f"| {name} | {measure} | {ours:.4f} | {theirs:.4f} | {ours - theirs:+.4f}{verdict} |", flush=True)


def of_table(folder, name, table, label, learner, flags, header=True):
    train, test = split(table)
    for part, rows in (("train", train), ("test", test)):
        rows.to_csv(folder / f"{part}.csv", index=False, header=header)
    column = label if header else "-1"
    got = mine(folder, learner, [folder / "train.csv"], [folder / "test.csv"],
               ["--label-column", column, *flags])
    clean = {"?": np.nan, "NA": np.nan, "": np.nan}
    known = table.replace(clean)
    for c in known:
        if c == label:
            continue
        if c == "since":
            known[c] = pd.to_datetime(known[c]).astype("int64") / 86400e9
        else:
            try:
                known[c] = pd.to_numeric(known[c])
            except (ValueError, TypeError):
                pass
    train, test = split(known)
    model = LinearRegression() if learner == "linear" else LogisticRegression(max_iter=300)
    fitted = pipeline(known, label, model).fit(train.drop(columns=label), train[label])
    answers = fitted.predict(test.drop(columns=label))
    if learner == "linear":
        show(name, "R2", got["r2"], r2_score(test[label], answers))
    else:
        show(name, "accuracy", got["accuracy"], accuracy_score(test[label], answers))


def mnist(folder, data):
    files = [data / "mnist" / name for name in
             ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
              "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz")]
    got = mine(folder, "logistic", [files[0], "--labels", files[1]], [files[2], "--labels", files[3]], [])

    def read(path, skip):
        return np.frombuffer(gzip.open(path).read(), np.uint8, offset=skip)
    x, tx = read(files[0], 16).reshape(-1, 784), read(files[2], 16).reshape(-1, 784)
    y, ty = read(files[1], 8), read(files[3], 8)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=100)).fit(x, y)
    show("MNIST", "accuracy", got["accuracy"], accuracy_score(ty, model.predict(tx)))


def news_like(folder):
    """Text of twenty subjects: words of a subject among words of all, of Zipf's frequencies."""
    draw = np.random.default_rng(5)
    weights = 1 / np.arange(1, 5001)
    common = [f"word{i}" for i in range(5000)]
    rows = []
    for i in range(12000):
        subject = int(draw.integers(20))
        size = int(draw.integers(30, 120))
        words = list(draw.choice(common, size, p=weights / weights.sum()))
        words += [f"subject{subject}x{k}" if draw.random() < 0.5 else f"subject{draw.integers(20)}x{k}"
                  for k in draw.integers(0, 200, 4)]
        draw.shuffle(words)
        rows.append({"text": " ".join(words), "subject": f"s{subject}"})
    train, test = split(pd.DataFrame(rows))
    train.to_csv(folder / "train.csv", index=False)
    test.to_csv(folder / "test.csv", index=False)
    got = mine(folder, "logistic", [folder / "train.csv"], [folder / "test.csv"],
               ["--text-column", "text", "--label-column", "subject", "--tfidf", "--normalize", "l2",
                "--l2", "1e-4"])
    words = TfidfVectorizer(min_df=2, max_df=0.5, stop_words="english")
    model = make_pipeline(words, LogisticRegression(max_iter=300)).fit(train.text, train.subject)
    show("news-like text, tf-idf", "accuracy", got["accuracy"],
         accuracy_score(test.subject, model.predict(test.text)))


def accuracy(data):
    print("| table | measure | this program | scikit-learn | difference |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        of_table(folder, "diamonds", diamonds(), "price", "linear", [])
        of_table(folder, "adult-like", adult_like(40000), "income", "logistic", ["--missing", "mean"])
        news_like(folder)
        kdd = data / "kddcup99" / "kddcup.data_10_percent.gz"
        if kdd.exists():
            table = pd.read_csv(kdd, header=None).sample(100_000, random_state=1)
            table.columns = [f"c{i}" for i in range(table.shape[1])]
            of_table(folder, "kddcup99, 100,000 rows", table, table.columns[-1], "logistic", [], header=False)
        else:
            print(f"kddcup99 is not in {data}: left out")
        if (data / "mnist").exists():
            mnist(folder, data)
        else:
            print(f"mnist is not in {data}: left out")


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--data", type=pathlib.Path, default=pathlib.Path("../shared/data"))
    flags.add_argument("--only", choices=("accuracy", "reading"))
    flags.add_argument("--rows", type=int, default=5_000_000)
    given = flags.parse_args()
    if given.only != "reading":
        accuracy(given.data)
    if given.only != "accuracy":
        table_reading.csv(given.rows)
        table_reading.parquet(given.rows * 2 // 5)


if __name__ == "__main__":
    main()
