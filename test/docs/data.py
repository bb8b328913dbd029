"""Small data sets for the commands of the documents, made from fixed seeds."""

import gzip
import random


def points(path):
    draw = random.Random(1)
    with path.open("w") as out:
        out.write("x,y,z\n")
        for i in range(400):
            out.write(",".join(f"{(i % 4) * 10 + draw.gauss(0, 1):.3f}" for _ in range(3)) + "\n")


def sparse_rows(seed, rows=600, columns=200, nonzeros=12):
    draw = random.Random(seed)
    truth = random.Random(0)
    weights = [truth.gauss(0, 1) for _ in range(columns)]
    lines = []
    for _ in range(rows):
        chosen = sorted(draw.sample(range(columns), nonzeros))
        values = [draw.random() + 0.1 for _ in chosen]
        label = 1 if sum(weights[j] * value for j, value in zip(chosen, values)) > 0 else -1
        lines.append(f"{label} " + " ".join(f"{j + 1}:{value:.3f}" for j, value in zip(chosen, values)))
    return "\n".join(lines) + "\n"


def libsvm(seed, rows=600):
    def write(path):
        text = sparse_rows(seed, rows)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return write


def texts(seed, count=300):
    def write(path):
        draw = random.Random(seed)
        themes = [f"{stem}{end}" for stem in ("market", "river", "signal", "garden") for end in ("a", "e", "i", "o", "u")]
        with path.open("w") as out:
            for _ in range(count):
                theme = draw.randrange(4)
                out.write(" ".join(draw.choice(themes[5 * theme:5 * theme + 5]) for _ in range(20)) + "\n")
    return write


def reviews(path):
    draw = random.Random(5)
    good, bad = "lovely bright moving funny warm".split(), "dull slow flat noisy cold".split()
    with path.open("w") as out:
        out.write("stars,review\n")
        for _ in range(200):
            stars = draw.choice(["good", "bad"])
            words = good if stars == "good" else bad
            out.write(f"{stars},{' '.join(draw.choice(words) for _ in range(8))} film\n")


def ratings(path):
    draw = random.Random(3)
    with path.open("w") as out:
        out.write("user,item,rating\n")
        for user in range(60):
            for item in draw.sample(range(40), 20):
                out.write(f"u{user},i{item},{3 + (user + item) % 3 - 1 + draw.gauss(0, 0.2):.2f}\n")


# Files by the name that documents use.
FILES = {
    "points.csv": points,
    "train.libsvm": libsvm(1),
    "train.libsvm.gz": libsvm(1),
    "valid.libsvm": libsvm(2, 200),
    "test.libsvm": libsvm(4, 200),
    "rows.libsvm": libsvm(1),
    "reviews.txt": texts(1),
    "more.txt": texts(2),
    "new.txt": texts(3, 20),
    "held.txt": texts(4, 50),
    "reviews.csv": reviews,
    "ratings.csv": ratings,
}


def make(folder, text):
    """Writes the files that the text of commands names."""
    for name, write in FILES.items():
        if name in text:
            write(folder / name)
