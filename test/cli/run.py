#!/usr/bin/env python3
"""Tests of the command line.

    test/cli/run.py PROGRAM [WORD...]     only tests whose name holds one of the words

As many run at once as there are cores, each in a folder of its own.
The cases in *.toml are data: files, a command, what it must print, how it must end; with `ranks`,
under mpirun. The functions check_* in checks_*.py are for what takes several steps.
"""

import importlib
import multiprocessing
import os
import pathlib
import shlex
import sys
import time
import tomllib
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import harness  # noqa: E402


def run_case(program, shared, case):
    known = {"name", "command", "exit", "stdin", "files", "stdout", "stderr", "present", "absent",
             "stdout_empty", "stderr_empty", "ranks"}
    harness.expect(case.keys() <= known, f"unknown keys {case.keys() - known}")
    with harness.Sandbox(program) as box:
        for name, text in {**shared, **case.get("files", {})}.items():
            (box / name).parent.mkdir(parents=True, exist_ok=True)
            (box / name).write_text(text)
        commands = case["command"]
        commands = [commands] if isinstance(commands, str) else commands
        for command in commands[:-1]:
            box.run(shlex.split(command))
        done = box.run(shlex.split(commands[-1]), code=case.get("exit", 0),
                       input=case.get("stdin", ""), ranks=case.get("ranks", 0))
        for stream, text in (("stdout", done.stdout), ("stderr", done.stderr)):
            for part in case.get(stream, []):
                harness.expect(part in text, f"{stream} lacks {part!r}:\n{text}")
            if case.get(stream + "_empty"):
                harness.expect(text == "", f"{stream} is not empty:\n{text}")
        for name in case.get("present", []):
            harness.expect((box / name).exists(), f"{name} is missing")
        for name in case.get("absent", []):
            harness.expect(not (box / name).exists(), f"{name} was written")
        if case.get("exit", 0) not in (0, 3):  # 3: a run that did not converge, which is no error
            harness.expect(case.get("ranks") or done.stderr.startswith("meanwhile: "),
                           f"the message is not the first line:\n{done.stderr}")
            said = harness.messages(done.stderr)
            harness.expect(len(said) == 1, f"{len(said)} messages, expected one:\n{done.stderr}")
            harness.expect("terminate called" not in done.stderr, f"a crash:\n{done.stderr}")


def tests(program):
    """(name, function) of every test."""
    for path in sorted(HERE.glob("*.toml")):
        table = tomllib.loads(path.read_text())
        for case in table["case"]:
            shared = table.get("files", {})
            yield (f"{path.stem}: {case['name']}",
                   lambda shared=shared, case=case: run_case(program, shared, case))
    for path in sorted(HERE.glob("checks_*.py")):
        module = importlib.import_module(path.stem)
        for name, check in list(vars(module).items()):
            if name.startswith("check_"):
                def run(check=check):
                    with harness.Sandbox(program) as box:
                        check(box)
                yield f"{path.stem}: {name.removeprefix('check_').replace('_', ' ')}", run


chosen = []  # (name, function) of the tests to run: forked processes find it here


def outcome(number):
    """Whether the test passed, and what to print about it."""
    name, run = chosen[number]
    begin = time.monotonic()
    try:
        run()
    except harness.Failure as failure:
        return False, f"FAILED {name}\n  {failure}"
    except Exception:
        return False, f"FAILED {name}\n{traceback.format_exc()}"
    seconds = time.monotonic() - begin
    return True, f"{name}: {seconds:.0f} s" if seconds > 5 else ""


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, words = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:]
    chosen.extend((name, run) for name, run in tests(program)
                  if not words or any(word in name for word in words))
    passed = 0
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        for good, said in pool.imap(outcome, range(len(chosen))):
            passed += good
            if said:
                print(said, flush=True)
    print(f"{passed} passed, {len(chosen) - passed} failed")
    sys.exit(1 if passed < len(chosen) or not passed else 0)


if __name__ == "__main__":
    main()
