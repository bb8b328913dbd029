"""The Python of doc/formats.md reads every model as the program does."""
import csv
import io
import pathlib
import re

import numpy as np

from exported import NUMBERS, TRUTH, as_number, is_word, table, write_csv

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "doc/formats.md"


def snippets():
    """The names that the document's code defines."""
    blocks = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 8, f"{len(blocks)} snippets"
    defined = {}
    for block in blocks:
        exec(compile(block, str(DOCUMENT), "exec"), defined)
    return defined


def transformed(box, data):
    box.run("transform", "run", data, "--out", "z.npy")
    z = np.load(box / "z.npy")
    return z.reshape(len(z), -1)


def labels(box, data):
    return box.run("predict", "run", data).stdout.split("\n")[:-1]


def close(found, expected, what, tolerance=2e-6):
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    assert found.shape == expected.shape, f"{what}: {found.shape}, {expected.shape}"
    assert (np.isnan(found) == np.isnan(expected)).all(), f"{what}: other rows are incomplete"
    apart = np.nanmax(np.abs(found - expected))
    assert apart <= tolerance * max(1, np.nanmax(np.abs(expected))), f"{what}: {apart} apart"


def check_kmeans_and_linear_models_of_plain_numbers(box):
    doc = snippets()
    draw = np.random.default_rng(1)
    x = draw.normal(size=(200, 5)).astype(np.float32)
    y = x[:, :3].argmax(axis=1)
    np.save(box / "x.npy", x)
    np.save(box / "y.npy", y)
    np.save(box / "two.npy", y > 0)
    for metric in ("euclidean", "cosine"):
        box.run("train", "kmeans", "x.npy", "--n-clusters", 4, "--metric", metric, "--out", "run", "--quiet")
        tensors, about = doc["load_model"](box / "run/model.safetensors")
        distances = doc["kmeans_distances"](tensors, about, x)
        close(distances, transformed(box, "x.npy"), metric)
        assert [str(k) for k in distances.argmin(axis=1)] == labels(box, "x.npy")
    np.save(box / "two.npy", (y > 0).astype(np.int32))
    for learner, given, flags in (("logistic", "y.npy", []), ("logistic", "y.npy", ["--multi-class", "ovr"]),
                                  ("logistic", "two.npy", []), ("svm", "y.npy", []), ("linear", "y.npy", [])):
        box.run("train", learner, "x.npy", "--labels", given, *flags, "--out", "run", "--quiet")
        tensors, about = doc["load_model"](box / "run/model.safetensors")
        margins = doc["linear_margins"](tensors, x)
        close(margins, transformed(box, "x.npy"), learner)
        if learner != "linear":
            assert [float(k) for k in doc["linear_labels"](about, margins)] == [float(k) for k in labels(box, "x.npy")]
        if learner == "logistic":
            box.run("predict", "run", "x.npy", "--probabilities", "--out", "p.npy")
            close(doc["logistic_probabilities"](about, margins), np.load(box / "p.npy"), "probabilities")


def check_tables(box):
    doc = snippets()
    for missing in ("error", "mean", "indicator"):
        rows, fresh = table(3, 200, missing != "error"), table(4, 60, True, unknown=True)
        write_csv(box / "t.csv", rows, lambda row: row["kind"])
        write_csv(box / "new.csv", fresh, lambda row: "x")
        cells = {n: [row[n] if is_word(n) or row[n] is None else as_number(row[n]) for row in fresh]
                 for n in fresh[0] if n != "kind"}
        assert set(NUMBERS) | {TRUTH} <= cells.keys()
        for learner, flags in (("svm", []), ("kmeans", ["--standardize", "--n-clusters", 3])):
            box.run("train", learner, "t.csv", "--label-column", "target", "--missing", missing, "--max-levels", 12,
                    *flags, "--out", "run", "--quiet")
            tensors, about = doc["load_model"](box / "run/model.safetensors")
            encoded = doc["encoded_rows"](tensors, cells)
            if learner == "kmeans":
                close(doc["kmeans_distances"](tensors, about, encoded), transformed(box, "new.csv"), missing)
                continue
            margins = doc["linear_margins"](tensors, encoded)
            close(margins, transformed(box, "new.csv"), missing)
            complete = ~np.isnan(margins).any(axis=1)
            found = [k if ok else "" for k, ok in zip(doc["linear_labels"](about, np.nan_to_num(margins)), complete)]
            assert found == labels(box, "new.csv")


def check_topics(box):
    doc = snippets()
    draw = np.random.default_rng(5)
    kinds = [["cat", "dog", "cow", "pig", "hen"], ["car", "bus", "train", "tram", "bike"]]
    lines = [" ".join(draw.choice(kinds[i % 2] if draw.random() < 0.8 else kinds[1 - i % 2], 9)) for i in range(80)]
    (box / "words.txt").write_text("\n".join(lines) + "\n")
    for flags in ([], ["--sampler", "mh"]):
        box.run("train", "lda", "words.txt", "--n-topics", 2, *flags, "--out", "run", "--quiet")
        tensors, about = doc["load_model"](box / "run/model.safetensors")
        box.run("predict", "run", "words.txt", "--out", "theta.npy")
        theta = np.load(box / "theta.npy")
        words = about["about"]["words"]
        found = [doc["lda_mixture"](tensors, about, np.array([line.split().count(word) for word in words])) for line in lines]
        close(found, theta, f"mixtures {flags}", 5e-3)


def check_ratings(box):
    doc = snippets()
    draw = np.random.default_rng(6)
    pairs = {(int(draw.integers(20)), int(draw.integers(15))): int(draw.integers(1, 6)) for _ in range(200)}
    (box / "r.csv").write_text("user,item,rating\n" + "".join(f"ü{u},film {i},{r}\n" for (u, i), r in pairs.items()))
    (box / "pairs.csv").write_text("user,item\n" + "".join(f"ü{u},film {i}\n" for u, i in pairs))
    for flags in ([], ["--feedback", "implicit"]):
        box.run("train", "factorize", "r.csv", "--n-factors", 4, *flags, "--out", "run", "--quiet")
        tensors, about = doc["load_model"](box / "run/model.safetensors")
        for row in csv.DictReader(io.StringIO(box.run("predict", "run", "pairs.csv").stdout)):
            found = doc["factorize_prediction"](tensors, about, row["user"], row["item"])
            assert abs(found - float(row["prediction"])) < 1e-5 * max(1, abs(found)), (row, found)


def check_graphs(box):
    doc = snippets()
    (box / "numbers.el").write_text("10 20\n20 30\n30 10\n40 50\n")
    (box / "words.el").write_text("ann bob\nbob cid\ncid ann\ndan eve\n")
    for learner in ("pagerank", "components", "kcore"):
        for data in ("numbers.el", "words.el"):
            box.run("train", learner, data, "--directed" if learner == "pagerank" else "--undirected", "--out", "run", "--quiet")
            tensors, _ = doc["load_model"](box / "run/model.safetensors")
            found = doc["vertex_values"](tensors)
            rows = list(csv.reader(io.StringIO(box.run("predict", "run").stdout)))[1:]
            assert [row[0] for row in rows] == [str(name) for name in found], rows
            if learner != "components":  # written by name there
                close([values[0] for values in found.values()], [float(row[1]) for row in rows], f"{learner} {data}", 1e-6)


def check_belief(box):
    doc = snippets()
    (box / "m.uai").write_text("MARKOV\n3\n2 3 2\n2\n2 0 1\n2 1 2\n\n6\n1 2 3 4 5 6\n\n6\n2 1 1 3 1 1\n")
    box.run("train", "belief", "m.uai", "--out", "run", "--quiet", code=0)
    tensors, _ = doc["load_model"](box / "run/model.safetensors")
    rows = list(csv.DictReader(io.StringIO(box.run("predict", "run").stdout)))
    found = np.concatenate(doc["belief_marginals"](tensors))
    close(found, [float(row["probability"]) for row in rows], "marginals", 1e-12)
    assert [len(one) for one in doc["belief_marginals"](tensors)] == [2, 3, 2]
