"""Small data sets for the commands of the documents, made from fixed seeds."""

import gzip
import random
import struct
import zipfile


def points(path):
    draw = random.Random(1)
    with path.open("w") as out:
        out.write("x,y,z\n")
        for i in range(400):
            out.write(",".join(f"{(i % 4) * 10 + draw.gauss(0, 1):.3f}" for _ in range(3)) + "\n")


def parts(path):
    path.mkdir()
    for part in range(3):
        points(path / f"part-{part}.csv")


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


def write(path, content):
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def libsvm(seed, rows=600):
    return lambda path: write(path, sparse_rows(seed, rows).encode())


def texts(seed, count=300):
    def make_text(path):
        draw = random.Random(seed)
        themes = [
            "market price stock trade bank",
            "river water flood bridge boat",
            "signal noise filter frequency antenna",
            "garden flower seed soil rain",
        ]
        lines = [" ".join(draw.choice(themes[i % 4].split()) for _ in range(20))
                 for i in range(count)]
        path.write_text("\n".join(lines) + "\n")
    return make_text


def docword(path):
    draw = random.Random(6)
    entries = []
    for document in range(1, 201):
        words = sorted(draw.sample(range(1, 101), 15))
        entries += [f"{document} {word} {draw.randint(1, 4)}" for word in words]
    write(path, "\n".join(["200", "100", str(len(entries)), *entries, ""]).encode())


def vocabulary(path):
    path.write_text("".join(f"word{i:03}\n" for i in range(1, 101)))


def reviews(path):
    draw = random.Random(5)
    good, bad = "lovely bright moving funny warm".split(), "dull slow flat noisy cold".split()
    with path.open("w") as out:
        out.write("stars,review\n")
        for _ in range(200):
            stars = draw.choice(["good", "bad"])
            words = good if stars == "good" else bad
            out.write(f"{stars},{' '.join(draw.choice(words) for _ in range(8))} film\n")


def ratings(seed, users, items, header, of_user):
    def make_ratings(path):
        draw = random.Random(seed)
        with path.open("w") as out:
            out.write(header + "\n")
            for user in range(users):
                for item in draw.sample(range(items), of_user):
                    rating = 3 + 1.5 * (1 if (user % 2) == (item % 2) else -1) + draw.gauss(0, 0.2)
                    out.write(f"u{user},i{item},{rating:.1f}\n")
    return make_ratings


def pairs(path):
    path.write_text("user,item\nu3,i1\nu3,i2\nnobody,i5\n")


def new_penguins(path):
    path.write_text("sex,island,flipper_length_mm,bill_length_mm,bill_depth_mm,body_mass_g,year\n"
                    "male,Biscoe,221,47.3,15.3,5260,2008\nfemale,Dream,195,45.4,18.7,3525,2007\n")


def npy_bytes(rows):
    """Version 1.0 of the format, little-endian float64; rows of one value become a vector."""
    shape = f"({len(rows)},)" if len(rows[0]) == 1 else f"({len(rows)}, {len(rows[0])})"
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    values = [value for row in rows for value in row]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}d", *values)


def rows_and_targets():
    draw = random.Random(8)
    rows = [[draw.gauss(0, 1) for _ in range(4)] for _ in range(300)]
    return rows, [[2 * row[0] - row[2] + draw.gauss(0, 0.1)] for row in rows]


def npy(columns):
    def make_npy(path):
        rows, targets = rows_and_targets()
        path.write_bytes(npy_bytes({"x": rows, "y": targets, "xy": [r + t for r, t in zip(rows, targets)]}[columns]))
    return make_npy


def npz(path):
    rows, targets = rows_and_targets()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", npy_bytes(rows))
        archive.writestr("y.npy", npy_bytes(targets))


def idx(path):
    """Images of 4 x 4 bytes, and their labels: the brightest row."""
    draw = random.Random(9)
    labels = [draw.randrange(4) for _ in range(200)]
    if "labels" in path.name:
        write(path, struct.pack(">BBBBI", 0, 0, 8, 1, len(labels)) + bytes(labels))
    else:
        pixels = bytes(draw.randrange(200, 256) if at // 4 == label else draw.randrange(80)
                       for label in labels for at in range(16))
        write(path, struct.pack(">BBBBIII", 0, 0, 8, 3, len(labels), 4, 4) + pixels)


def fvecs(path):
    draw = random.Random(10)
    path.write_bytes(b"".join(struct.pack("<i3f", 3, *(draw.gauss(10 * (i % 4), 1) for _ in range(3))) for i in range(200)))


# Files by the name that documents use.
FILES = {
    "points.csv": points,
    "points.npy": lambda path: path.write_bytes(npy_bytes(rows_and_targets()[0])),
    "parts": parts,
    "train.libsvm": libsvm(1),
    "train.libsvm.gz": libsvm(1),
    "valid.libsvm": libsvm(2, 200),
    "test.libsvm": libsvm(4, 200),
    "rows.libsvm": libsvm(1),
    "reviews.txt": texts(1),
    "more.txt": texts(2),
    "new.txt": texts(3, 20),
    "held.txt": texts(4, 50),
    "docword.txt.gz": docword,
    "vocab.txt": vocabulary,
    "reviews.csv": reviews,
    "ratings.csv": ratings(3, 60, 40, "user,item,rating", 20),
    "held_out.csv": ratings(4, 60, 40, "user,item,rating", 5),
    "pairs.csv": pairs,
    "new.csv": new_penguins,
    "X.npy": npy("x"),
    "y.npy": npy("y"),
    "Xy.npy": npy("xy"),
    "Xy.npz": npz,
    "w.txt": lambda path: path.write_text("1\n2\n" * 150),
    "train-images-idx3-ubyte.gz": idx,
    "train-labels-idx1-ubyte.gz": idx,
    "vectors.fvecs": fvecs,
    "histogram.txt": lambda path: path.write_text("1 5000\n2 3000\n3 1500\n10 400\n100 20\n"),
}


def make(folder, text):
    """Writes the files that the text of commands names."""
    for name, make_file in FILES.items():
        if name in text:
            make_file(folder / name)
