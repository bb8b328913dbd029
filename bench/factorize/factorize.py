#!/usr/bin/env python3
"""Matrix factorisation against its peers: ratings a second and thread, and the error on held-out ratings.

    bench/factorize/factorize.sh [--only NAME ...] [--repeat N] [--folder DIR]

Data is generated once (generate_ratings.cc). Programs run in turn, on one thread. Both are timed in the same way: the
processor time of passes alone, which is the difference between a run of many passes and a run of one. Reading and
preparing, which both runs have, drop out; and so does other work on the machine, which the clock would count.
"""
import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
FACTORS = 32
RATING_BYTES = 12
# Users, items, ratings; passes of the model that is scored, l2; passes of the long run that is timed. The shorter a
# pass, the more of them it takes to tell them from the noise of reading.
SIZES = {
    "sgd-5m": (60_000, 10_000, 5_000_000, 10, 0.03, 41),
    "sgd-100m": (600_000, 30_000, 100_000_000, 5, 0.03, 6),
}


def ratings(path):
    table = np.fromfile(path, dtype=np.int32).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2].view(np.float32)


def generate(name, folder):
    users, items, count = SIZES[name][:3]
    to = folder / name
    if not (to / "done").exists():
        program = ROOT / "build/release/bench/generate_ratings"
        subprocess.run([program, str(users), str(items), str(count), "1", to], check=True)
        (to / "done").touch()
    return to


def rmse(held_out, predict):
    """Of held-out ratings whose user and item were trained on."""
    users, items, values = held_out
    errors = 0.0
    known = 0
    for begin in range(0, len(values), 1 << 20):
        part = slice(begin, begin + (1 << 20))
        predicted = predict(users[part], items[part])
        fine = ~np.isnan(predicted)
        errors += np.sum((predicted[fine] - values[part][fine]) ** 2)
        known += np.count_nonzero(fine)
    return float(np.sqrt(errors / known))


def tensors(path):
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        data = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + length)
    types = {"F32": np.float32, "I64": np.int64, "U8": np.uint8}
    return {
        key: data[slice(*entry["data_offsets"])].view(types[entry["dtype"]]).reshape(entry["shape"])
        for key, entry in header.items()
        if key != "__metadata__" and not key.startswith("carried/")
    }, json.loads(header["__metadata__"]["about"])


def places(model, side, count):
    """The row of each user or item, whose names are numbers; -1: it has none."""
    text, ends = bytes(model[f"{side}_names"]).decode(), model[f"{side}_names_ends"]
    rows = np.full(count, -1)
    begin = 0
    for row, end in enumerate(ends):
        rows[int(text[begin:end])] = row
        begin = end
    return rows


def pass_seconds(fit, long):
    """Processor seconds of a pass: fit(passes) returns those of a run."""
    one = fit(1)
    return (fit(long) - one) / (long - 1)


def meanwhile(data, name, out):
    users, items, _, passes, l2, long = SIZES[name]

    def fit(count):
        command = [ROOT / "build/release/meanwhile", "train", "factorize", data / "train.csv", "--solver", "sgd",
                   "--n-factors", str(FACTORS), "--l2", str(l2), "--no-biases", "--max-iter", str(count), "--tol", "0",
                   "--threads", "1", "--quiet", "--out", out]
        subprocess.run(["rm", "-rf", out], check=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    seconds = pass_seconds(fit, long)
    fit(passes)
    model, about = tensors(out / "model.safetensors")
    user_rows, item_rows = places(model, "user", users), places(model, "item", items)

    def predict(u, i):
        u, i = user_rows[u], item_rows[i]
        product = np.einsum("ij,ij->i", model["user_factors"][u], model["item_factors"][i])
        if "user_biases" in model:
            product = product + about["mean"] + model["user_biases"][u] + model["item_biases"][i]
        return np.where((u < 0) | (i < 0), np.nan, product)

    return seconds, predict


def libmf(data, name):
    from libmf import mf
    _, _, _, passes, l2, long = SIZES[name]
    users, items, values = ratings(data / "train.bin")
    x = np.column_stack([users, items, values]).astype(np.float32)
    del users, items, values

    def fitted(count):
        model = mf.MF(k=FACTORS, nr_iters=count, nr_threads=1, lambda_p1=0, lambda_q1=0, lambda_p2=l2, lambda_q2=l2,
                      eta=0.1, quiet=True)
        model.fit(x)
        return model

    def fit(count):
        begin = time.process_time()
        fitted(count)
        return time.process_time() - begin

    seconds = pass_seconds(fit, long)
    model = fitted(passes)
    p, q = model.p_factors(), model.q_factors()

    def predict(u, i):
        fine = (u < len(p)) & (i < len(q))
        product = np.full(len(u), np.nan)
        # Rows without ratings are no numbers.
        product[fine] = np.einsum("ij,ij->i", p[u[fine]], q[i[fine]])
        return product

    return seconds, predict


def sgd(name, folder, repeat):
    data = generate(name, folder)
    held_out = ratings(data / "held_out.bin")
    trained_on = (data / "train.bin").stat().st_size // RATING_BYTES
    passes, l2 = SIZES[name][3:5]
    print(f"{name}: {SIZES[name][2]:,} ratings, a tenth held out; {FACTORS} factors, l2 {l2}, one thread")
    rates = {"libmf": [], "meanwhile": []}
    for turn in range(repeat):
        out = folder / f"run-{name}-{turn}"
        for program, run in (("libmf", lambda: libmf(data, name)), ("meanwhile", lambda: meanwhile(data, name, out))):
            seconds, predict = run()
            rates[program].append(trained_on / seconds)
            print(f"  {program:10} a pass {seconds:7.3f} s  {rates[program][-1] / 1e6:6.1f} M ratings/s"
                  f"  after {passes} passes: held-out RMSE {rmse(held_out, predict):.4f}", flush=True)
    print(f"  ratio of ratings a second, medians: {np.median(rates['meanwhile']) / np.median(rates['libmf']):.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench-factorize")
    args = parser.parse_args()
    for name in args.only:
        sgd(name, args.folder, args.repeat)


if __name__ == "__main__":
    sys.exit(main())
