#!/usr/bin/env python3
"""Runs the commands of the documents and compares what they print with what the documents show.

    test/docs/run.py PROGRAM [WORD...]            only documents whose path holds one of the words
    test/docs/run.py --update PROGRAM [WORD...]   also writes the real output into the documents

A command is a line that begins with '$ ' in a code block; the lines behind it are its output, if
any is shown; '> ' continues a command. Each document runs in a folder of its own, from top to bottom, with the program on the
PATH, a copy of demo/ and the data of data.py that it names. A worked change in a document is built
first (changes.py). In shown output

    ...            alone on a line stands for any lines, at the end of a line for the rest of it
    ?              alone is replaced by the output with --update

and times, dates, counts of threads, names of jobs and of instruction sets are not compared. Comments:

    <!-- not run: REASON -->     the next block is not run, and the reason is printed
    <!-- run: COMMAND -->        a command that readers need not see

A command must succeed; one whose output shows a line that begins with 'meanwhile: ' must not.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import changes  # noqa: E402
import data  # noqa: E402
import markdown  # noqa: E402

LIMIT = 240  # seconds for a document
MARK = "\x1e"
# Plans are exact: what they print is a function of their flags alone.
CHANGING = [
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?Z?", "DATE"),
    (r"\b\d+(\.\d+)?(e-?\d+)? (us|ms|s|min|h)\b( \d+ (min|s)\b)?", "TIME"),
    (r"\b\d+ threads?\b", "THREADS"),
    (r"\bjob [0-9a-f]{16}\b", "JOB"),  # a hash that the version of the program is in
    (r"\b(avx512_vnni|avx512|avx2|sse4|ssse3|baseline)\b", "INSTRUCTIONS"),
    (r"\b\d+(\.\d+)? (KB|MB|GB|MiB|GiB|kB)/s", "RATE"),
]


def comparable(line, command):
    if not re.match(r"(mpirun .*)?meanwhile plan", command):
        for pattern, name in CHANGING:
            line = re.sub(pattern, name, line)
    return re.sub(r"\s+", " ", line).strip()


def same_line(shown, real, command):
    if shown.endswith(" ..."):
        return comparable(real, command).startswith(comparable(shown[:-4], command))
    return comparable(shown, command) == comparable(real, command)


def fits(shown, real, command):
    """Whether lines are as shown, where '...' stands for any number of lines."""
    reachable = {0}
    for line in shown:
        if line.strip() == "...":
            reachable = set(range(min(reachable), len(real) + 1)) if reachable else set()
        else:
            reachable = {at + 1 for at in reachable if at < len(real) and same_line(line, real[at], command)}
    return len(real) in reachable


def run_all(commands, folder, programs):
    """(exit code, lines) of each command; commands that were not reached have none."""
    shims = folder / ".bin"
    shims.mkdir()
    for name, program in programs.items():
        (shims / name).symlink_to(program)
    if (mpirun := shutil.which("mpirun")) is not None:
        # More ranks than cores, in a container perhaps; messages of MPI itself about that aside.
        (shims / "mpirun").write_text(f"#!/bin/sh\nexec {mpirun} --allow-run-as-root --oversubscribe --bind-to none \"$@\"\n")
        (shims / "mpirun").chmod(0o755)
    script = ["exec 2>&1"]
    for command in commands:
        script += [command.text, f"printf '{MARK}%d\\n' $?"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MEANWHILE", "AZURE"))}
    environment |= {"PATH": f"{shims}:{environment['PATH']}", "HOME": str(folder / ".home"), "LC_ALL": "C.UTF-8",
                    "PYTHONPATH": str(folder / ".python")}
    process = subprocess.Popen(["bash", "-c", "\n".join(script)], cwd=folder, env=environment, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
    try:
        text, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, _ = process.communicate()
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)  # workers that a document left in the background
        except ProcessLookupError:
            pass
    # A part holds the rest of the line with the exit code of the command before, then output.
    results = []
    pieces = text.split(MARK)
    for i in range(len(pieces) - 1):
        output = pieces[i] if i == 0 else pieces[i].partition("\n")[2]
        code = int(pieces[i + 1].partition("\n")[0])
        lines = output.split("\n")
        if lines and lines[-1] == "":
            lines.pop()
        results.append((code, [line.rstrip() for line in lines]))
    return results


def check(path, program, update):
    """(commands run, not run, messages of failure) of a document."""
    name = path.relative_to(markdown.ROOT)
    commands, failures = markdown.commands(path)
    skipped = [f"not run: {name}:{c.line}: {c.text.splitlines()[0]} ({c.not_run})" for c in commands if c.not_run]
    commands = [command for command in commands if not command.not_run]
    if not commands:
        return 0, skipped, failures
    with tempfile.TemporaryDirectory(prefix="meanwhile-docs-") as scratch:
        folder = pathlib.Path(scratch)
        (folder / ".home").mkdir()
        shutil.copytree(markdown.ROOT / "demo", folder / "demo")
        data.make(folder, "\n".join(command.text for command in commands))
        try:
            change = folder / ".change"
            change.mkdir()
            programs = {"meanwhile": program} | changes.build(path, change, program.parent)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            return 0, skipped, [*failures, str(error)]
        results = run_all(commands, folder, programs)
    lines = path.read_text().split("\n")
    for i in reversed(range(len(commands))):
        command = commands[i]
        where = f"{name}:{command.line}: {command.text}"
        if i >= len(results):
            failures.append(f"{where}\n    did not end within {LIMIT} s of the document, or ended the shell")
            continue
        code, real = results[i]
        if update and command.shown == ["?"] and any(line.startswith("meanwhile: ") for line in real):
            command.shown = ["meanwhile: "]  # an error is to be shown
        must_fail = any(line.startswith("meanwhile: ") for line in command.shown)
        if (code != 0) != must_fail:
            failures.append(f"{where}\n    ended with {code}\n    " + "\n    ".join(real[-20:]))
            continue
        if not command.shown or fits(command.shown, real, command.text):
            continue
        if update and ("..." not in [line.strip() for line in command.shown]):
            lines[command.first:command.last] = [(command.indent + cut(line)).rstrip() for line in real]
            print(f"updated: {where}")
        else:
            failures.append(f"{where}\n  shown:\n    " + "\n    ".join(command.shown) +
                            "\n  real:\n    " + "\n    ".join(real))
    if update:
        path.write_text("\n".join(lines))
    return sum(not command.hidden for command in commands), skipped, failures


def cut(line):
    """A line of output as documents show it: of 96 characters at most."""
    if len(line) <= 96 or " " not in line[:92].strip():
        return line
    return line[:92].rpartition(" ")[0] + " ..."


def main():
    arguments = sys.argv[1:]
    update = "--update" in arguments
    arguments = [argument for argument in arguments if argument != "--update"]
    program, words = pathlib.Path(arguments[0]).resolve(), arguments[1:]
    paths = [path for path in markdown.documents()
             if not words or any(word in str(path.relative_to(markdown.ROOT)) for word in words)]
    begin = time.monotonic()
    ran, failed = 0, []
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for count, skipped, failures in pool.map(lambda path: check(path, program, update), paths):
            ran += count
            failed += failures
            print(*skipped, sep="\n", end="\n" if skipped else "")
    for failure in failed:
        print(f"FAILED {failure}", file=sys.stderr)
    print(f"{ran} commands of {len(paths)} documents, {len(failed)} failed, in {time.monotonic() - begin:.0f} s")
    sys.exit(1 if failed or ran == 0 else 0)


if __name__ == "__main__":
    main()
