"""The cases of test/compat: for every learner, small data, a run that ended at its last round, and one that was interrupted."""

import random


def points(seed, rows, columns, clusters):
    """Rows around a few centres, with the number of the centre."""
    generator = random.Random(seed)
    centres = [[generator.uniform(-8, 8) for _ in range(columns)] for _ in range(clusters)]
    for _ in range(rows):
        label = generator.randrange(clusters)
        yield label, [centre + generator.gauss(0, 1.5) for centre in centres[label]]


def csv(seed, rows, columns, clusters, label=None):
    names = [f"x{j}" for j in range(columns)]
    lines = [",".join(names + (["label"] if label else []))]
    for cluster, row in points(seed, rows, columns, clusters):
        fields = [f"{value:.3f}" for value in row]
        if label == "class":
            fields.append(("red", "green", "blue")[cluster % 3])
        elif label == "number":
            fields.append(f"{sum(row) - 2 * row[0]:.3f}")
        lines.append(",".join(fields))
    return "\n".join(lines) + "\n"


def libsvm(seed, rows, columns):
    generator = random.Random(seed)
    lines = []
    for label, row in points(seed, rows, columns, 2):
        entries = [f"{j + 1}:{value:.3f}" for j, value in enumerate(row) if generator.random() < 0.6]
        lines.append(" ".join(["+1" if label else "-1"] + entries))
    return "\n".join(lines) + "\n"


def documents(seed, rows):
    generator = random.Random(seed)
    themes = ["river water lake boat fish shore wave harbour".split(),
              "bread oven flour yeast dough baker crust butter".split(),
              "engine wheel road brake driver garage petrol mirror".split()]
    lines = []
    for _ in range(rows):
        theme = generator.choice(themes)
        words = [generator.choice(theme if generator.random() < 0.85 else generator.choice(themes))
                 for _ in range(20)]
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


DATA = {
    "points.csv": csv(1, 300, 4, 6),
    "more_points.csv": csv(2, 200, 4, 6),
    "classes.csv": csv(3, 300, 4, 5, "class"),
    "more_classes.csv": csv(4, 200, 4, 5, "class"),
    "numbers.csv": csv(5, 300, 4, 3, "number"),
    "more_numbers.csv": csv(6, 200, 4, 3, "number"),
    "signs.libsvm": libsvm(7, 300, 12),
    "more_signs.libsvm": libsvm(8, 200, 12),
    "documents.txt": documents(9, 240),
    "more_documents.txt": documents(10, 120),
}

# name: (learner, data, other data to start from the model on, flags that say how to read it,
#        flags of a run that ends at its last round, flags that let it go on, flags of a run that takes a while)
CASES = {
    "kmeans": ("kmeans", "points.csv", "more_points.csv", "",
               "--n-clusters 6 --n-init 1 --init random --tol 0 --max-iter 3", "--max-iter 100",
               "--n-clusters 6 --init random --tol 0 --n-init 4000"),
    "kmeans-batch": ("kmeans", "points.csv", "more_points.csv", "",
                     "--n-clusters 6 --batch-size 64 --max-iter 5", "--max-iter 9",
                     "--n-clusters 6 --batch-size 64 --tol 0 --max-iter 5000"),
    "svm": ("svm", "signs.libsvm", "more_signs.libsvm", "",
            "--solver sgd --max-iter 3", "--max-iter 8",
            "--solver sgd --send gradient --batch-fraction 0.2 --tol 0 --max-iter 5000"),
    "logistic": ("logistic", "classes.csv", "more_classes.csv", "--label-column label",
                 "--solver lbfgs --max-iter 3", "--max-iter 20",
                 "--solver sgd --send gradient --batch-fraction 0.2 --tol 0 --max-iter 5000"),
    "linear": ("linear", "numbers.csv", "more_numbers.csv", "--label-column label",
               "--solver hybrid --max-iter 3", "--max-iter 30",
               "--solver sgd --send gradient --batch-fraction 0.2 --tol 0 --max-iter 5000"),
    "lda": ("lda", "documents.txt", "more_documents.txt", "--format text",
            "--n-topics 3 --passes 2 --tol 0", "--passes 6",
            "--n-topics 3 --passes 400 --tol 0"),
}

# Flags that the model's bits depend on beside the data and the parameters.
ALWAYS = "--seed 7 --shards 4"


def stable(inspected):
    """What `inspect` says of a run or a model that must never change: not its time, machine and place."""
    changing = {"run", "model", "file", "path", "workers", "threads", "simd", "started", "ended", "seconds", "peak_rss_bytes",
                "last_round", "files", "data", "bytes"}
    return {key: value for key, value in inspected.items() if key not in changing}
