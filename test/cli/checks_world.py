"""What the world does to a program: full disks, closed pipes, little memory, shells."""

import json
import resource
import shutil
import signal
import subprocess

from harness import expect, points, write_npy

MIB = 1 << 20


def check_json_of_train_has_what_scripts_need(box):
    write_npy(box / "x.npy", points(900, 4), 900, 4)
    done = box.run("train kmeans x.npy --n-clusters 3 --json --seed 5")
    result = json.loads(done.stdout)
    for key in ("learner", "rounds", "stopped_because", "objective", "threads", "workers", "shards", "seconds",
                "peak_rss_bytes", "model_sha256", "out", "simd", "data_sha256", "parameters"):
        expect(key in result, f"{key} is missing: {result}")
    expect({"load", "train"} <= result["seconds"].keys(), result["seconds"])
    expect(result["learner"] == "kmeans" and result["seed"] == 5, result)
    expect(1 * MIB < result["peak_rss_bytes"] < 200 * MIB, result["peak_rss_bytes"])
    expect(len(result["model_sha256"]) == 64, result["model_sha256"])
    record = box.record(result["out"])
    for key in ("command", "machine", "versions", "started", "ended", "status", "data", "runtime"):
        expect(key in record, f"{key} is missing: {record}")
    expect(record["model_sha256"] == result["model_sha256"], "run.json and --json differ")
    expect(record["data"]["rows"] == 900 and record["data"]["paths"] == ["x.npy"], record["data"])
    trace = json.loads((box / result["out"] / "trace.json").read_text())
    expect({"work", "absorb"} <= {e["name"] for e in trace["traceEvents"]}, "trace.json")
    measures = box.json(f"evaluate {result['out']} x.npy")
    # The same rows added in another order.
    expect(abs(measures["inertia"] / result["objective"] - 1) < 1e-12, (measures, result))
    expect(sum(measures["sizes"]) == 900, measures)
    expect(box.json(f"inspect {result['out']}")["status"] == "done", "inspect of a run")
    expect(box.json("inspect x.npy")["rows"] == 900, "inspect of data")
    again = box.json(f"train kmeans x.npy --resume {result['out']}")
    expect(again["model_sha256"] == result["model_sha256"], "nothing left, but another model")


def limited(bytes_most):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_most, bytes_most))
    return limit


def check_a_full_disk_leaves_the_old_model(box):
    write_npy(box / "x.npy", points(3000, 16), 3000, 16)
    box.run("train kmeans x.npy --n-clusters 200 --max-iter 2 --n-init 1 --tol 0 --out a --quiet")
    before = (box / "a/model.safetensors").read_bytes()
    expect(len(before) > 20000, "the model is too small for this test")
    done = box.run("train kmeans x.npy --resume a --max-iter 4 --quiet", code=1,
                   preexec_fn=limited(20000))
    expect("meanwhile: " in done.stderr and "File too large" in done.stderr, done.stderr)
    expect((box / "a/model.safetensors").read_bytes() == before, "the old model is gone")
    expect(not (box / "a/model.safetensors.partial").exists(), "a partial file")
    result = box.json("train kmeans x.npy --resume a --max-iter 4 --quiet")
    expect(result["rounds"] == 4, result)


def check_a_full_disk_leaves_no_half_a_result(box):
    write_npy(box / "x.npy", points(20000, 2), 20000, 2)
    box.run("train kmeans x.npy --n-clusters 2 --out a --quiet")
    for command in ("predict a x.npy --out labels.npy", "transform a x.npy --out d.npy",
                    "predict a x.npy --out labels.csv", "convert x.npy c.safetensors"):
        done = box.run(command, code=1, preexec_fn=limited(30000))
        expect("File too large" in done.stderr, done.stderr)
    left = sorted(path.name for path in box.path.iterdir())
    expect(left == ["a", "x.npy"], left)


def check_a_closed_pipe_is_no_failure(box):
    write_npy(box / "x.npy", points(200000, 2), 200000, 2)
    box.run("train kmeans x.npy --n-clusters 2 --out a --quiet")
    shell = f"{box.program} predict a x.npy | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], cwd=box.path, capture_output=True, text=True)
    expect(done.stdout.split("\n")[1] == "0" and done.stderr == "", (done.stdout, done.stderr))


def check_output_that_cannot_be_written_is_a_failure(box):
    with open("/dev/full", "w") as full:
        done = box.run("--help", code=1, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    expect("standard output" in done.stderr, done.stderr)


def check_data_larger_than_the_memory_limit_trains_within_it(box):
    # About 150 MB of text; its rows are some thousands of lines again and again.
    block = "".join(",".join(f"{value:.6f}" for value in points(1, 16, seed)) + "\n"
                    for seed in range(4000))
    copies = 150 * 1000 * 1000 // len(block)
    with open(box / "large.csv", "w") as file:
        for _ in range(copies):
            file.write(block)
    rows = 4000 * copies
    converted = box.json("convert large.csv large.safetensors --quiet")
    expect(converted["rows"] == rows, converted)
    expect(converted["peak_rss_bytes"] < 80 * MIB, f"convert: {converted['peak_rss_bytes']} bytes")
    expect(converted["bytes"] > 60 * MIB, converted)
    (box / "large.csv").unlink()
    content = "train kmeans large.safetensors --n-clusters 10 --init random --max-iter 5 --quiet"
    flags = content + " --deal blocks"
    limited_result = box.json(f"{flags} --memory-limit 32M")
    # Far below: rows are let go as soon as they are used. What is left is the program itself, with its libraries.
    (box / "small.csv").write_text(block)
    program = box.json(flags.replace("large.safetensors", "small.csv"))["peak_rss_bytes"]
    peak = limited_result["peak_rss_bytes"]
    expect(peak < program + 8 * MIB, f"train: {peak} bytes, {program} with few rows")
    # Its rows are few and equal: by default they are dealt by content, and sorted within the limit.
    sorted_result = box.json(f"{content} --memory-limit 32M")
    peak = sorted_result["peak_rss_bytes"]
    expect(peak < program + 32 * MIB, f"train by content: {peak} bytes, {program} with few rows")
    expect(sorted_result["model_sha256"] == box.json(content)["model_sha256"], "another model by content")
    free_result = box.json(flags)
    expect(free_result["peak_rss_bytes"] > 64 * MIB, "the limit made no difference")
    expect(free_result["model_sha256"] == limited_result["model_sha256"], "another model")
    assigned = box.json("evaluate " + limited_result["out"] + " large.safetensors")
    expect(assigned["rows"] == rows, assigned)


def complete(box, words):
    """What bash offers after these words."""
    script = f"""
source <({box.program} completion bash)
COMP_WORDS=({' '.join(repr(word) for word in words)})
COMP_CWORD={len(words) - 1}
_meanwhile
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", script], cwd=box.path, capture_output=True, text=True)
    expect(done.stderr == "", done.stderr)
    return done.stdout.split()


def check_completion_knows_commands_flags_and_values(box):
    (box / "points.csv").write_text("1,2\n")
    for shell in ("bash", "zsh", "fish"):
        script = box.run(f"completion {shell}").stdout
        expect("n-clusters" in script and "kmeans" in script, f"{shell}: {script[:200]}")
        if shutil.which(shell):
            done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True)
            expect(done.returncode == 0 and done.stderr == "", f"{shell}: {done.stderr}")
    expect(complete(box, ["meanwhile", "tra"]) == ["train", "transform"], "commands")
    expect(complete(box, ["meanwhile", "train", ""]) ==
           ["kmeans", "svm", "logistic", "linear", "lda", "pagerank", "components", "spread", "kcore", "belief", "factorize"],
           "learners")
    expect(complete(box, ["meanwhile", "train", "kmeans", "--n-c"]) == ["--n-clusters"], "flags")
    expect(complete(box, ["meanwhile", "train", "kmeans", "--metric", ""]) ==
           ["euclidean", "cosine"], "values")
    expect("k-means||" in complete(box, ["meanwhile", "train", "kmeans", "--init", "k"]), "init")
    expect(complete(box, ["meanwhile", "train", "kmeans", "po"]) == ["points.csv"], "files")
    expect(complete(box, ["meanwhile", "completion", ""]) == ["bash", "zsh", "fish"], "shells")
    expect("--help" in complete(box, ["meanwhile", "--"]), "flags of the program")
