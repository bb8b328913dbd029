"""Every measure of evaluate against scikit-learn's, on sets of data that come with it."""
import json

import numpy as np
from sklearn import datasets, linear_model, metrics

CLOSE = 1e-9
CLASSES = ["iris", "wine", "breast_cancer", "digits"]


def load(name):
    """Features in float32, as the program reads them, and targets."""
    data = getattr(datasets, f"load_{name}")()
    return data.data.astype(np.float32), data.target, getattr(data, "target_names", None)


def write(path, x, y, weights=None):
    names = [f"x{j}" for j in range(x.shape[1])] + ["label"] + (["weight"] if weights is not None else [])
    lines = [",".join(names)]
    for i, row in enumerate(x):
        cells = [repr(float(v)) for v in row] + [str(y[i])]
        lines.append(",".join(cells + ([repr(float(weights[i]))] if weights is not None else [])))
    path.write_text("\n".join(lines) + "\n")


def halves(x, y):
    """Training and test rows by turns; sets are sorted by class."""
    return (x[::2], y[::2]), (x[1::2], y[1::2])


def expect_close(found, expected, what, tolerance=CLOSE):
    assert found is not None and abs(found - expected) <= tolerance * max(1, abs(expected)), \
        f"{what}: {found}, scikit-learn has {expected}"


def compare_classifier(box, name, learner, weighted):
    x, y, names = load(name)
    y = np.array([f"class {names[k]}" for k in y])
    (train_x, train_y), (test_x, test_y) = halves(x, y)
    weights = np.random.default_rng(1).integers(0, 4, len(test_y)) + 0.25 if weighted else None
    flags = ["--weight-column", "weight"] if weighted else []
    write(box / "train.csv", train_x, train_y, np.ones(len(train_y)) if weighted else None)
    write(box / "test.csv", test_x, test_y, weights)
    box.run("train", learner, "train.csv", "--label-column", "label", *flags, "--out", "run", "--max-iter", 30, "--quiet")
    measures = json.loads(box.run("evaluate", "run", "test.csv", "--json").stdout)
    predicted = box.run("predict", "run", "test.csv").stdout.splitlines()
    what = f"{learner} of {name}{', weighted' if weighted else ''}"
    classes = [each["class"] for each in measures["classes"]]

    expect_close(measures["accuracy"], metrics.accuracy_score(test_y, predicted, sample_weight=weights), what)
    expect_close(measures["balanced_accuracy"],
                 metrics.balanced_accuracy_score(test_y, predicted, sample_weight=weights), what)
    table = metrics.confusion_matrix(test_y, predicted, labels=classes, sample_weight=weights)
    assert np.allclose(measures["confusion"], table, rtol=0, atol=CLOSE), what
    scores = metrics.precision_recall_fscore_support
    of_classes = scores(test_y, predicted, labels=classes, sample_weight=weights, zero_division=0)
    for k, mine in enumerate(measures["classes"]):
        for key, theirs in zip(("precision", "recall", "f1", "support"), of_classes):
            expect_close(mine[key] or 0, theirs[k], f"{what}: {key} of {classes[k]}")
    for kind in ("macro", "weighted"):
        means = scores(test_y, predicted, average=kind, sample_weight=weights, zero_division=0)
        for key, theirs in zip(("precision", "recall", "f1"), means):
            expect_close(measures[f"{key}_{kind}"], theirs, f"{what}: {key}_{kind}")

    box.run("transform", "run", "test.csv", "--out", "z.npy")
    margins = np.load(box / "z.npy")
    if learner == "logistic":
        box.run("predict", "run", "test.csv", "--probabilities", "--out", "p.npy")
        p = np.load(box / "p.npy")
        at = np.array([classes.index(label) for label in test_y])
        order = np.argsort(classes)  # log_loss sorts labels
        expect_close(measures["log_loss"],
                     metrics.log_loss(test_y, p[:, order], sample_weight=weights, labels=sorted(classes)), what, 1e-7)
        assert len(at) == len(p)
    if len(classes) == 2:
        expect_close(measures["f1"], metrics.f1_score(test_y, predicted, pos_label=classes[1], sample_weight=weights),
                     f"{what}: f1")
        expect_close(measures["auc"], metrics.roc_auc_score(test_y == classes[1], margins.ravel(), sample_weight=weights),
                     f"{what}: auc")
        return
    scored = p if learner == "logistic" else margins
    areas = [metrics.roc_auc_score(test_y == label, scored[:, k], sample_weight=weights) for k, label in enumerate(classes)]
    for k, mine in enumerate(measures["classes"]):
        expect_close(mine["auc"], areas[k], f"{what}: auc of {classes[k]}")
    if learner == "logistic":
        for kind in ("macro", "weighted"):
            theirs = metrics.roc_auc_score(test_y, p[:, order], multi_class="ovr", average=kind, sample_weight=weights,
                                           labels=sorted(classes))
            expect_close(measures[f"auc_{kind}"], theirs, f"{what}: auc_{kind}")
    else:
        expect_close(measures["auc_macro"], np.mean(areas), f"{what}: auc_macro")


def check_classifiers(box):
    for name in CLASSES:
        for learner in ("logistic", "svm"):
            for weighted in (False, True):
                compare_classifier(box, name, learner, weighted)


def check_tuned(box):
    """Scores of folds that the program dealt, of the model that the penalty has one optimum for."""
    l2 = [1e-1, 1e-2]
    for name in ("breast_cancer", "wine"):
        x, y, names = load(name)
        x = ((x - x.mean(axis=0)) / x.std(axis=0)).astype(np.float32)
        write(box / "x.csv", x, np.array([f"class {names[k]}" for k in y]))
        folds, theirs = None, {}
        scores = ["accuracy", "balanced_accuracy", "f1_macro", "f1_weighted"] + (["f1"] if name == "breast_cancer" else [])
        for score in scores:
            told = box.run("tune", "logistic", "x.csv", "--label-column", "label", "--l2", ",".join(map(str, l2)), "--folds", 4,
                           "--solver", "lbfgs", "--tol", 1e-13, "--score", score, "--fold-file", "folds.txt", "--json",
                           "--out", f"{name}-{score}").stdout
            tuned = json.loads(told)
            if folds is None:
                folds = np.loadtxt(box / "folds.txt", dtype=int)
                theirs = {(penalty, fold): predicted_by(x, y, folds != fold, penalty) for penalty in l2 for fold in range(4)}
            assert tuned["score"] == score
            positive = 1 - y[0]  # words are numbered as they are met: the second class
            measure = {"accuracy": metrics.accuracy_score, "balanced_accuracy": metrics.balanced_accuracy_score,
                       "f1": lambda a, b: metrics.f1_score(a, b, pos_label=positive),
                       "f1_macro": lambda a, b: metrics.f1_score(a, b, average="macro"),
                       "f1_weighted": lambda a, b: metrics.f1_score(a, b, average="weighted")}[score]
            for penalty, candidate in zip(l2, tuned["candidates"]):
                for fold, found in enumerate(candidate["scores"]):
                    expected = measure(y[folds == fold], theirs[penalty, fold])
                    expect_close(found, expected, f"{name}: {score} of fold {fold} at {penalty}")
                expect_close(candidate["score"], np.mean(candidate["scores"]), f"{name}: {score}")


def predicted_by(x, y, rows, l2):
    model = linear_model.LogisticRegression(C=1 / (l2 * rows.sum()), tol=1e-9, max_iter=10_000)
    return model.fit(x[rows].astype(np.float64), y[rows]).predict(x[~rows])


def check_regression(box):
    x, y, _ = load("diabetes")
    y = y.astype(np.float64)
    (train_x, train_y), (test_x, test_y) = halves(x, y)
    weights = np.random.default_rng(2).integers(1, 5, len(test_y)).astype(np.float64)
    for given in (None, weights):
        flags = [] if given is None else ["--weight-column", "weight"]
        write(box / "train.csv", train_x, train_y, None if given is None else np.ones(len(train_y)))
        write(box / "test.csv", test_x, test_y, given)
        box.run("train", "linear", "train.csv", "--label-column", "label", *flags, "--out", "run", "--quiet")
        measures = json.loads(box.run("evaluate", "run", "test.csv", "--json").stdout)
        box.run("transform", "run", "test.csv", "--out", "z.npy")
        z = np.load(box / "z.npy").ravel()
        expect_close(measures["rmse"], metrics.root_mean_squared_error(test_y, z, sample_weight=given), "rmse")
        expect_close(measures["mae"], metrics.mean_absolute_error(test_y, z, sample_weight=given), "mae")
        expect_close(measures["r2"], metrics.r2_score(test_y, z, sample_weight=given), "r2")
        for key, share in {"min": 0, "p05": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "max": 1}.items():
            theirs = np.quantile(test_y - z, share, method="inverted_cdf", weights=given)
            expect_close(measures["residual_quantiles"][key], theirs, key)


def check_clusters(box):
    for name, clusters in {"iris": 3, "wine": 4, "breast_cancer": 2, "digits": 10, "diabetes": 5}.items():
        x, y, _ = load(name)
        write(box / "x.csv", x, y)
        for metric in ("euclidean", "cosine"):
            box.run("train", "kmeans", "x.csv", "--label-column", "label", "--n-clusters", clusters, "--metric", metric,
                    "--out", "run", "--quiet")
            measures = json.loads(box.run("evaluate", "run", "x.csv", "--json").stdout)
            found = np.array(box.run("predict", "run", "x.csv").stdout.split(), dtype=int)
            what = f"{metric} {name}"
            expect_close(measures["ari"], metrics.adjusted_rand_score(y, found), what)
            expect_close(measures["nmi"], metrics.normalized_mutual_info_score(y, found), what)
            expect_close(measures["silhouette"], metrics.silhouette_score(x.astype(np.float64), found, metric=metric), what, 1e-6)
            assert measures["silhouette_rows"] == len(x), what
