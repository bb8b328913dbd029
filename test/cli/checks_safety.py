"""Nothing damaged is believed: files that were changed, cut, or written by two at once; ranks that disagree."""

import json
import os
import pathlib
import random
import signal
import subprocess

from checks_training import wait_for_rounds
from harness import MPIRUN, csv_text, expect, libsvm_text, messages, points, write_npy

# A run that is there until it is stopped: with more columns than rows and no penalty the loss falls for ever.
ENDLESS = "train logistic rows.libsvm --solver sgd --l2 0 --tol 0 --max-iter 1000000 --shards 4"


def endless_data(box):
    (box / "rows.libsvm").write_text(libsvm_text(2000, 4000, 20))


def flip(path, byte, bit):
    data = bytearray(path.read_bytes())
    data[byte] ^= 1 << bit
    path.write_bytes(data)


def small_run(box, flags=""):
    (box / "x.csv").write_text(csv_text(points(300, 3, blobs=4), 3))
    return box.json(f"train kmeans x.csv --n-clusters 4 --out run --quiet {flags}")


def check_a_model_with_a_wrong_bit_is_refused_by_every_command(box):
    small_run(box)
    model = box / "run/model.safetensors"
    whole = model.read_bytes()
    draw = random.Random(1)
    places = [len(whole) - 5, whole.index(b'"seal"') + 2, whole.index(b'"version"') + 12, whole.index(b'"seal"') + 20,
              *(draw.randrange(len(whole)) for _ in range(12))]
    for byte in places:
        flip(model, byte, draw.randrange(8))
        box.run("predict run x.csv", code=2, errors="replace")
        box.run("evaluate run/model.safetensors x.csv", code=2, errors="replace")
        model.write_bytes(whole)
    flip(model, len(whole) - 5, 6)
    for command in ("predict run x.csv", "transform run x.csv", "evaluate run x.csv", "inspect run/model.safetensors",
                    "inspect run --check", "train kmeans x.csv --resume run --max-iter 400",
                    "train kmeans x.csv --init run"):
        said = box.run(command, code=2).stderr
        expect("run/model.safetensors: is damaged" in said, said)
    said = box.run("predict run x.csv --unsealed").stderr
    expect("note: run/model.safetensors is damaged" in said, said)


def check_a_damaged_record_of_a_run_is_refused(box):
    small_run(box)
    record = box / "run/run.json"
    record.write_text(record.read_text().replace('"seed": 0', '"seed": 2'))
    for command in ("train kmeans x.csv --resume run --max-iter 400", "predict run x.csv", "inspect run"):
        said = box.run(command, code=2).stderr
        expect("run.json: is damaged" in said and "--unsealed" in said, said)


def check_a_damaged_checkpoint_is_passed_over(box):
    endless_data(box)
    process = box.start(f"{ENDLESS} --checkpoint-seconds 0 --out run".split())
    wait_for_rounds(box, "run", 5, process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    newest = sorted((box / "run/checkpoints").glob("*.safetensors"))[-1]
    flip(newest, newest.stat().st_size - 9, 3)
    rounds = box.record("run")["rounds"] + 3
    whole = box.json(f"{ENDLESS} --max-iter {rounds} --out whole --quiet")
    done = box.run(f"train logistic rows.libsvm --resume run --max-iter {rounds} --json")
    expect(f"{newest.name}: is damaged" in done.stderr and "the state before it" in done.stderr, done.stderr)
    expect(json.loads(done.stdout)["model_sha256"] == whole["model_sha256"], "another model")


def check_converted_data_with_a_wrong_bit_is_refused_when_checked(box):
    write_npy(box / "small.npy", points(100, 3), 100, 3)
    write_npy(box / "large.npy", points(60000, 8), 60000, 8)
    for name in ("small", "large"):
        out = box / f"{name}.safetensors"
        box.run(f"convert {name}.npy {out.name}")
        box.run(f"inspect {out.name} --check")
        whole = out.read_bytes()
        flip(out, len(whole) - 3, 0)
        said = box.run(f"inspect {out.name} --check", code=2).stderr
        expect(f"{out.name}: is damaged" in said, said)
        # Large data is mapped and checked on request alone; but a seal cannot get lost.
        box.run(f"train kmeans {out.name} --max-iter 1", code=2 if name == "small" else 0)
        out.write_bytes(whole)
        flip(out, whole.index(b'"seal"') + 2, 0)
        said = box.run(f"train kmeans {out.name} --max-iter 1", code=2).stderr
        expect("lost its seal" in said, said)
        box.run(f"train kmeans {out.name} --max-iter 1 --unsealed")


def check_what_a_kill_before_the_record_leaves_is_complete(box):
    for flags in ("--max-iter 5 --tol 0", "--max-iter 5 --tol 0 --n-init 3", "--max-iter 5 --tol 0 --batch-size 50", ""):
        expected = small_run(box, f"--init random {flags}")
        record = json.loads((box / "run/run.json").read_text())
        for key in ("finished", "model_sha256", "rounds", "rounds_left", "stopped_because"):
            record.pop(key)
        record["status"] = "running"
        (box / "run/run.json").write_text(json.dumps(record))
        again = box.json("train kmeans x.csv --resume run --unsealed --quiet")
        expect(again["model_sha256"] == expected["model_sha256"], (flags, again))
        record = box.record("run")
        expect(record["status"] == "done" and record["rounds"] == expected["rounds"], record)


def check_ranks_that_were_given_different_flags_say_so(box):
    (box / "rows.libsvm").write_text(libsvm_text(200, 30, 5))
    train = "train logistic rows.libsvm --max-iter 5 --tol 0 --quiet --threads 1"
    for name, first, second in (("--l2", "--l2 0.0001", "--l2 1"), ("--seed", "--seed 1", "--seed 2"),
                                ("--shards", "--shards 4", "--shards 5"), ("--max-iter", "", "--max-iter 6"),
                                ("--solver", "--solver lbfgs", "--solver sgd"), ("--out", "--out a", "--out b"),
                                ("--exchange", "--exchange tree", "")):
        out = "" if name == "--out" else "--out e"
        words = [*MPIRUN, "1", box.program, *f"{train} {out} {first}".split(), ":", "-n", "1", box.program,
                 *f"{train} {out} {second}".split()]
        done = subprocess.run(words, cwd=box.path, capture_output=True, text=True, timeout=120,
                              env=box.at_home_here({})["env"])
        expect(done.returncode == 2, (name, done.returncode, done.stderr))
        said = messages(done.stderr)
        expect(len(said) == 1 and f"{name} is " in said[0] and "worker 1" in said[0], done.stderr)
        expect(not (box / "e").exists(), "a run directory without a run")


def check_two_runs_do_not_write_one_directory(box):
    endless_data(box)
    train = f"{ENDLESS} --out run"
    process = box.start(f"{train} --checkpoint-seconds 0".split())
    try:
        wait_for_rounds(box, "run", 3, process)
        for command in (train, "train logistic rows.libsvm --resume run"):
            said = box.run(command, code=2).stderr
            expect(f"is being written by process {process.pid} on " in said, said)
        expect(process.poll() is None, "the first run has ended")
    finally:
        process.kill()
        process.communicate(timeout=60)
    # The system has unlocked what the killed process held.
    expect((box / "run/lock").exists(), "the killed process left its lock")
    box.run(f"train logistic rows.libsvm --resume run --max-iter {len(box.rounds('run')) + 2} --quiet")
    expect(not (box / "run/lock").exists(), "the lock is still there")


def check_a_resume_that_fails_leaves_the_run_as_it_was(box):
    (box / "rows.csv").write_text("1,2,0\n2,1,1\n3,1,1\n0,4,0\n1,3,0\n3,0,1\n")
    (box / "without.csv").write_text("1,2\n3,4\n")
    box.run("train logistic rows.csv --label-column -1 --out run --quiet")
    before = {path.name: path.read_bytes() for path in (box / "run").iterdir()}
    said = box.run("train logistic without.csv --resume run", code=2).stderr
    expect("no labels" in said, said)
    after = {path.name: path.read_bytes() for path in (box / "run").iterdir()}
    expect(before == after, f"changed: {[name for name in after if after[name] != before.get(name)]}")


def check_what_is_left_of_a_run_that_never_began_is_taken_over(box):
    (box / "x.csv").write_text("1,2\n3,4\n5,6\n")
    (box / "run").mkdir()
    (box / "run/run.json.partial").write_text("{")
    box.run("train kmeans x.csv --n-clusters 2 --out run --quiet")
    left = sorted(path.name for path in (box / "run").iterdir())
    expect(left == ["metrics.jsonl", "model.safetensors", "run.json", "trace.json"], left)


def check_a_file_that_is_read_is_not_written(box):
    small_run(box)
    (box / "words.txt").write_text("a\nb\nc\n")
    (box / "parts").mkdir()
    (box / "parts/x.csv").write_text((box / "x.csv").read_text())
    os.link(box / "x.csv", box / "same.csv")
    kept = (box / "x.csv").read_text()
    for command in ("predict run x.csv --out x.csv", "predict run x.csv --out same.csv", "predict run x.csv --out ./x.csv",
                    "transform run x.csv --out x.csv", "predict run parts --out parts/x.csv",
                    "predict run x.csv --vocabulary words.txt --out words.txt",
                    "plan kmeans x.csv --svg x.csv"):
        said = box.run(command, code=2).stderr
        expect("cannot be both read and written" in said, said)
        expect((box / "x.csv").read_text() == kept and (box / "parts/x.csv").read_text() == kept, command)
    box.run("predict run x.csv --out labels.csv")
    box.run("predict run x.csv --out labels.csv")  # its own result may be replaced


def check_a_mapped_file_that_is_cut_while_it_is_in_use_is_named(box):
    endless_data(box)
    box.run("convert rows.libsvm long.safetensors")
    process = box.start(f"{ENDLESS} --out run --quiet".replace("rows.libsvm", "long.safetensors").split())
    try:
        wait_for_rounds(box, "run", 2, process)
        os.truncate(box / "long.safetensors", 4096)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    expect(process.returncode == 2, (process.returncode, said))
    expect(len(messages(said)) == 1 and "long.safetensors: was cut short" in said, said)


def check_failures_that_are_not_the_users_say_what_failed(box):
    write_npy(box / "long.npy", points(4000, 8), 4000, 8)
    endless_data(box)
    process = box.start(f"{ENDLESS} --out run --quiet".split())
    try:
        wait_for_rounds(box, "run", 3, process)
        os.rename(box / "run", box / "elsewhere")
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    expect(process.returncode == 1 and "run" in said and "No such file" in said, (process.returncode, said))
    said = box.run("train kmeans long.npy --shards 1000000000", code=2).stderr
    expect("--shards: found 1000000000" in said, said)
    (box / "wide.libsvm").write_text("1 2147483647:1\n-1 5:1\n")
    said = box.run("train kmeans wide.libsvm --n-clusters 2", code=1,
                   preexec_fn=lambda: limit_memory(8 << 30)).stderr
    expect("out of memory" in said or "allocat" in said.lower(), said)
    expect("kmeans" in said or "2147483647" in said, said)


def limit_memory(limit):
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def check_several_calibrations_of_one_profile_do_not_meet(box):
    flags = "calibrate --quick --seconds 0.01 --threads 1 --learner kmeans --out here.toml"
    processes = [box.start(flags.split()) for _ in range(2)]
    for process in processes:
        _, said = process.communicate(timeout=300)
        expect(process.returncode == 0, said)
    left = sorted(path.name for path in pathlib.Path(box.path).iterdir() if path.name.startswith("here"))
    expect(left == ["here.toml"], left)
