"""Exported models predict what the program predicts: ONNX in onnxruntime, SQL in SQLite, C compiled."""
import csv
import ctypes
import datetime
import math
import sqlite3
import subprocess
import tempfile

import numpy as np
import onnxruntime

# Names that would break a writer which does not quote.
NUMBERS = ['we"ird', "o'clock", "select", "what??/ is */ this \\"]
WORD, OTHER_WORD, TRUTH, DAY = "a;b -- c", "prediction", "naïve ✓", "v1"
CLASSES = ["it's \"fine\"??!", ";DROP TABLE data;--", "größer\\n"]
LEVELS = ["plain", "it's", 'quo"te', "back\\slash", "??=", "ß"]
ROWS = 240


def table(seed, rows, gaps, unknown=False):
    """Rows as a dict by column name; None is a missing cell. Numbers are exact in float32."""
    draw = np.random.default_rng(seed)
    names = [*NUMBERS, WORD, OTHER_WORD, TRUTH, DAY]
    made = []
    for _ in range(rows):
        k = int(draw.integers(3))
        row = {name: float(np.float32(draw.normal(k * (j + 1), 2))) for j, name in enumerate(NUMBERS)}
        row[WORD] = LEVELS[int(draw.integers(2)) * 3 + k] if draw.random() < 0.9 else LEVELS[int(draw.integers(6))]
        # A few frequent levels and many rare ones, which share a column.
        row[OTHER_WORD] = f"level {int(draw.integers(3)) if draw.random() < 0.7 else int(draw.integers(3, 40))}"
        if unknown and draw.random() < 0.2:
            row[WORD] = "never seen"
        row[TRUTH] = bool(draw.random() < 0.3 + 0.2 * k)
        row[DAY] = datetime.date(2020, 1, 1) + datetime.timedelta(days=int(draw.integers(400)) + 300 * k)
        if gaps:
            for name in names:
                if draw.random() < 0.06:
                    row[name] = None
        row["kind"] = CLASSES[k]
        made.append(row)
    return made


def write_csv(path, rows, target):
    names = [name for name in rows[0] if name != "kind"]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*names, "target"])
        for row in rows:
            cells = ["" if row[n] is None else str(row[n]).lower() if isinstance(row[n], bool) else
                     repr(row[n]) if isinstance(row[n], float) else str(row[n]) for n in names]
            writer.writerow([*cells, target(row)])


def as_number(value):
    if value is None:
        return math.nan
    if isinstance(value, datetime.date):
        return float((value - datetime.date(1970, 1, 1)).days)
    return float(value)


def is_word(name):
    return name in (WORD, OTHER_WORD)


class Answers:
    """Labels as text, '' where there is none, and scores."""

    def __init__(self, labels, scores):
        self.labels, self.scores = list(labels), np.asarray(scores, dtype=np.float64)


def of_program(box, data):
    lines = box.run("predict", "run", data).stdout.split("\n")[:-1]
    box.run("transform", "run", data, "--out", "z.npy")
    scores = np.load(box / "z.npy")
    return Answers(lines, scores.reshape(len(scores), -1))


def compile_c(path, thorough=True):
    """Without a warning, with several compilers and standards if thorough; returns the library."""
    flags = ["-Wall", "-Wextra", "-Werror"]
    for compiler in (["gcc", "-std=c99", "-pedantic"], ["clang", "-std=c17"], ["g++", "-x", "c++", "-std=c++20"]):
        if not thorough:
            break
        done = subprocess.run([*compiler, *flags, "-O0", "-c", path, "-o", f"{path}.o"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{compiler}: {done.stderr[:3000]}"
    with tempfile.NamedTemporaryFile(suffix=".so") as library:  # one that is loaded keeps its name
        subprocess.run(["gcc", *flags, "-O0", "-shared", "-fPIC", path, "-o", library.name, "-lm"], check=True)
        loaded = ctypes.CDLL(library.name)
    loaded.model_predict.restype = ctypes.c_int
    return loaded


def names_in(library, name, count):
    return [text.decode() for text in (ctypes.c_char_p * count).in_dll(library, name)] if count else []


def of_c(box, rows, outputs, classes, regression, thorough):
    """`rows`: dicts by column name."""
    box.run("export", "run", "--out", "model.c")
    library = compile_c(str(box / "model.c"), thorough)
    numbers = [n for n in rows[0] if n != "kind" and not is_word(n)]
    words = [n for n in rows[0] if n != "kind" and is_word(n)]
    assert names_in(library, "model_numbers", len(numbers)) == numbers
    assert names_in(library, "model_words", len(words)) == words
    labels, scores = [], []
    for row in rows:
        values = (ctypes.c_double * len(numbers))(*[as_number(row[n]) for n in numbers])
        texts = (ctypes.c_char_p * max(1, len(words)))(*[None if row[n] is None else row[n].encode() for n in words])
        found = (ctypes.c_double * outputs)()
        k = library.model_predict(values, texts, found)
        scores.append(list(found))
        labels.append("" if k < 0 else repr(found[0]) if regression else classes[k] if classes else str(k))
    if classes:
        assert names_in(library, "model_classes", len(classes)) == classes
    return Answers(labels, scores), library


def of_sql(box, rows, outputs, *flags):
    box.run("export", "run", "--out", "model.sql", *flags)
    base = sqlite3.connect(":memory:")
    names = [n for n in rows[0] if n != "kind"]
    quoted = ['"' + n.replace('"', '""') + '"' for n in names]
    types = ["TEXT" if is_word(n) or n == TRUTH else "REAL" for n in names]
    base.execute(f"CREATE TABLE data ({', '.join(map(' '.join, zip(quoted, types)))})")
    for row in rows:
        cells = [row[n] if is_word(n) or row[n] is None else str(row[n]).lower() if n == TRUTH else as_number(row[n]) for n in names]
        base.execute(f"INSERT INTO data VALUES ({','.join('?' * len(names))})", cells)
    cursor = base.execute((box / "model.sql").read_text())
    columns = [each[0] for each in cursor.description]
    found = [dict(zip(columns[len(names):], row[len(names):])) for row in cursor.fetchall()]
    assert columns[:len(names)] == names, columns
    return columns[len(names):], found


def of_onnx(box, rows):
    box.run("export", "run", "--out", "model.onnx")
    session = onnxruntime.InferenceSession(str(box / "model.onnx"), providers=["CPUExecutionProvider"])
    given = {}
    if [each.name for each in session.get_inputs()] == ["X"]:
        given["X"] = np.array([[as_number(row[n]) for n in row if n != "kind"] for row in rows], dtype=np.float32)
    else:
        for each in session.get_inputs():
            if each.type == "tensor(string)":
                given[each.name] = np.array([[row[each.name] or ""] for row in rows], dtype=object)
            else:
                given[each.name] = np.array([[as_number(row[each.name])] for row in rows], dtype=np.float32)
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, given)))


def scores_close(found, expected, what, tolerance=2e-6):
    expected = np.asarray(expected)
    scale = np.nanmax(np.abs(expected))
    missing = np.isnan(expected)
    assert (np.isnan(found) == missing).all(), f"{what}: other rows without an answer"
    worst = np.nanmax(np.abs(found - expected))
    assert worst <= tolerance * max(scale, 1), f"{what}: scores are {worst} apart, of {scale}"


def compare(box, rows, data, classes=None, sql=True, probabilities=False, regression=False,
            thorough=True):
    """All three against the program."""
    program = of_program(box, data)
    outputs = program.scores.shape[1]
    complete = [label != "" for label in program.labels]

    def labels_equal(found, what):
        if regression:
            numbers = [float(label) if label else math.nan for label in program.labels]
            scores_close(np.array([float(x) if x not in ("", None) else math.nan for x in found]), np.array(numbers), what)
            return
        differ = [i for i, (a, b) in enumerate(zip(found, program.labels, strict=True)) if a != b]
        assert not differ, f"{what}: {len(differ)} labels differ, row {differ[0]}: {found[differ[0]]!r}, {program.labels[differ[0]]!r}"

    # A probability changes by at most a quarter of the margin's change, which is relative to margins.
    p, rounding = None, 2e-6 * max(1, np.nanmax(np.abs(program.scores)))
    if probabilities:
        box.run("predict", "run", data, "--probabilities", "--out", "p.npy")
        p = np.load(box / "p.npy")

    c, library = of_c(box, rows, outputs, classes, regression, thorough)
    labels_equal(c.labels, "C")
    scores_close(c.scores, program.scores, "C")
    if probabilities:
        made = []
        for row in c.scores:
            found = (ctypes.c_double * p.shape[1])()
            library.model_probabilities((ctypes.c_double * outputs)(*row), found)
            made.append(list(found))
        scores_close(np.array(made), p, "C, probabilities", rounding)

    onnx = of_onnx(box, rows)
    key = next(iter({"margins", "distances", "prediction"} & set(n.rstrip("_") for n in onnx)))
    scores = next(v for n, v in onnx.items() if n.rstrip("_") == key)
    scores_close(scores, program.scores, "ONNX")
    label = next((v for n, v in onnx.items() if n.rstrip("_") == "label"), scores.ravel())
    labels_equal(["" if not done else str(x) for x, done in zip(label, complete)], "ONNX")
    if probabilities:
        scores_close(next(v for n, v in onnx.items() if n.rstrip("_") == "probabilities"), p, "ONNX, probabilities", rounding)

    if not sql:
        return
    for flags in ([], ["--probabilities"]) if probabilities else ([],):
        columns, found = of_sql(box, rows, outputs, *flags)
        score_columns = columns[:outputs] if not regression else columns[:1]
        values = np.array([[math.nan if row[n] is None else row[n] for n in score_columns] for row in found])
        squared = score_columns[0].startswith("squared")
        scores_close(np.sqrt(values) if squared else values, program.scores, "SQL")
        answer = columns[-1] if not regression else columns[0]
        labels_equal(["" if row[answer] is None else str(row[answer]) for row in found], "SQL")
        if flags:
            shares = [n for n in columns if n.startswith("probability_")]
            scores_close(np.array([[math.nan if row[n] is None else row[n] for n in shares] for row in found]), p, "SQL, probabilities", rounding)


def train(box, learner, data, *flags):
    box.run("train", learner, data, *flags, "--out", "run", "--quiet", "--max-iter", 40)


def check_tables_of_words(box):
    """Hostile names, levels that are rare, unknown or missing, truth values and dates."""
    for missing in ("error", "mean", "indicator"):
        thorough = missing == "indicator"  # the C of the others has the same parts
        rows, fresh = table(1, ROWS, missing != "error"), table(2, 90, True, unknown=True)
        write_csv(box / "new.csv", fresh, lambda row: "x")
        write_csv(box / "t.csv", rows, lambda row: row["kind"])
        flags = ["--label-column", "target", "--missing", missing, "--max-levels", 12]
        seen = list(dict.fromkeys(row["kind"] for row in rows))
        train(box, "logistic", "t.csv", *flags)
        compare(box, fresh, "new.csv", classes_of(box), probabilities=True, thorough=thorough)
        assert sorted(classes_of(box)) == sorted(seen)
        train(box, "logistic", "t.csv", *flags, "--multi-class", "ovr")
        compare(box, fresh, "new.csv", classes_of(box), probabilities=True, thorough=thorough)
        train(box, "svm", "t.csv", *flags)
        compare(box, fresh, "new.csv", classes_of(box), thorough=thorough)
        train(box, "kmeans", "t.csv", *flags, "--n-clusters", 4, "--standardize")
        compare(box, fresh, "new.csv", thorough=thorough)
        write_csv(box / "two.csv", rows, lambda row: CLASSES[row["kind"] == CLASSES[0]])
        train(box, "logistic", "two.csv", *flags)
        compare(box, fresh, "new.csv", classes_of(box), probabilities=True, thorough=thorough)
        write_csv(box / "y.csv", rows, lambda row: (row[NUMBERS[0]] or 0) * 3 + CLASSES.index(row["kind"]))
        train(box, "linear", "y.csv", *flags)
        compare(box, fresh, "new.csv", regression=True, thorough=thorough)


def classes_of(box):
    import json  # as the model has them
    return json.loads(box.run("inspect", "run/model.safetensors", "--json").stdout)["classes"]


def numeric(seed, rows, cols, classes, gaps=0.0):
    draw = np.random.default_rng(seed)
    labels = draw.integers(classes, size=rows)
    centers = np.random.default_rng(0).normal(size=(classes, cols)) * 3
    x = (draw.normal(size=(rows, cols)) + centers[labels]).astype(np.float32)
    x[draw.random(x.shape) < gaps] = np.nan
    return x, labels


def as_rows(x):
    return [{f"x{j}": None if math.isnan(v) else float(v) for j, v in enumerate(row)} for row in x]


def check_plain_numbers(box):
    x, y = numeric(3, 300, 12, 5)
    new, _ = numeric(4, 80, 12, 5)
    np.save(box / "x.npy", x)
    np.save(box / "y.npy", (y - 2).astype(np.int32))
    np.save(box / "new.npy", new)
    names = ["-2", "-1", "0", "1", "2"]
    for learner in ("logistic", "svm"):
        train(box, learner, "x.npy", "--labels", "y.npy")
        compare(box, as_rows(new), "new.npy", names, probabilities=learner == "logistic")
    np.save(box / "half.npy", (y > 2) + 0.5)
    train(box, "svm", "x.npy", "--labels", "half.npy")
    compare(box, as_rows(new), "new.npy", ["0.5", "1.5"])
    train(box, "linear", "x.npy", "--labels", "half.npy")
    compare(box, as_rows(new), "new.npy", regression=True)
    train(box, "kmeans", "x.npy", "--n-clusters", 6)
    compare(box, as_rows(new), "new.npy")
    train(box, "kmeans", "x.npy", "--n-clusters", 6, "--metric", "cosine")
    compare(box, as_rows(np.vstack([new, np.zeros((1, 12), dtype=np.float32)]))[:80], "new.npy", sql=False)
    assert "unit length" in box.run("export", "run", "--format", "sql", code=2).stderr
    # Far from zero: no digits are lost. Multiples of 64 are exact there.
    np.save(box / "far.npy", np.round(x * 1000) * 64 + np.float32(2.0**29))
    far = (np.round(new * 1000) * 64 + np.float32(2.0**29)).astype(np.float32)
    np.save(box / "far_new.npy", far)
    train(box, "kmeans", "far.npy", "--n-clusters", 6)
    compare(box, as_rows(far), "far_new.npy")


def check_gaps_in_numbers(box):
    x, y = numeric(5, 300, 7, 3, gaps=0.05)
    new, _ = numeric(6, 100, 7, 3, gaps=0.05)
    head = ",".join(f"x{j}" for j in range(7))

    def write(path, values, labels=None):
        lines = [head + (",label" if labels is not None else "")]
        for i, row in enumerate(values):
            cells = ["" if math.isnan(v) else repr(float(v)) for v in row]
            lines.append(",".join(cells + ([f"c{labels[i]}"] if labels is not None else [])))
        path.write_text("\n".join(lines) + "\n")

    write(box / "x.csv", x, y)
    write(box / "new.csv", new)
    for missing in ("drop", "median", "indicator"):
        for learner in ("svm", "kmeans"):
            flags = ["--n-clusters", 4, "--standardize"] if learner == "kmeans" else []
            train(box, learner, "x.csv", "--label-column", "label", "--missing", missing, *flags)
            compare(box, as_rows(new), "new.csv", classes_of(box) if learner == "svm" else None)


def check_sparse_rows(box):
    """Columns of libsvm are numbered from 1; a row may have columns that the model has not seen."""
    draw = np.random.default_rng(7)
    x = np.where(draw.random((300, 60)) < 0.1, draw.normal(size=(300, 60)), 0).astype(np.float32)
    y = x @ draw.normal(size=60) > 0

    def write(name, rows, labels):
        lines = [f"{int(label) * 2 - 1} " + " ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row) if v)
                 for row, label in zip(rows, labels)]
        (box / name).write_text("\n".join(lines) + "\n")

    write("x.libsvm", x[:200], y[:200])
    write("new.libsvm", np.hstack([x[200:], np.ones((100, 2), dtype=np.float32)]), y[200:])
    write("same.libsvm", x[200:], y[200:])
    rows = [{f"x{j + 1}": float(v) for j, v in enumerate(row)} for row in x[200:]]
    for flags in ([], ["--tfidf"], ["--normalize", "l2"]):
        train(box, "svm", "x.libsvm", *flags)
        data = "new.libsvm" if not flags else "same.libsvm"
        if flags:  # columns of a schema are numbered from 0
            rows = [{f"x{j}": float(v) for j, v in enumerate(row)} for row in x[200:]]
        compare(box, rows, data, ["-1", "1"], sql=flags != ["--normalize", "l2"])
        program = of_program(box, data)
        library = compile_c(str(box / "model.c"))
        for i, row in enumerate(x[200:]):
            places = np.flatnonzero(row)
            columns = (ctypes.c_size_t * (len(places) + 1))(*places, 61)  # one that the model lacks
            values = (ctypes.c_double * (len(places) + 1))(*row[places].astype(float), 5.0)
            score = (ctypes.c_double * 1)()
            plain = 0 if flags == ["--normalize", "l2"] else 1
            k = library.model_predict_sparse(ctypes.c_size_t(len(places) + plain), columns, values, score)
            assert ["-1", "1"][k] == program.labels[i]
            assert abs(score[0] - program.scores[i, 0]) < 1e-5
    train(box, "kmeans", "x.libsvm", "--n-clusters", 3)
    compare(box, [{f"x{j}": float(v) for j, v in enumerate(row)} for row in x[200:]], "same.libsvm")


def check_wide_sql(box):
    """More terms than SQLite lets an expression be deep."""
    x, y = numeric(8, 120, 1200, 3)
    np.save(box / "x.npy", x)
    np.save(box / "y.npy", y.astype(np.int32))
    train(box, "logistic", "x.npy", "--labels", "y.npy")
    compare(box, as_rows(x[:20]), write_rows(box, x[:20]), ["0", "1", "2"], probabilities=True)


def write_rows(box, x):
    np.save(box / "some.npy", x)
    return "some.npy"


def check_models_that_are_no_formula(box):
    (box / "words.txt").write_text("cat dog cat\ncow cat dog\ncar bus\nbus train car\ncar bus bus\n" * 4)
    (box / "links.el").write_text("1 2\n2 3\n3 1\n")
    (box / "ratings.csv").write_text("user,item,rating\n" + "".join(f"u{i % 7},i{i % 5},{i % 3 + 1}\n" for i in range(35)))
    (box / "reviews.csv").write_text("text,stars\n" + "good film,5\nbad film,1\ngood plot,5\nbad plot,1\n" * 5)
    for command, words in {
        "lda words.txt --n-topics 2": "an iteration",
        "pagerank links.el --directed": "its own answer",
        "factorize ratings.csv --n-factors 2": "pairs of a user and an item",
        "logistic reviews.csv --text-column text --label-column stars": "column text is text",
    }.items():
        box.run("train", *command.split(), "--out", "run", "--quiet")
        for form in ("onnx", "sql", "c"):
            said = box.run("export", "run", "--out", f"m.{form}", code=2).stderr
            assert words in said, said
            assert not (box / f"m.{form}").exists()
