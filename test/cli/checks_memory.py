"""Mapped data larger than --memory-limit: what stays resident, and that the models are the same."""

import array
import json
import os
import random
import struct

from harness import expect

MIB = 1 << 20
ROWS, COLS = 65536, 128
DATA = 4 * ROWS * COLS  # 32 MiB of float32


def write_counts(path):
    """Dense counts with two classes of labels: rows that every learner can learn from."""
    draw = random.Random(1)
    some = 2048
    rows, labels = array.array("f"), array.array("d")
    for _ in range(some):
        label = draw.random() < 0.5
        rows.extend(draw.choice((0, 0, 0, 1, 2)) + (label and column % 3 == 0) for column in range(COLS))
        labels.append(label)
    header = json.dumps({"x": {"dtype": "F32", "shape": [ROWS, COLS], "data_offsets": [0, DATA]},
                         "labels": {"dtype": "F64", "shape": [ROWS], "data_offsets": [DATA, DATA + 8 * ROWS]}}).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for _ in range(ROWS // some):
            file.write(rows.tobytes())
        for _ in range(ROWS // some):
            file.write(labels.tobytes())


def peak_of(box, words):
    """The largest resident size of the program with these words, in bytes."""
    process = box.start(words.split(), stdout=open(os.devnull, "w"), stderr=open(box / "stderr", "w"))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    expect(process.returncode == 0, (words, (box / "stderr").read_text()))
    return usage.ru_maxrss * 1024


def check_no_learner_keeps_more_of_mapped_data_than_the_limit(box):
    write_counts(box / "x.safetensors")
    small = peak_of(box, "--version")
    for name, learner in {"kmeans": "kmeans --n-clusters 4 --max-iter 2 --n-init 1",
                          "parallel": "kmeans --n-clusters 4 --max-iter 2 --n-init 1 --init k-means||",
                          "lbfgs": "logistic --max-iter 3 --solver lbfgs",
                          "held": "logistic --max-iter 3 --solver lbfgs --validation-fraction 0.2",
                          "sgd": "svm --max-iter 2 --solver sgd",
                          "gradient": "svm --max-iter 20 --send gradient",
                          "linear": "linear --max-iter 3",
                          "lda": "lda --n-topics 2 --passes 1 --format safetensors"}.items():
        train = f"train {learner.split()[0]} x.safetensors {' '.join(learner.split()[1:])} --quiet --threads 2"
        # Beside the rows there are labels and what the learner itself needs; SGD mixes rows of 16 blocks.
        limited = peak_of(box, f"{train} --memory-limit 1M --out {name}")
        free = peak_of(box, f"{train} --out free")
        expect(limited < free - 0.4 * DATA, f"{name}: {limited} bytes, and without the limit {free}")
        expect(box.record(name)["model_sha256"] == box.record("free")["model_sha256"], f"{name}: another model")
        for command in (f"evaluate {name} x.safetensors", f"predict {name} x.safetensors --out p.npy",
                        f"transform {name} x.safetensors --out t.npy"):
            peak = peak_of(box, command) - small
            expect(peak < DATA / 2, f"{command}: {peak} bytes beside the program")
