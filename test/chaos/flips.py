#!/usr/bin/env python3
"""Bits that change in the files of a run:

    test/chaos/flips.py PROGRAM [--flips 1000] [--seed N] [--seconds 360]

A model or run.json with a wrong bit must be refused. A newest checkpoint with one must be passed over, and the run must
end with the model it has without damage. The seal, its name and the version get more than their share of the flips.
"""

import json
import pathlib
import re
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from harness import Sandbox, expect, libsvm_text, points, write_npy  # noqa: E402
from counts import main  # noqa: E402

# Trainings: the learner, the data, and the flag that says how long. k-means may converge before a checkpoint is seen:
# bits of its checkpoints are flipped in test/cli/checks_safety.py.
JOBS = (
    ("kmeans", "x.npy", "--n-clusters 5 --tol 0 --init random", "--max-iter"),
    ("svm", "rows.libsvm", "--solver sgd --tol 0", "--max-iter"),
    ("lda", "documents.ldac", "--n-topics 3 --tol 0", "--passes"),
    ("lda", "documents.ldac", "--n-topics 3 --sampler mh --tol 0", "--passes"),
)
MARKS = rb'"seal": ?"[0-9a-f]{64}"|"(format_)?version": ?"[^"]*"'


def write_data(box):
    write_npy(box / "x.npy", points(200, 3, blobs=5), 200, 3)
    (box / "rows.libsvm").write_text(libsvm_text(100, 20, 5))
    (box / "documents.ldac").write_text("".join(f"2 {i % 7}:{1 + i % 3} {7 + i % 5}:1\n" for i in range(60)))


class Damage:
    """One bit of a file, which is another after make()."""

    def __init__(self, draw, path):
        self.path, self.whole = path, path.read_bytes()
        marks = [found.span() for found in re.finditer(MARKS, self.whole)]
        begin, end = draw.choice(marks) if marks and draw.random() < 0.4 else (0, len(self.whole))
        self.byte, self.bit = draw.randrange(begin, end), draw.randrange(8)

    def make(self):
        data = bytearray(self.whole)
        data[self.byte] ^= 1 << self.bit
        self.path.write_bytes(data)

    def mend(self):
        self.path.write_bytes(self.whole)

    def __str__(self):
        return f"{self.path.name} ({len(self.whole)} bytes), byte {self.byte}, bit {self.bit}"


def leave_checkpoints(box, train, long):
    """A run as a kill leaves it, with two checkpoints and no model. Returns the round of the newer one."""
    process = box.start(f"{train} {long} 1000000 --checkpoint-seconds 0 --out killed --quiet".split())
    until = time.monotonic() + 60
    while len(list((box / "killed/checkpoints").glob("round-*[0-9].safetensors"))) < 2:
        expect(time.monotonic() < until and process.poll() is None, "no checkpoints")
        time.sleep(0.01)
    process.kill()
    process.communicate()
    return max(int(path.stem.removeprefix("round-")) for path in (box / "killed/checkpoints").glob("round-*.safetensors"))


def must_refuse(box, damage, words):
    done = box.run(words, code=None, errors="replace")
    expect(done.returncode == 2, f"{damage}: {words}: exit code {done.returncode}, accepted or failed: {done.stderr}")


def resume_copy(box, words, damaged, draw):
    """Goes on with a copy of the killed run, whose newest checkpoint is damaged or not. Returns its model's hash."""
    shutil.rmtree(box / "copy", ignore_errors=True)
    shutil.copytree(box / "killed", box / "copy")
    if not damaged:
        return box.json(words)["model_sha256"]
    newest = max((box / "copy/checkpoints").glob("round-*.safetensors"))
    damage = Damage(draw, newest)
    damage.make()
    done = box.run([*words.split(), "--json"], code=None, errors="replace")
    expect(done.returncode == 0, f"{damage}: exit code {done.returncode}: {done.stderr}")
    expect("the state before it" in done.stderr, f"{damage}: used without a word: {done.stderr}")
    return json.loads(done.stdout)["model_sha256"]


def flip_in_files_of(box, draw, job, flips, deadline, counts):
    learner, data, flags, long = job
    train = f"train {learner} {data} {flags}"
    box.run(f"{train} {long} 4 --out done --quiet")
    goes_on = learner != "kmeans"
    if goes_on:
        newest = leave_checkpoints(box, train, long)
        resume = f"train {learner} {data} --resume copy {long} {newest + 3}"
        expected = resume_copy(box, resume, False, draw)
    for turn in range(flips):
        expect(time.monotonic() < deadline, "the time given is over")
        if goes_on and turn % 4 == 3:
            found = resume_copy(box, resume, True, draw)
            expect(found == expected, f"another model: {found}, without damage {expected}")
        else:
            # Two of four flips are in the model, one is in run.json.
            damage = Damage(draw, box / "done" / ("run.json" if turn % 4 == 2 else "model.safetensors"))
            damage.make()
            must_refuse(box, damage, f"predict done {data}")
            damage.mend()
        counts["flips"] += 1


def run(program, draw, flips, deadline, counts):
    for number, job in enumerate(JOBS):
        with Sandbox(program) as box:
            write_data(box)
            flip_in_files_of(box, draw, job, (flips + number) // len(JOBS), deadline, counts)


if __name__ == "__main__":
    main(__doc__, ["program"], run, flips=1000)
