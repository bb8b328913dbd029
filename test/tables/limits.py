#!/usr/bin/env python3
"""Tables larger than memory: limits.py PROGRAM

A table of four times --memory-limit is trained by two workers under mpirun, and by two at a store.
No worker may hold more of it than the limit, each fetches the rows that the plan says, and the model
is that of one worker without a limit, also after a kill and on another number of workers.
"""

import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
WORDS, WIDTH, DOCUMENTS, LENGTH = 1 << 18, 32, 2048, 16
LIMIT = 16 * MIB
assert WORDS * WIDTH * 8 == 4 * LIMIT
SLICES = WORDS * WIDTH * 8 // MIB

# A process counts as large as the one that started it was, until it runs a program of its own.
PEAK = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
rank = os.environ.get("OMPI_COMM_WORLD_RANK", "0")
with open(f"{sys.argv[1]}.{rank}", "w") as file:
    file.write(str(usage.ru_maxrss * 1024))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def write_documents(path, words):
    """Documents of words drawn evenly, as an array of float32 (.npy)."""
    draw = random.Random(1)
    drawn = [draw.randrange(words) for _ in range(DOCUMENTS * LENGTH)]
    header = str({"descr": "<f4", "fortran_order": False, "shape": (DOCUMENTS, LENGTH)}).encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        file.write(struct.pack(f"<{len(drawn)}f", *drawn))


def expect(holds, what):
    if not holds:
        sys.exit(f"limits.py: {what}")


def command_of(program, folder, out, ranks, *more):
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]
    words = [program, "train", "words", "--width", str(WIDTH), "--shards", "8", "--threads", "1", "--quiet",
             "--machine", "generic", "--out", out, *more]
    return [*(mpirun if ranks else []), sys.executable, "-S", "-c", PEAK, str(folder / f"{out}.peak"), *words]


def train(program, folder, out, ranks, *more):
    """Returns run.json and the largest resident size of any worker."""
    command = command_of(program, folder, out, ranks, *more)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280)
    expect(done.returncode == 0, f"{command}: {done.returncode}\n{done.stderr}")
    peaks = [int((folder / f"{out}.peak.{rank}").read_text()) for rank in range(max(ranks, 1))]
    return json.loads((folder / out / "run.json").read_text()), max(peaks)


def tables_of(folder, out):
    """What the first worker says of its tables, by round."""
    lines = [json.loads(line) for line in (folder / out / "metrics.jsonl").read_text().splitlines()]
    return [line["tables"] for line in lines if "tables" in line]


def check_plan(moved, free):
    expect(len(moved) == len(free) == 3, "three rounds each")
    for i, (round_, alone) in enumerate(zip(moved, free)):
        # A worker reads the rows of its half of the shards, and about half of them are the other one's.
        expect(abs(2 * round_["rows"] - alone["rows"]) < 0.02 * alone["rows"], (round_, alone))
        expect(abs(2 * round_["rows_fetched"] - round_["rows"]) < 0.05 * round_["rows"], round_)
        expect(alone["rows_fetched"] == alone["bytes_fetched"] == alone["bytes_pushed"] == 0, alone)
        # A row is four bytes, and twelve for each of its columns: one at most for every round and time in a shard.
        least, most = (4, 4) if i == 0 else (16, 4 + 12 * (i + 1))
        per_row = round_["bytes_fetched"] / round_["rows_fetched"]
        expect(least <= per_row <= most, (i, per_row))
        # The places of rows take two bytes or so, and a change takes a row's number beside it.
        expect(round_["bytes_asked"] < 5 * round_["rows_fetched"] + 20_000, round_)
        expect(round_["bytes_pushed"] < 28 * round_["rows_fetched"] + 100_000, round_)
    expect(moved[-1]["bytes_in_memory"] <= LIMIT / 8, moved[-1])
    expect(moved[-1]["bytes_in_files"] > 2 * LIMIT - LIMIT / 4, moved[-1])
    expect(free[-1]["bytes_in_files"] == 0 and free[-1]["bytes_in_memory"] > 3.9 * LIMIT, free[-1])


def train_at_store(program, folder, out, *data):
    """Two workers at a store. Returns the result and the largest resident size of any worker."""
    words = ["submit", "words", *data, "--width", str(WIDTH), "--shards", "8", "--store", "store", "--quiet"]
    subprocess.run([program, *words], cwd=folder, check=True, timeout=280)
    workers = [subprocess.Popen([sys.executable, "-S", "-c", PEAK, str(folder / f"{out}{i}.peak"), program, "worker",
                                 "--store", "store", "--threads", "1", "--memory-limit", str(LIMIT), "--quiet"],
                                cwd=folder) for i in range(2)]
    for worker in workers:
        expect(worker.wait(timeout=280) == 0, "a worker at the store")
    fetch = ["fetch", "--store", "store", "--remove", "--quiet", "--json", "--out", out]
    done = subprocess.run([program, *fetch], cwd=folder, check=True, timeout=280, capture_output=True, text=True)
    return json.loads(done.stdout), max(int((folder / f"{out}{i}.peak.0").read_text()) for i in range(2))


def check_store(program, folder, expected):
    """The same at a store, and what was fetched goes on."""
    _, program_alone = train_at_store(program, folder, "small-stored", "few.npy", "--words", "64")
    result, peak = train_at_store(program, folder, "stored", "documents.npy", "--words", str(WORDS))
    expect(result["model_sha256"] == expected, "a store gives another model")
    print(f"at a store: {(peak - program_alone) >> 10} KiB")
    expect(peak - program_alone < LIMIT, "a worker at a store holds more than the limit")
    # Each batch of shards reads all slices, which are zero at first; then each slice is added to.
    for i, round_ in enumerate(tables_of(folder, "stored")):
        expect(round_["deltas_put"] % 4 == 0 and round_["deltas_fetched"] % 8 == 0, round_)
        most = 8 * SLICES + round_["slices_put"] if i > 0 else 0
        expect(round_["slices_fetched"] <= most, (round_, most))
        expect(round_["bytes_fetched"] < 1.1 * MIB * most + 1, round_)
        expect(round_["bytes_put"] < 1.1 * MIB * round_["slices_put"] + 1, round_)
        print(f"  round {i + 1}, one of two workers: {json.dumps(round_)}")
    words = ["documents.npy", "--words", str(WORDS), "--max-iter", "4"]
    resumed, _ = train(program, folder, "stored", 0, *words, "--resume", "stored")
    whole, _ = train(program, folder, "longer", 0, *words)
    expect(resumed["model_sha256"] == whole["model_sha256"], "the run that was fetched from a store")


def check_refusals(program, folder):
    """A staleness is refused wherever the run would be."""
    for store in ([], ["--store", "refused"]):
        command = [program, "train", "words", "few.npy", "--words", "64", "--staleness", "1", "--quiet", *store]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280)
        expect(done.returncode == 2 and "--staleness: a round of words needs the sums of all rounds" in done.stderr,
               done.stderr)


def check_kill(program, folder):
    """A process that is killed behind a checkpoint; two workers go on."""
    command = command_of(program, folder, "killed", 0, "documents.npy", "--words", str(WORDS), "--max-iter", "1000",
                         "--checkpoint-seconds", "0")
    # Without the one that measures: the program itself is killed.
    process = subprocess.Popen(command[command.index(program):], cwd=folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        checkpoints = folder / "killed" / "checkpoints"
        while not list(checkpoints.glob("round-0*.safetensors")):
            expect(time.monotonic() < deadline and process.poll() is None, "no checkpoint before the kill")
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
    done = max(int(path.stem.removeprefix("round-")) for path in checkpoints.glob("round-0*.safetensors"))
    rounds = done + 1
    resumed, _ = train(program, folder, "killed", 2, "documents.npy", "--words", str(WORDS), "--max-iter", str(rounds),
                       "--memory-limit", str(LIMIT), "--resume", "killed")
    whole, _ = train(program, folder, "whole", 0, "documents.npy", "--words", str(WORDS), "--max-iter", str(rounds))
    expect(resumed["rounds"] == rounds and resumed["model_sha256"] == whole["model_sha256"], "the resumed model")
    expect(not list((folder / "killed").glob("tables-of-worker-*")), "files of a worker are left")


def main(program):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_documents(folder / "documents.npy", WORDS)
        write_documents(folder / "few.npy", 64)
        _, program_alone = train(program, folder, "small", 2, "few.npy", "--words", "64")
        free, free_peak = train(program, folder, "free", 0, "documents.npy", "--words", str(WORDS))
        limited, peak = train(program, folder, "limited", 2, "documents.npy", "--words", str(WORDS),
                              "--memory-limit", str(LIMIT))
        expect(limited["model_sha256"] == free["model_sha256"], "two workers with a limit give another model")
        print(f"beside the program: {(peak - program_alone) >> 10} KiB of a limit of {LIMIT >> 10}; "
              f"one worker without a limit {(free_peak - program_alone) >> 10} KiB")
        expect(free_peak - program_alone > 3 * LIMIT, "without a limit the table is in memory")
        expect(peak - program_alone < LIMIT, "a worker holds more than the limit")
        check_plan(tables_of(folder, "limited"), tables_of(folder, "free"))
        check_kill(program, folder)
        check_store(program, folder, free["model_sha256"])
        check_refusals(program, folder)


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
