"""What the tests of this folder share: a command line, and counts of what was done."""

import argparse
import collections
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from harness import Failure  # noqa: E402


def said(counts):
    return ", ".join(f"{value:,} {name}" for name, value in counts.items())


def main(text, programs, run, **aims):
    """Runs `run(*programs, draw, *aims, deadline, counts)` once, with the aims that the command line may change."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for program in programs:
        parser.add_argument(program)
    for name, value in aims.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value, help=f"default {value}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=360, help="after which it has failed; default 360")
    asked = vars(parser.parse_args())
    begin, counts = time.monotonic(), collections.Counter()
    try:
        run(*(str(pathlib.Path(asked[program]).resolve()) for program in programs), random.Random(asked["seed"]),
            *(asked[name] for name in aims), begin + asked["seconds"], counts)
    except Failure as failure:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: seed {asked['seed']}: {failure}")
    print(f"{said(counts)} in {time.monotonic() - begin:.0f} s")
