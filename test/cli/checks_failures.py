"""Ranks that are killed, that fall silent, that see what is wrong when the others do not."""

import os
import pathlib
import signal
import time

from checks_training import wait_for_rounds
from harness import expect, expect_equal, libsvm_text, messages

ROUNDS = 3000
# Some seconds of short rounds, with a checkpoint after each. There are more columns than rows, so
# that without a penalty the loss falls for ever: all rounds run.
LONG = (f"train logistic rows.libsvm --solver sgd --l2 0 --tol 0 --max-iter {ROUNDS} --shards 6 "
        "--checkpoint-seconds 0 --threads 1 --quiet")


def rank_of(pid):
    """The rank of a process, None when it is no rank."""
    try:
        environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    for entry in environment:
        if entry.startswith(b"OMPI_COMM_WORLD_RANK="):
            return int(entry.partition(b"=")[2])
    return None


def ranks_of(process):
    """Process ids of the ranks that this mpirun started, in order."""
    children = []
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        children += [int(pid) for pid in (task / "children").read_text().split()]
    found = {rank_of(pid): pid for pid in children}
    return [found[rank] for rank in sorted(rank for rank in found if rank is not None)]


def is_running(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def expect_gone(pids):
    deadline = time.monotonic() + 60
    try:
        while any(is_running(pid) for pid in pids):
            expect(time.monotonic() < deadline, "ranks are still there after a minute")
            time.sleep(0.01)
    finally:
        for pid in pids:
            if is_running(pid) and rank_of(pid) is not None:
                os.kill(pid, signal.SIGKILL)


def signalled(box, run, number, to, flags=""):
    """Starts three ranks, sends a signal to one of them (or "mpirun") in the middle of the rounds, and
    waits for the end of all. Returns exit code and standard error."""
    process = box.start(f"{LONG} {flags} --out {run}".split(), ranks=3)
    pids = []
    try:
        wait_for_rounds(box, run, 10, process)
        pids = ranks_of(process)
        expect(len(pids) == 3, pids)
        os.kill(process.pid if to == "mpirun" else pids[to], number)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        expect_gone(pids)
    return process.returncode, said


def long_data(box):
    (box / "rows.libsvm").write_text(libsvm_text(3000, 4000, 20))


def whole_model(box):
    long_data(box)
    whole = box.json(f"{LONG} --checkpoint-seconds 100 --out whole")
    expect(whole["rounds"] == ROUNDS, whole["stopped_because"])
    return whole["model_sha256"]


def expect_resumable(box, run, ranks, model):
    expect(10 <= len(box.rounds(run)) < ROUNDS, f"{len(box.rounds(run))} rounds: not the middle")
    result = box.json(f"train logistic rows.libsvm --resume {run} --threads 1 --quiet "
                      "--checkpoint-seconds 100", ranks=ranks)
    expect(box.rounds(run) == list(range(1, ROUNDS + 1)), "rounds missing or twice")
    expect(box.record(run)["status"] == "done", box.record(run))
    expect_equal({"whole": model, run: result["model_sha256"]})


def check_a_killed_rank_ends_all_and_the_run_goes_on_elsewhere(box):
    model = whole_model(box)
    # The one that writes the run directory, and one that does not.
    for rank, resumed_on in ((0, 2), (2, 0)):
        code, _ = signalled(box, f"run-{rank}", signal.SIGKILL, rank)
        expect(code not in (0, None), code)
        expect_resumable(box, f"run-{rank}", resumed_on, model)


def check_a_silent_rank_is_named_by_the_others(box):
    model = whole_model(box)
    code, said = signalled(box, "run", signal.SIGSTOP, 1, "--timeout 2")
    expect(code == 1, (code, said))
    expect(len(messages(said)) == 1, said)
    for part in ("logistic round", "allreduce of", "worker 1: silent for 2 s"):
        expect(part in messages(said)[0], f"lacks {part!r}: {said}")
    record = box.record("run")
    expect(record["status"] == "failed" and "silent for 2 s" in record["error"], record)
    expect_resumable(box, "run", 2, model)


def check_silence_of_the_first_rank_is_told_by_another(box):
    long_data(box)
    code, said = signalled(box, "run", signal.SIGSTOP, 0, "--timeout 2")
    expect(code == 1, (code, said))
    expect(any("worker 0: silent for 2 s" in line for line in messages(said)), said)


def check_an_interrupted_mpirun_leaves_a_run_to_go_on_with(box):
    # mpirun ends with a code of its own. It passes the signal on as SIGTERM, and kills who is still
    # there a second later: shorter rounds end in a checkpoint, longer ones go on from the last.
    model = whole_model(box)
    for number, resumed_on in ((signal.SIGTERM, 2), (signal.SIGINT, 0)):
        run = number.name
        code, said = signalled(box, run, number, "mpirun")
        expect(code not in (0, None), (code, said))
        expect_resumable(box, run, resumed_on, model)


def check_a_signal_to_one_rank_interrupts_all(box):
    model = whole_model(box)
    code, said = signalled(box, "run", signal.SIGTERM, 1)
    expect(code == 130, (code, said))
    expect(box.record("run")["status"] == "interrupted", box.record("run"))
    expect_resumable(box, "run", 2, model)


def check_what_one_rank_finds_is_said_once_as_one_process_says_it(box):
    lines = libsvm_text(600, 40, 5).splitlines(keepends=True)
    wrong = {"a word": "1 3:x\n", "a label": "one 3:1\n", "an order": "1 9:1 4:1\n"}
    for name, line in wrong.items():
        (box / "rows.libsvm").write_text("".join(lines[:590] + [line] + lines[590:]))
        alone = box.run("train svm rows.libsvm --out run", code=2).stderr
        expect("line 591" in alone, alone)
        for ranks in (2, 5):
            said = box.run("train svm rows.libsvm --threads 1 --out run", code=2, ranks=ranks).stderr
            expect(messages(said) == messages(alone), f"{name}: {said}\ninstead of\n{alone}")
        expect(not (box / "run").exists(), "a run directory without a run")


def check_of_two_mistakes_the_first_in_the_file_is_said(box):
    lines = libsvm_text(600, 40, 5).splitlines(keepends=True)
    lines[50], lines[550] = "1 3:x\n", "1 4:y\n"
    (box / "rows.libsvm").write_text("".join(lines))
    alone = box.run("train svm rows.libsvm", code=2).stderr
    expect("line 51" in alone, alone)
    said = box.run("train svm rows.libsvm --threads 1", code=2, ranks=3).stderr
    expect(messages(said) == messages(alone), said)


def check_a_file_that_one_rank_lacks_is_named(box):
    (box / "rows.libsvm").write_text(libsvm_text(60, 40, 5))
    (box / "elsewhere").mkdir()
    script = box / "start.sh"
    script.write_text('#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 0 ] || cd elsewhere\n'
                      f'exec {box.program} "$@"\n')
    script.chmod(0o755)
    box.program = str(script)
    said = box.run("train svm rows.libsvm", code=2, ranks=2).stderr
    expect(len(messages(said)) == 1 and "rows.libsvm: no such file" in said, said)
