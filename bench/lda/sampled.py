#!/usr/bin/env python3
"""Sampled topics beside tomotopy: tokens a second, and time to the same joint log-likelihood.

    bench/lda/lda.sh --sampled [--topics 1000] [--passes 30] [--threads 2] [--repeat 2]

Both get alpha = 0.1 and eta = 0.01 and keep them. A run of tomotopy of --passes passes sets the likelihood; the time of
ours is that of its first pass with as much, with the rounds that find first topics, without reading. Systems take
turns. One scorer, score() below, computes the likelihood of topics from the topics of all tokens, and must agree with
what each system says of itself: of tomotopy from its documents, of ours from the topics in the memory of a run with one
shard, whose tokens lie in the order of the file.
"""
import argparse
import gzip
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ALPHA, ETA = 0.1, 0.01


def documents_of(path):
    """Word and count of each document of a file of UCI, in order."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        rows, words, _ = (int(file.readline()) for _ in range(3))
        documents = [[] for _ in range(rows)]
        for line in file:
            row, word, count = map(int, line.split())
            documents[row - 1].append((word - 1, count))
    return documents, words


def score(documents, words, topics):
    """log p(words, topics | alpha, eta) a token; `documents`: arrays of (word, topic) of each token."""
    lgamma = numpy.vectorize(math.lgamma)
    total, tokens = 0.0, 0
    counts = numpy.zeros((words, topics))
    for of_words, of_topics in documents:
        here = numpy.bincount(of_topics, minlength=topics)
        here = here[here > 0]
        total += math.lgamma(topics * ALPHA) - math.lgamma(topics * ALPHA + len(of_words))
        total += float(lgamma(here + ALPHA).sum()) - len(here) * math.lgamma(ALPHA)
        numpy.add.at(counts, (of_words, of_topics), 1)
        tokens += len(of_words)
    held = counts[counts > 0]
    total += float(lgamma(held + ETA).sum()) - len(held) * math.lgamma(ETA)
    total += topics * math.lgamma(words * ETA) - float(lgamma(counts.sum(axis=0) + words * ETA).sum())
    return total / tokens


def safetensor(path, name):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    about = json.loads(data[8:8 + size])[name]
    begin, end = (8 + size + at for at in about["data_offsets"])
    return numpy.frombuffer(data[begin:end], {"U16": "<u2", "U32": "<u4"}[about["dtype"]])


def ours(options, passes, out, *flags):
    shutil.rmtree(out, ignore_errors=True)
    words = [options.program, "train", "lda", options.data, "--sampler", "mh", "--n-topics", options.topics, "--passes", passes,
             "--tol", 0, "--alpha", ALPHA, "--eta", ETA, "--no-learn-alpha", "--no-learn-eta", "--threads", options.threads,
             "--out", out, "--quiet", *flags]
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def check_ours(options, documents, words):
    out = options.out / "checked"
    rounds = ours(options, 3, out, "--shards", 1)
    topics = safetensor(next((out / "model.memory").iterdir()), "topics")
    tokens, at = [], 0
    for document in documents:
        of_words = numpy.repeat([word for word, _ in document], [count for _, count in document]) if document else numpy.zeros(0, int)
        tokens.append((of_words, topics[at:at + len(of_words)]))
        at += len(of_words)
    said = [r["log_likelihood"] for r in rounds if "round" in r][-1]
    found = score(tokens, words, options.topics)
    if abs(said - found) > 1e-6:
        sys.exit(f"this program says {said}, its topics score {found}")


def theirs(options, documents, words, seed, check):
    import tomotopy
    model = tomotopy.LDAModel(k=options.topics, alpha=ALPHA, eta=ETA, seed=seed, tw=tomotopy.TermWeight.ONE)
    model.optim_interval = 0
    for document in documents:
        if document:
            model.add_doc([str(word) for word, count in document for _ in range(count)])
    model.train(0)
    begin = time.monotonic()
    model.train(options.passes, workers=options.threads)
    seconds = time.monotonic() - begin
    if check:
        known = len(model.used_vocabs)
        found = score([(numpy.array(d.words), numpy.array(d.topics)) for d in model.docs], known, options.topics)
        # Words that no document has are in ours alone.
        if abs(found - model.ll_per_word) > 1e-3:
            sys.exit(f"tomotopy says {model.ll_per_word}, its topics score {found}")
    return seconds, model.ll_per_word


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--program", default=str(ROOT / "build/release/meanwhile"))
    data = pathlib.Path(os.environ.get("MEANWHILE_DATA", ROOT / "../shared/data"))
    parse.add_argument("--data", type=pathlib.Path, default=data / "nips/docword.nips.txt.gz")
    parse.add_argument("--out", type=pathlib.Path, default=ROOT / "build/bench/lda/sampled")
    for name, preset in (("topics", 1000), ("passes", 30), ("our-passes", 150), ("threads", 2), ("repeat", 1)):
        parse.add_argument(f"--{name}", type=int, default=preset)
    parse.add_argument("--check", action="store_true", help="score the topics of both once")
    options = parse.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    documents, words = documents_of(options.data)
    tokens = sum(count for document in documents for _, count in document)
    print(f"{len(documents)} documents, {tokens} tokens, {options.topics} topics, {options.threads} threads", flush=True)
    if options.check:
        check_ours(options, documents, words)
    speedups = []
    for turn in range(options.repeat):
        seconds, target = theirs(options, documents, words, turn + 1, options.check and turn == 0)
        print(f"tomotopy: {options.passes} passes, {seconds:.2f} s, {tokens * options.passes / seconds / 1e6:.2f} M tokens/s, {target:.4f}", flush=True)
        lines = ours(options, options.our_passes, options.out / "run", "--seed", turn)
        rounds = [line for line in lines if "round" in line]
        prepared = next(line["seconds"] for line in lines if line.get("phase") == "prepare")
        a_pass = statistics.median(r["seconds"] for r in rounds)
        reached = next((r for r in rounds if r["log_likelihood"] >= target), None)
        print(f"meanwhile: first topics {prepared:.2f} s, a pass {a_pass:.4f} s, {tokens / a_pass / 1e6:.1f} M tokens/s, "
              f"after {len(rounds)} passes {rounds[-1]['log_likelihood']:.4f}", flush=True)
        if reached is None:
            print("  the likelihood was not reached", flush=True)
            continue
        speedups.append(seconds / reached["elapsed_s"])
        print(f"  {target:.4f} in pass {reached['round']}, {reached['elapsed_s']:.2f} s: {speedups[-1]:.1f}x", flush=True)
    if speedups:
        print(f"time to the likelihood: median {statistics.median(speedups):.1f}x of {len(speedups)}")


if __name__ == "__main__":
    main()
