"""Mapped data larger than --memory-limit: what stays resident, and that the models are the same."""

import array
import json
import random
import struct
import subprocess
import sys

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


# A process counts as large as the one that started it was, until it runs a program of its own. So a small one starts
# it, and says how large it became.
SMALL = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
print(usage.ru_maxrss * 1024)
sys.exit(process.returncode)
"""


def peak_of(box, words):
    """The largest resident size of the program with these words, in bytes."""
    options = box.at_home_here({"capture_output": True, "text": True, "timeout": 300})
    done = subprocess.run([sys.executable, "-S", "-c", SMALL, *box.command(words.split(), 0)], cwd=box.path, **options)
    expect(done.returncode == 0, (words, done.stderr))
    return int(done.stdout)


def check_no_learner_keeps_more_of_mapped_data_than_the_limit(box):
    write_counts(box / "x.safetensors")
    small = peak_of(box, "--version")
    for name, learner in {"kmeans": "kmeans --n-clusters 4 --max-iter 2 --n-init 1",
                          "parallel": "kmeans --n-clusters 4 --max-iter 2 --n-init 1 --init k-means||",
                          "lbfgs": "logistic --max-iter 3 --solver lbfgs",
                          "held": "logistic --max-iter 3 --solver lbfgs --validation-fraction 0.2",
                          "blocks": "kmeans --n-clusters 4 --max-iter 2 --n-init 1 --deal blocks",
                          "content": "svm --max-iter 2 --solver sgd --deal content",
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
            # Half of it, and the code that `--version` does not reach: 2 MiB where no Arrow is loaded.
            expect(peak < 0.6 * DATA, f"{command}: {peak} bytes beside the program")
