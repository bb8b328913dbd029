#!/usr/bin/env python3
"""Files made by earlier versions of the program mean the same to this one.

    test/compat/check.py PROGRAM     all versions below this folder

For every learner: predict, evaluate and inspect give the same output; a warm start and a resumed run give the same
model, also where the run was interrupted; a converted file is the same data. A model that says it is of a format
nobody knows is refused.
"""

import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

from cases import ALWAYS, CASES, DATA, stable

HERE = pathlib.Path(__file__).resolve().parent
# Earlier versions knew no other deal, and had no flag for it.
BLOCKS = "--deal blocks"


class Checker:
    def __init__(self, program, folder):
        self.program, self.folder, self.failures, self.checks = program, folder, [], 0

    def run(self, command, code=0):
        done = subprocess.run([self.program, *command.split()], cwd=self.folder, capture_output=True, text=True,
                              timeout=300)
        if done.returncode != code:
            self.failures.append(f"{command}: exit {done.returncode}, expected {code}\n{done.stderr}")
        return done

    def json(self, command):
        output = self.run(f"{command} --json").stdout
        return json.loads(output) if output else {}

    def same(self, what, found, expected):
        self.checks += 1
        if not equal(found, expected):
            self.failures.append(f"{what}:\n  expected {shown(expected)}\n  found    {shown(found)}")


def shown(value):
    return json.dumps(value)[:2000]


def equal(found, expected):
    """Equal to the bit; a table may have gained keys since."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(key in found and equal(found[key], value)
                                               for key, value in expected.items())
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(equal, found, expected))
    if isinstance(expected, float) and isinstance(found, (int, float)):
        return found == expected or (math.isnan(found) and math.isnan(expected))
    return found == expected


def check_case(checker, version, name):
    learner, data, more, reading, short, longer, slow = CASES[name]
    at = f"{version}/{name}"
    expected = json.loads((checker.folder / at / "expected.json").read_text())

    def model(what, command):
        hash_found = checker.json(f"{command} --quiet").get("model_sha256")
        checker.same(f"{at}: {what}", hash_found, expected[what])

    model("model", f"train {learner} {data} {reading} {ALWAYS} {BLOCKS} {short} --out out/model")
    model("resumed", f"train {learner} {data} {reading} --resume {at}/run {longer} --out out/on")
    model("uninterrupted", f"train {learner} {data} {reading} --resume {at}/interrupted --out out/whole")
    model("warm_start", f"train {learner} {more} {reading} --resume {at}/run --out out/warm")
    converted = f"{at}/converted.safetensors"
    model("from_converted", f"train {learner} {converted} {ALWAYS} {BLOCKS} {short} --out out/converted")
    checker.run(f"predict {at}/run {more} {reading} --out predicted.txt")
    checker.same(f"{at}: predict", (checker.folder / "predicted.txt").read_text(), expected["predicted"])
    evaluated = checker.json(f"evaluate {at}/run {more} {reading}")
    checker.same(f"{at}: evaluate", evaluated, expected["evaluated"])
    checker.same(f"{at}: inspect of the run", stable(checker.json(f"inspect {at}/run")), expected["inspected_run"])
    inspected = stable(checker.json(f"inspect {at}/run/model.safetensors"))
    # A later version may say more of a model.
    inspected = {key: inspected.get(key) for key in expected["inspected_model"]}
    checker.same(f"{at}: inspect of the model", inspected, expected["inspected_model"])
    check_unknown_format(checker, f"{at}/run/model.safetensors", f"{learner} {data} {reading}", more, reading)
    shutil.rmtree(checker.folder / "out")


def check_unknown_format(checker, model, training, data, reading):
    """A version that is not known is refused wherever a model or a state is read."""
    path = checker.folder / model
    known, unknown = b'"format_version":"1"', b'"format_version":"7"'
    bytes_of = path.read_bytes()
    if known not in bytes_of:
        checker.failures.append(f"{model}: says no format_version")
        return
    path.write_bytes(bytes_of.replace(known, unknown))
    for command in (f"predict {model} {data} {reading} --out no.csv", f"evaluate {model} {data} {reading}",
                    f"inspect {model}", f"train {training} --resume {pathlib.Path(model).parent} --out out/no"):
        said = checker.run(command, code=2).stderr
        checker.same(f"{command}: names the format", "format_version 7" in said, True)
    path.write_bytes(bytes_of)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = str(pathlib.Path(sys.argv[1]).resolve())
    versions = sorted(path.name for path in HERE.iterdir() if (path / "kmeans" / "expected.json").exists())
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        for name, text in DATA.items():
            (folder / name).write_text(text)
        checker = Checker(program, folder)
        for version in versions:
            shutil.copytree(HERE / version, folder / version)
            for name in CASES:
                check_case(checker, version, name)
    for failure in checker.failures:
        print(f"FAILED {failure}")
    failed = len(checker.failures)
    print(f"{max(0, checker.checks - failed)} passed, {failed} failed")
    sys.exit(1 if failed or not checker.checks or not versions else 0)


main()
