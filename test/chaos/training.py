#!/usr/bin/env python3
"""Training that is killed at random moments and resumed until it is done, with other numbers of threads each time:

    test/chaos/training.py PROGRAM [--kills 40] [--seed N] [--seconds 360]

Every run must end with the model of a run that was left alone, every line of metrics.jsonl, and no file that does not
belong there. A kill before run.json begins the run anew in the same place.
"""

import pathlib
import shutil
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from harness import Sandbox, expect, libsvm_text, points, write_npy  # noqa: E402
from counts import main  # noqa: E402

JOBS = (
    "kmeans x.npy --n-clusters 40 --max-iter 60 --tol 0 --init random",
    "kmeans x.npy --n-clusters 20 --max-iter 12 --tol 0 --n-init 3",
    "kmeans x.npy --n-clusters 30 --max-iter 60 --tol 0 --batch-size 200 --init random",
    "kmeans x.npy --n-clusters 10 --max-iter 20 --tol 0 --batch-size 200 --n-init 2 --init random",
    "svm rows.libsvm --solver sgd --send gradient --batch-fraction 0.5 --max-iter 60 --tol 0",
    "svm rows.libsvm --solver lbfgs --max-iter 60 --tol 0",
    "logistic rows.libsvm --solver hybrid --l1 1e-5 --max-iter 60 --tol 0",
    "linear rows.libsvm --solver sgd --max-iter 60 --tol 0",
    "lda documents.ldac --n-topics 4 --passes 20 --tol 0",
    "lda documents.ldac --n-topics 4 --passes 3 --batch-size 40",
    "lda documents.ldac --n-topics 4 --sampler mh --passes 40 --tol 0",
)
FILES = {"run.json", "metrics.jsonl", "model.safetensors", "trace.json", "model.memory"}


def write_data(box):
    write_npy(box / "x.npy", points(3000, 6, blobs=30), 3000, 6)
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    lines = (f"3 {i % 7}:{1 + i % 3} {7 + i % 5}:1 {12 + i % 11}:2\n" for i in range(400))
    (box / "documents.ldac").write_text("".join(lines))


def kill_and_resume(box, draw, job, kills, typical_s, deadline, counts):
    """One run to its end, killed at most `kills` times. Returns how often it was."""
    learner, data = job.split()[:2]
    first = f"train {job} --shards 6 --checkpoint-seconds 0 --out run --quiet"
    again = f"train {learner} {data} --checkpoint-seconds 0 --resume run --quiet"
    killed = 0
    while True:
        expect(time.monotonic() < deadline, "the time given is over")
        words = f"{again if (box / 'run/run.json').exists() else first} --threads {draw.randint(1, 5)}".split()
        process = box.start(words)
        if killed < kills:
            # Most moments of a run, and more often the last ones.
            time.sleep(draw.choice((draw.uniform(0, typical_s), draw.uniform(0.7, 1.1) * typical_s)))
            process.kill()
        _, said = process.communicate(timeout=120)
        if process.returncode != -signal.SIGKILL:
            expect(process.returncode == 0, f"{' '.join(words)}: exit code {process.returncode}: {said}")
            return killed
        killed += 1
        counts["kills"] += 1


def expect_as_alone(box, job, whole):
    """The run has what the run has that was left alone, and nothing else."""
    record = box.record("run")
    expected = box.record(whole)["model_sha256"]
    expect(record["status"] == "done" and record["model_sha256"] == expected,
           f"{job}: {record['status']}, model {record.get('model_sha256')}, alone {expected}")
    lines, expected = (len((box / name / "metrics.jsonl").read_text().splitlines()) for name in ("run", whole))
    expect(lines == expected, f"{job}: {lines} lines of metrics.jsonl, alone {expected}")
    left = {path.name for path in (box / "run").iterdir()} - FILES
    expect(not left, f"{job}: left behind: {left}")


def run(program, draw, kills, deadline, counts):
    with Sandbox(program) as box:
        write_data(box)
        for number, job in enumerate(JOBS):
            whole, begin = f"whole-{number}", time.monotonic()
            box.run(f"train {job} --shards 6 --checkpoint-seconds 0 --out {whole} --quiet")
            typical_s, missing = time.monotonic() - begin, -(-kills // len(JOBS))
            while missing > 0:
                missing -= kill_and_resume(box, draw, job, missing, typical_s, deadline, counts)
                expect_as_alone(box, job, whole)
                counts["runs"] += 1
                shutil.rmtree(box / "run")


if __name__ == "__main__":
    main(__doc__, ["program"], run, kills=40)
