"""Training in several steps: one answer for every number of threads, interrupted or not."""

import array
import gzip
import json
import os
import random
import signal
import subprocess
import time

from harness import Failure, csv_text, expect, points, read_npy, write_npy

# Hundreds of rounds before it converges, for a test that interrupts one of the first. The rounds that a model has in the
# end are chosen after the interruption: nothing depends on how fast the machine is.
LONG = "train kmeans long.npy --n-clusters 800 --init random --tol 0 --max-iter 100000 --shards 8"
LONG_ROWS = 200000


def long_data(box):
    values = array.array("f", list(random.Random(1).randbytes(LONG_ROWS * 24)))
    write_npy(box / "long.npy", values, LONG_ROWS, 24)


def wait_for_rounds(box, run, rounds, process):
    """Waits until metrics.jsonl has that many rounds; the process must be running still."""
    deadline = time.monotonic() + 120
    while len(box.rounds(run)) < rounds:
        expect(process.poll() is None, "ended early")
        expect(time.monotonic() < deadline, f"no {rounds} rounds in two minutes")
        time.sleep(0.002)


def check_the_model_is_the_same_for_every_number_of_threads(box):
    values = points(5000, 6, blobs=7)
    write_npy(box / "dense.npy", values, 5000, 6)
    lines = []
    for i in range(0, len(values), 6):
        entries = [f"{j + 1}:{values[i + j]!r}" for j in range(6) if values[i + j] > 0]
        lines.append("1 " + " ".join(entries))
    (box / "sparse.libsvm").write_text("\n".join(lines) + "\n")
    for flags in ("dense.npy --shards 8", "dense.npy --shards 5 --n-init 3",
                  "dense.npy --shards 8 --init random --batch-size 500 --max-iter 40",
                  "dense.npy --shards 16 --init k-means|| --metric cosine",
                  "sparse.libsvm --shards 8"):
        models, objectives = set(), set()
        for threads in (1, 2, 3, 5, 8):
            result = box.json(f"train kmeans {flags} --n-clusters 7 --threads {threads} --quiet")
            models.add(result["model_sha256"])
            objectives.add(result["objective"])
        expect(len(models) == 1 and len(objectives) == 1, f"{flags}: {models} {objectives}")


def check_the_model_is_the_same_on_every_instruction_set(box):
    write_npy(box / "x.npy", points(3000, 13, blobs=9), 3000, 13)
    names = box.run("train kmeans x.npy --simd none", code=2).stderr
    names = names.split("known are ")[1].split(";")[0].strip().split(", ")
    expect(len(names) >= 1, names)
    models = {}
    for name in names:
        result = box.json(f"train kmeans x.npy --n-clusters 9 --simd {name} --quiet")
        expect(result["simd"] == name, result["simd"])
        models[name] = result["model_sha256"]
    expect(len(set(models.values())) == 1, models)


def wait_until_read_from(path, process):
    """Waits until the process has read some of the file at `path`, and has not come to its end."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        expect(process.poll() is None, "ended early")
        folder = f"/proc/{process.pid}/fd"
        try:
            for number in os.listdir(folder):
                if not os.path.exists(f"{folder}/{number}") or not os.path.samefile(f"{folder}/{number}", path):
                    continue
                with open(f"/proc/{process.pid}/fdinfo/{number}") as info:
                    # Its beginning is read before, to know what it is.
                    if int(info.readline().split()[1]) > 4 << 20:
                        return
        except OSError:  # closed meanwhile
            pass
    raise Failure(f"{path} was not read in two minutes")


def check_ctrl_c_ends_the_reading_of_a_large_file(box):
    line = ",".join(str(i / 7) for i in range(40)) + "\n"
    with open(box / "large.csv", "w") as file:
        for _ in range(256):
            file.write(line * 1000)
    process = box.start("train kmeans large.csv --n-clusters 4 --threads 1 --out run".split())
    wait_until_read_from(box / "large.csv", process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    expect(process.returncode == 130, f"exit code {process.returncode}: {said}")
    expect("interrupted before the first round: there is no model" in said, said)
    expect(not (box / "run").exists(), "a run directory without a round")


def check_an_interrupted_run_goes_on_to_the_same_model(box):
    long_data(box)
    process = box.start(LONG.split() + ["--out", "run"])
    wait_for_rounds(box, "run", 5, process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    expect(process.returncode == 130, f"exit code {process.returncode}: {said}")
    expect("interrupted after round" in said and "--resume run" in said, said)
    record = box.record("run")
    expect(record["status"] == "interrupted" and record["rounds"] >= 5, record)
    expect(not (box / "run/model.safetensors").exists(), "a model of an unfinished run")
    # A checkpoint is a model too.
    expect(len(box.run("predict run long.npy").stdout.split()) == LONG_ROWS, "labels")
    rounds = record["rounds"] + 5
    whole = box.json(LONG.split() + ["--max-iter", str(rounds), "--out", "whole", "--quiet"])
    expect(whole["rounds"] == rounds, whole)
    result = box.json(f"train kmeans long.npy --resume run --max-iter {rounds} --threads 1 --quiet")
    expect(result["model_sha256"] == whole["model_sha256"], "another model")
    expect(result["objective"] == whole["objective"], "another objective")
    expect(result["shards"] == 8 and result["rounds"] == rounds, result)
    expect(box.rounds("run") == list(range(1, rounds + 1)), "rounds missing or twice")
    expect(box.record("run")["status"] == "done", box.record("run"))


def check_a_killed_run_goes_on_to_the_same_model(box):
    long_data(box)
    # Twice: between checkpoints of every round, and before the first checkpoint.
    for seconds in (0, 1000):
        run = f"run-{seconds}"
        words = LONG.split() + ["--out", run, "--checkpoint-seconds", str(seconds)]
        process = box.start(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for_rounds(box, run, 4, process)
        process.kill()
        process.wait()
        expect(box.record(run)["status"] == "running", box.record(run))
        rounds = len(box.rounds(run)) + 3
        whole = box.json(LONG.split() + ["--max-iter", str(rounds), "--quiet"])
        result = box.json(f"train kmeans long.npy --resume {run} --max-iter {rounds} --quiet")
        expect(result["model_sha256"] == whole["model_sha256"], f"another model in {run}")
        expect(box.rounds(run) == list(range(1, rounds + 1)), "rounds missing or twice")


def check_a_second_signal_kills(box):
    long_data(box)
    process = box.start(LONG.split() + ["--out", "run"])
    wait_for_rounds(box, "run", 1, process)
    os.kill(process.pid, signal.SIGTERM)
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=60)
    expect(process.returncode in (-signal.SIGTERM, 130), process.returncode)


def check_more_rounds_later_are_the_same_as_more_rounds_at_once(box):
    write_npy(box / "x.npy", points(4000, 5), 4000, 5)
    flags = "train kmeans x.npy --n-clusters 50 --n-init 1 --tol 0 --seed 3"
    whole = box.json(f"{flags} --max-iter 9 --out whole --quiet")
    expect(whole["stopped_because"] == "max_iter=9 reached", whole)
    box.run(f"{flags} --max-iter 4 --out part --quiet")
    copied = box.json("train kmeans x.npy --resume part --max-iter 9 --out copy --quiet")
    expect(copied["out"] == "copy", copied)
    expect(box.record("part")["rounds"] == 4, "the run resumed from was changed")
    in_place = box.json("train kmeans x.npy --resume part --max-iter 9 --quiet")
    for result in (copied, in_place):
        expect(result["model_sha256"] == whole["model_sha256"], "another model")
        expect(result["seed"] == 3 and result["parameters"]["max_iter"] == 9, result)
    expect(box.rounds("copy") == list(range(1, 10)), box.rounds("copy"))


def check_a_time_limit_leaves_a_model_to_go_on_with(box):
    write_npy(box / "x.npy", points(4000, 5), 4000, 5)
    flags = "train kmeans x.npy --n-clusters 50 --tol 0 --max-iter 9"
    whole = box.json(f"{flags} --out whole --quiet")
    cut = box.json(f"{flags} --out cut --time-limit 1e-6 --quiet")
    expect(cut["rounds"] == 1 and cut["stopped_because"] == "time limit of 1e-06 s reached", cut)
    result = box.json("train kmeans x.npy --resume cut --quiet")
    expect(result["model_sha256"] == whole["model_sha256"], "another model")


def check_the_same_rows_in_other_files_are_the_same_data(box):
    values = points(700, 4)
    write_npy(box / "x.npy", values, 700, 4)
    (box / "x.csv").write_text(csv_text(values, 4))
    (box / "x.csv.gz").write_bytes(gzip.compress((box / "x.csv").read_bytes()))
    lines = (box / "x.csv").read_text().splitlines(keepends=True)
    (box / "parts").mkdir()
    (box / "parts/1.csv").write_text("".join(lines[:300]))
    (box / "parts/2.csv").write_text("".join(lines[300:]))
    box.run("convert x.csv x.safetensors --quiet")
    found = set()
    for files in ("x.npy", "x.csv", "x.csv.gz", "parts", "parts/1.csv parts/2.csv", "x.safetensors"):
        result = box.json(f"train kmeans {files} --n-clusters 5 --quiet")
        found.add((result["data_sha256"], result["model_sha256"]))
    text = (box / "x.csv").read_text()
    result = box.json("train kmeans - --format csv --n-clusters 5 --quiet", input=text)
    found.add((result["data_sha256"], result["model_sha256"]))
    expect(len(found) == 1, found)


def check_first_centres_may_come_from_data_a_model_or_a_run(box):
    write_npy(box / "x.npy", points(500, 3, blobs=4), 500, 3)
    box.run("train kmeans x.npy --n-clusters 4 --out first --quiet")
    centers = json.loads(box.run("inspect first/model.safetensors --json").stdout)
    expect(centers["n_clusters"] == 4, centers)
    models = set()
    for init in ("first", "first/model.safetensors"):
        result = box.json(f"train kmeans x.npy --init {init} --quiet")
        expect(result["parameters"]["n_clusters"] == 4, result)
        expect(result["parameters"]["init"] == init, result)
        models.add(result["model_sha256"])
    expect(len(models) == 1, models)
    values = points(4, 3)
    write_npy(box / "centres.npy", values, 4, 3)
    (box / "centres.csv").write_text(csv_text(values, 3))
    results = [box.json(f"train kmeans x.npy --init centres.{kind} --max-iter 1 --quiet")
               for kind in ("npy", "csv")]
    expect(results[0]["rounds"] == 1, results[0])
    expect(results[0]["model_sha256"] == results[1]["model_sha256"], "csv and npy differ")


def check_progress_is_shown_and_a_terminal_line_is_rewritten(box):
    import pty
    long_data(box)
    reader, writer = pty.openpty()
    process = box.start(LONG.split() + ["--max-iter", "20", "--out", "run"], stdout=subprocess.DEVNULL, stderr=writer)
    os.close(writer)
    text = b""
    while True:
        try:
            part = os.read(reader, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    os.close(reader)
    expect(process.wait() == 0, text)
    text = text.decode()
    expect("\r\033[K" in text and "objective" in text and "left" in text, text[-2000:])
    expect("\033" not in text.split("run directory")[-1], "the end is not plain text")


def check_labels_agree_in_every_form(box):
    write_npy(box / "x.npy", points(1000, 3, blobs=5), 1000, 3)
    box.run("train kmeans x.npy --n-clusters 5 --out a --quiet")
    printed = box.run("predict a x.npy").stdout
    box.run("predict a x.npy --out labels.csv")
    box.run("predict a x.npy --out labels.npy --threads 3")
    box.run("transform a x.npy --out distances.npy")
    expect((box / "labels.csv").read_text() == "cluster\n" + printed, "csv differs")
    kind, shape, labels = read_npy(box / "labels.npy")
    expect((kind, shape) == ("<i4", (1000,)), (kind, shape))
    expect("".join(f"{label}\n" for label in labels) == printed, "npy differs")
    kind, shape, distances = read_npy(box / "distances.npy")
    expect((kind, shape) == ("<f8", (1000, 5)), (kind, shape))
    rows = [list(distances[i:i + 5]) for i in range(0, 5000, 5)]
    expect([row.index(min(row)) for row in rows] == list(labels), "the nearest is another")
    inertia = box.json("evaluate a x.npy")["inertia"]
    expect(abs(sum(min(row) ** 2 for row in rows) - inertia) < 1e-9 * inertia, inertia)
