"""Topic models: the same whoever trains them, and whoever is interrupted; topics that are found and kept."""

import json
import random
import signal
import time

from harness import expect, expect_equal

GROUPS = [["cat", "dog", "kitten", "puppy", "paw", "tail", "fur", "leash"],
          ["star", "planet", "galaxy", "telescope", "orbit", "moon", "comet", "sky"],
          ["bread", "butter", "cheese", "oven", "flour", "sugar", "recipe", "spoon"]]


def text(documents, seed=1):
    """Documents of words of one group, with one of another."""
    draw = random.Random(seed)
    lines = []
    for _ in range(documents):
        mine, other = draw.sample(GROUPS, 2)
        lines.append(" ".join([*draw.choices(mine, k=draw.randint(4, 12)), draw.choice(other)]))
    return "\n".join(lines) + "\n"


def write_data(box):
    (box / "docs.txt").write_text(text(300))
    (box / "held.txt").write_text(text(60, seed=2))


def groups_of(box, run):
    """The groups that the topics are of, in order; each topic's first words must be of one."""
    found = []
    for topic in box.json(f"topics {run} --top 8 --sort number")["topics"]:
        words = [word["word"] if isinstance(word, dict) else word for word in topic["words"]]
        counts = [sum(word in group for word in words) for group in GROUPS]
        expect(max(counts) >= 7, f"a mixed topic: {words}")
        found.append(counts.index(max(counts)))
    return found


def check_topics_are_the_same_on_threads_ranks_and_stores(box):
    write_data(box)
    for send in ("model", "gradient"):
        flags = f"train lda docs.txt --n-topics 4 --send {send} --passes 3 --shards 6 --eval held.txt --quiet"
        found = {}
        for threads in (1, 2, 5):
            found[f"{threads} threads"] = box.json(f"{flags} --threads {threads} --out a")["model_sha256"]
        for exchange in ("tree", "allreduce"):
            for ranks in (1, 2, 3):
                result = box.json(f"{flags} --exchange {exchange} --out b", ranks=ranks)
                found[f"{ranks} ranks, {exchange}"] = result["model_sha256"]
        result = box.json(f"{flags} --runtime storage --store job --out c")
        found["a store"] = result["model_sha256"]
        expect_equal(found)


def check_later_documents_are_learned_alike_on_threads_and_at_a_store(box):
    write_data(box)
    (box / "later.txt").write_text(text(200, seed=3).replace("comet", "asteroid"))
    box.run("train lda docs.txt --n-topics 3 --passes 5 --out a --quiet")
    before = groups_of(box, "a")
    expect(sorted(before) == [0, 1, 2], before)
    flags = "train lda later.txt --resume a --quiet"
    found = {"threads": box.json(f"{flags} --out b")["model_sha256"],
             "ranks": box.json(f"{flags} --out c", ranks=2)["model_sha256"],
             "a store": box.json(f"{flags} --runtime storage --store job --out d")["model_sha256"]}
    expect_equal(found)
    expect(groups_of(box, "b") == before, "topics have changed places")
    shown = box.json("inspect b/model.safetensors")
    expect(shown["documents"] == 500, shown["documents"])
    measures = box.json("evaluate b held.txt")
    expect(measures["perplexity"] < 24, measures)  # words, all as likely
    # Nothing is left to do for documents that were learned already.
    again = box.json("train lda later.txt --resume b --quiet")
    expect(again["model_sha256"] == found["threads"], again)


def check_later_documents_are_not_lost_when_killed_before_the_first_round(box):
    write_data(box)
    (box / "later.txt").write_text(text(200, seed=3))
    box.run("train lda docs.txt --n-topics 3 --passes 2 --out a --quiet")
    expected = box.json("train lda later.txt --resume a --out b --quiet")
    # State after a kill: run.json is of the later documents, the model is not.
    record = json.loads((box / "a/run.json").read_text())
    record["data"]["sha256"] = expected["data_sha256"]
    (box / "a/run.json").write_text(json.dumps(record))
    again = box.json("train lda later.txt --resume a --unsealed --quiet")
    expect(again["model_sha256"] == expected["model_sha256"], again)
    expect(box.json("inspect a/model.safetensors")["documents"] == 500, again)


def check_an_interrupted_run_goes_on_to_the_same_topics(box):
    (box / "docs.txt").write_text(text(2000))
    flags = "train lda docs.txt --n-topics 16 --passes 60 --tol 0 --threads 1 --precision double --quiet"
    whole = box.json(f"{flags} --out whole")
    running = box.start(f"{flags} --checkpoint-seconds 0 --out cut".split())
    deadline = time.monotonic() + 60
    while len(box.rounds("cut")) < 3 and running.poll() is None:
        expect(time.monotonic() < deadline, "no round after a minute")
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    if box.record("cut")["status"] == "interrupted":  # or it was faster
        resumed = box.json("train lda docs.txt --resume cut --quiet")
        expect(resumed["rounds"] == whole["rounds"], (resumed["rounds"], said))
    expect(box.record("cut")["model_sha256"] == whole["model_sha256"], "another model")


def check_sampled_topics_are_the_same_on_threads_ranks_and_stores(box):
    write_data(box)
    flags = "train lda docs.txt --n-topics 3 --sampler mh --passes 30 --shards 6 --eval held.txt --quiet"
    found = {}
    for threads in (1, 2, 5):
        found[f"{threads} threads"] = box.json(f"{flags} --threads {threads} --out a")["model_sha256"]
    for exchange in ("tree", "allreduce"):
        for ranks in (2, 3):
            result = box.json(f"{flags} --exchange {exchange} --out b", ranks=ranks)
            found[f"{ranks} ranks, {exchange}"] = result["model_sha256"]
    result = box.json(f"{flags} --runtime storage --store job --out c")
    found["a store"] = result["model_sha256"]
    expect_equal(found)
    expect(sorted(set(groups_of(box, "a"))) == [0, 1, 2], "a group without a topic")
    expect(box.json("inspect a/model.safetensors")["documents"] == 300, "documents")
    measures = box.json("evaluate a held.txt")
    expect(measures["perplexity"] < 24, measures)  # words, all as likely
    box.run("predict a held.txt --out mixtures.npy")
    (box / "later.txt").write_text(text(200, seed=3))
    result = box.run("train lda later.txt --resume a --out d", code=2)
    expect("train anew on all documents" in result.stderr, result.stderr)


def check_an_interrupted_sampler_goes_on_to_the_same_topics(box):
    (box / "docs.txt").write_text(text(2000))
    flags = "train lda docs.txt --n-topics 16 --sampler mh --passes 80 --tol 0 --threads 1 --quiet"
    whole = box.json(f"{flags} --out whole")
    running = box.start(f"{flags} --checkpoint-seconds 0 --out cut".split())
    deadline = time.monotonic() + 60
    while len(box.rounds("cut")) < 3 and running.poll() is None:
        expect(time.monotonic() < deadline, "no round after a minute")
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    if box.record("cut")["status"] == "interrupted":  # or it was faster
        resumed = box.json("train lda docs.txt --resume cut --quiet")
        expect(resumed["rounds"] == whole["rounds"], (resumed["rounds"], said))
    expect(box.record("cut")["model_sha256"] == whole["model_sha256"], "another model")
    # More passes go on from where it ended.
    more = box.json("train lda docs.txt --resume cut --passes 90 --quiet")
    expect(more["model_sha256"] != whole["model_sha256"], "ten passes changed nothing")


def check_a_sampler_refuses_what_it_cannot_draw(box):
    (box / "half.libsvm").write_text("0 1:1 3:2\n0 2:1.5\n")
    result = box.run("train lda half.libsvm --sampler mh --n-topics 2 --out a", code=2)
    expect("found 1.5" in result.stderr, result.stderr)
