#!/usr/bin/env python3
"""Makes the files of one version of the program, for check.py of all later versions.

    test/compat/make.py PROGRAM FOLDER     writes FOLDER, such as test/compat/0.1.0, which must not exist

Whoever changes a file format raises its version, and runs this with the program of before the change. What is
there already is never made again: these files stand for those that users have.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cases import ALWAYS, CASES, DATA, stable

if len(sys.argv) != 3:
    sys.exit(__doc__)
# By its name alone: run.json keeps the command as it was typed.
PROGRAM = pathlib.Path(sys.argv[1]).name
os.environ["PATH"] = f"{pathlib.Path(sys.argv[1]).resolve().parent}:{os.environ['PATH']}"
TARGET = pathlib.Path(sys.argv[2]).resolve()


def run(folder, command):
    done = subprocess.run([PROGRAM, *command.split()], cwd=folder, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{command}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def hash_of(folder, command):
    return json.loads(run(folder, f"{command} --json --quiet"))["model_sha256"]


def interrupt(folder, command, out):
    """Runs `command` and interrupts it in the middle."""
    for lines in (40, 20, 10, 5, 3, 2):
        shutil.rmtree(folder / out, ignore_errors=True)
        process = subprocess.Popen([PROGRAM, *command.split(), "--out", out, "--quiet"], cwd=folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        metrics = folder / out / "metrics.jsonl"
        while process.poll() is None and not (metrics.exists() and metrics.read_text().count("\n") >= lines):
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        if process.wait(timeout=60) == 130:
            return
    sys.exit(f"{command}: was always done before it could be interrupted")


def make(folder, name):
    learner, data, more, reading, short, longer, slow = CASES[name]
    train = f"train {learner} {data} {reading} {ALWAYS}"
    expected = {"model": hash_of(folder, f"{train} {short} --out {name}/run")}
    interrupt(folder, f"{train} {slow} --checkpoint-seconds 0", f"{name}/interrupted")
    expected["uninterrupted"] = hash_of(folder, f"{train} {slow} --out whole")
    expected["resumed"] = hash_of(folder, f"train {learner} {data} {reading} --resume {name}/run {longer} --out on")
    expected["warm_start"] = hash_of(folder, f"train {learner} {more} {reading} --resume {name}/run --out warm")
    run(folder, f"predict {name}/run {more} {reading} --out predicted.txt")
    expected["predicted"] = (folder / "predicted.txt").read_text()
    expected["evaluated"] = json.loads(run(folder, f"evaluate {name}/run {more} {reading} --json"))
    expected["inspected_run"] = stable(json.loads(run(folder, f"inspect {name}/run --json")))
    model = f"{name}/run/model.safetensors"
    expected["inspected_model"] = stable(json.loads(run(folder, f"inspect {model} --json")))
    converted = f"{name}/converted.safetensors"
    run(folder, f"convert {data} {converted} {reading}")
    expected["from_converted"] = hash_of(folder, f"train {learner} {converted} {ALWAYS} {short} --out converted")
    (folder / name / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    for kind in ("run", "interrupted"):
        (folder / name / kind / "trace.json").unlink(missing_ok=True)
        # All but the newest checkpoint: nothing reads the others.
        for old in sorted((folder / name / kind / "checkpoints").glob("*"))[:-1]:
            old.unlink()


def main():
    if TARGET.exists():
        sys.exit(f"{TARGET} exists: what is there stands for files that users have, and is never made again")
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        for name, text in DATA.items():
            (folder / name).write_text(text)
        for name in CASES:
            make(folder, name)
        TARGET.mkdir()
        for name in CASES:
            shutil.copytree(folder / name, TARGET / name)
    print(f"{len(CASES)} cases in {TARGET}")


main()
