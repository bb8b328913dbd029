"""Topic models in use: what takes several steps."""

import json
import math
import struct

from harness import expect

WORDS = ["cat", "dog", "moon", "rain", "sun"]  # rain never falls
PETS = ["cat dog cat dog", "dog cat", "cat cat dog", "sun moon sun", "moon sun moon", "sun moon"]


def train(box):
    (box / "pets.txt").write_text("".join(line + "\n" for line in PETS))
    (box / "words.txt").write_text("".join(word + "\n" for word in WORDS))
    box.run("train lda pets.txt --vocabulary words.txt --n-topics 2 --passes 20 --tol 0 --out a")


def without_tensors(source, target, names):
    """A copy of a safetensors file that lacks some tensors."""
    data = source.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    kept, body = {"__metadata__": header.pop("__metadata__")}, b""
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        if name in names:
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        kept[name] = {**entry, "data_offsets": [len(body), len(body) + end - begin]}
        body += data[begin:end]
    text = json.dumps(kept).encode()
    text += b" " * (-(8 + len(text)) % 64)
    target.write_bytes(struct.pack("<Q", len(text)) + text + body)


def check_export_has_what_pyldavis_asks_for(box):
    train(box)
    box.run("topics a --export vis.json")
    vis = json.loads((box / "vis.json").read_text())
    expect(vis["vocab"] == ["cat", "dog", "moon", "sun"], vis["vocab"])
    expect(vis["term_frequency"] == [5, 4, 4, 4], vis["term_frequency"])
    expect(math.isclose(sum(vis["doc_lengths"]), 17), vis["doc_lengths"])
    expect(vis["doc_topic_dists"] == [[1, 0], [0, 1]], vis["doc_topic_dists"])
    expect([len(row) for row in vis["topic_term_dists"]] == [4, 4], "not all words")
    for row in vis["topic_term_dists"]:
        expect(math.isclose(sum(row), 1), f"sums to {sum(row)}")


def check_topics_are_found_and_told(box):
    train(box)
    topics = json.loads(box.run("topics a --json --top 2 --sort number").stdout)
    expect([topic["topic"] for topic in topics["topics"]] == [0, 1], "not in order of number")
    found = sorted(sorted(word["word"] for word in topic["words"]) for topic in topics["topics"])
    expect(found == [["cat", "dog"], ["moon", "sun"]], found)
    expect(math.isclose(sum(topic["prevalence"] for topic in topics["topics"]), 1), "prevalence")
    by_size = json.loads(box.run("topics a --json").stdout)["topics"]
    expect(by_size[0]["prevalence"] >= by_size[1]["prevalence"], "not by prevalence")


def check_mixtures_are_the_same_however_they_are_asked_for(box):
    train(box)
    said = {box.run(f"{command} a pets.txt --threads {threads}").stdout
            for command in ("predict", "transform") for threads in (1, 2, 5)}
    expect(len(said) == 1, "not the same")
    rows = [[float(value) for value in line.split(",")] for line in said.pop().splitlines()]
    expect([len(row) for row in rows] == [2] * 6, rows)
    for row in rows:
        expect(math.isclose(sum(row), 1), f"sums to {sum(row)}")
    first = [row.index(max(row)) for row in rows]
    expect(first in ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]), first)


def check_topics_of_training_that_has_not_ended_have_no_coherence(box):
    train(box)
    without_tensors(box / "a" / "model.safetensors", box / "early.safetensors", ["top_words", "together"])
    done = box.run("topics early.safetensors --unsealed")
    expect("npmi" not in done.stdout and "cat" in done.stdout, done.stdout)
    expect("is measured when training ends" in done.stderr, done.stderr)
    expect("npmi" not in box.run("topics early.safetensors --unsealed --json").stdout, "coherence of nothing")
    done = box.run("topics early.safetensors --unsealed --sort coherence", code=2)
    expect("is measured when training ends" in done.stderr, done.stderr)
    without_tensors(box / "a" / "model.safetensors", box / "bare.safetensors", ["lambda"])
    done = box.run("topics bare.safetensors --unsealed", code=2)
    expect("bare.safetensors: not a topic model: it has no lambda" in done.stderr, done.stderr)
