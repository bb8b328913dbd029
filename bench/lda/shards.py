"""Does the number of shards move the quality of topics? Held-out perplexity after 1, 5 and 10 passes, for 2 to 64 shards.

One run of ten passes gives all three: the program measures held-out documents (document completion, doc/lda.md) after
each pass, and what it does in a pass does not depend on how many follow. Prints a table, with the spread over shards,
and over seeds at 8 shards. MEANWHILE names the program; several, separated by commas, are compared.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import corpora

SHARDS = (2, 4, 8, 16, 32, 64)
AFTER = (1, 5, 10)  # passes
OF_SEEDS = 8  # shards of the runs with other seeds


def run(program, folder, data, topics, shards, seed, flags):
    """Held-out perplexity after each pass, from the first on."""
    out = pathlib.Path(folder) / "run"
    shutil.rmtree(out, ignore_errors=True)
    train, held = corpora.files(data)
    command = [program, "train", "lda", train, "--eval", held, "--n-topics", topics, "--passes", AFTER[-1], "--tol", 0,
               "--shards", shards, "--seed", seed, "--out", out, "--quiet", *flags]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    measured = [json.loads(line) for line in open(out / "metrics.jsonl")]
    return [line["held_out_perplexity"] for line in measured if "held_out_perplexity" in line]


def spread(values):
    return f"{100 * (max(values) / min(values) - 1):.1f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--real", type=pathlib.Path, default=pathlib.Path(os.environ.get("MEANWHILE_DATA", "../shared/data")),
                        help="folder with nips and imdb-reviews; without it these are left out")
    parser.add_argument("--only", default="", help="corpora whose name contains this: nips, imdb, generated")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3, help="seeds, at 8 shards")
    parser.add_argument("--flags", default="", help="given to every run")
    parser.add_argument("--out", type=pathlib.Path, default=corpora.CACHE / "shards.jsonl", help="all runs, as JSON lines")
    arguments = parser.parse_args()
    programs = os.environ.get("MEANWHILE", "build/release/meanwhile").split(",")
    corpora.CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, open(arguments.out, "a") as log:
        def curve(program, data, shards, seed):
            perplexities = run(program, folder, data, arguments.topics, shards, seed, arguments.flags.split())
            print(json.dumps(dict(program=program, corpus=data, shards=shards, seed=seed, perplexity=perplexities)), file=log, flush=True)
            return perplexities

        for data in ("nips", "imdb", "generated"):
            if arguments.only not in data or not corpora.made(arguments.real, data):
                continue
            for program in programs:
                by_shards = {shards: curve(program, data, shards, 1) for shards in SHARDS}
                by_seed = [by_shards[OF_SEEDS]] + [curve(program, data, OF_SEEDS, seed) for seed in range(2, arguments.seeds + 1)]
                print(f"\n{data}, {program}\n\n| passes | " + " | ".join(f"S = {s}" for s in SHARDS) + " | over S | over seeds |")
                print("|---" * (len(SHARDS) + 3) + "|")
                for passes in AFTER:
                    row = [by_shards[s][passes - 1] for s in SHARDS]
                    print(f"| {passes} | " + " | ".join(f"{value:,.0f}" for value in row) + f" | {spread(row)} | "
                          f"{spread([c[passes - 1] for c in by_seed])} |", flush=True)


if __name__ == "__main__":
    main()
