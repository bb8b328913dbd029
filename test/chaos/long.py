#!/usr/bin/env python3
"""All tests of this folder, and simulated jobs, again and again with other seeds:

    test/chaos/long.py BUILD [--minutes 60] [--seed N]

BUILD holds the programs. What goes wrong is told with the seed that repeats it, and the rest goes on. The summary at the
end counts what was done and what was found.
"""

import argparse
import collections
import pathlib
import random
import subprocess
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from counts import said  # noqa: E402
import flips  # noqa: E402
import training  # noqa: E402
import workers  # noqa: E402

ONCE_SECONDS = 900  # after which a part has failed
SEEDS = 2000  # simulated at a time


def simulate(program, seed, counts):
    """Simulated jobs on seeds of their own."""
    first = seed * SEEDS
    done = subprocess.run([program, "--seeds", f"{first}..{first + SEEDS - 1}"], capture_output=True, text=True,
                          timeout=ONCE_SECONDS, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stdout[-2000:] + done.stderr[-2000:])
    counts["simulated jobs"] += SEEDS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000)
    asked = parser.parse_args()
    build = asked.build.resolve()
    program = str(build / "meanwhile")
    memory_program, table_program = str(build / "test/memory_program"), str(build / "test/table_program")
    begin, counts, findings, seed = time.monotonic(), collections.Counter(), 0, asked.seed
    parts = {
        "workers.py": lambda draw, deadline: workers.run(program, memory_program, table_program, draw, 100, 50, 30,
                                                         deadline, counts),
        "training.py": lambda draw, deadline: training.run(program, draw, 60, deadline, counts),
        "flips.py": lambda draw, deadline: flips.run(program, draw, 300, deadline, counts),
        "simulate": lambda draw, deadline: simulate(str(build / "test/simulate"), seed, counts),
    }
    while time.monotonic() - begin < 60 * asked.minutes:
        for name, run in parts.items():
            try:
                run(random.Random(seed), time.monotonic() + ONCE_SECONDS)
            except Exception:  # a finding, of whatever kind: the night goes on
                findings += 1
                print(f"FOUND by {name} --seed {seed}:\n{traceback.format_exc()}", flush=True)
        seed += 1
        print(f"{(time.monotonic() - begin) / 60:.0f} min: {said(counts)}; {findings} findings", flush=True)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
