"""Stores that others may write to: nothing outside of them is touched, nothing is waited for without end, and
every refusal is said in words."""

import hashlib
import json
import os
import time

from checks_storage import submit, write_data
from harness import expect, messages

KMEANS = "kmeans x.npy --n-clusters 7 --max-iter 3 --tol 0 --shards 3"
READERS = ("status", "worker --timeout 5", "fetch", "cancel")


def refused(box, command, *words, code=2):
    done = box.run(f"{command} --store job", code=code, timeout=60)
    said = messages(done.stderr)
    expect(len(said) == 1 and all(word in said[0] for word in words), f"{command}: {done.stderr}")
    return done


def finish(box):
    """Submits a job and works on it until it is done; returns its id."""
    write_data(box)
    job = submit(box, KMEANS)["job"]
    box.run("worker --store job --quiet")
    return job


def rewrite(box, change):
    """Changes job.json as `change` says, and makes its id right again, as anybody can."""
    path = box / "job/blobs/job.json"
    record = json.loads(path.read_text())
    change(record)
    essence = {key: value for key, value in record.items()
               if key not in ("kind", "id", "lease_s", "memory_every", "about")}
    text = json.dumps(essence, separators=(",", ":"), ensure_ascii=False)
    record["id"] = hashlib.sha256(text.encode()).hexdigest()[:16]
    path.write_text(json.dumps(record))


def check_a_learner_is_no_path(box):
    finish(box)
    (box / "here").mkdir()
    rewrite(box, lambda record: record.update(learner="../../../evil"))
    before = sorted(box.path.rglob("*"))
    for command in READERS:
        refused(box, command, "'../../../evil' is not the name of a learner")
    rewrite(box, lambda record: record.update(learner="kmeans2"))
    refused(box, "fetch", "kmeans2")
    expect(sorted(box.path.rglob("*")) == before, "something was written")


def check_numbers_of_a_job_are_checked(box):
    write_data(box)
    submit(box, KMEANS)
    original = (box / "job/blobs/job.json").read_text()
    for rows in ([-1, 500, 401], [10**9, 900 - 10**9, 0], [2**62, 2**62, 2**62]):
        rewrite(box, lambda record, wrong=rows: record["data"].update(shard_rows=wrong))
        for command in ("status", "worker --timeout 5"):
            refused(box, command, "job.json", "the outline of the data")
        (box / "job/blobs/job.json").write_text(original)
    rewrite(box, lambda record: record.update(format=2))
    refused(box, "status", "has format 2, this program reads format 1")


def check_deep_json_is_refused(box):
    job = finish(box)
    deep = "[" * 200000
    path = box / "job/blobs/job.json"
    original = path.read_text()
    path.write_text(original.rstrip()[:-1] + ',"more":' + deep + "]" * 200000 + "}")
    for command in READERS:
        refused(box, command, "job.json", "nested deeper than 64 levels")
    path.write_text(original)
    box.run("fetch --store job --out run")
    expect(job in (box / "run/run.json").read_text(), "another job")
    for name in ("metrics.jsonl", "run.json"):
        (box / "run" / name).write_text('{"round":1,"a":' + deep + "\n")
        box.run("inspect run", code=0 if name == "metrics.jsonl" else 2)


def check_strange_records_do_not_hide_the_result(box):
    job = finish(box)
    usage = box / f"job/blobs/{job}/usage"
    for i, text in enumerate(("[]", "null", "5", '{"seconds":"x"}', '{"usage":[]}', '{"usage":{"requests":[]}}')):
        (usage / f"strange-{i}").write_text(text)
    box.run("status --store job")
    box.run("fetch --store job --out run")
    expect((box / "run/model.safetensors").exists(), "no model")


def victim(box):
    folder = box / "victim/sub"
    folder.mkdir(parents=True)
    (folder / "thesis").write_text("years of work")
    for path in (folder / "thesis", folder):
        os.utime(path, (time.time() - 7200,) * 2)
    return box / "victim"


def check_links_lead_nowhere(box):
    job = finish(box)
    outside = victim(box)
    for name in ("partial", f"blobs/{job}/rounds", f"blobs/{job}/usage", f"blobs/{job}/extra"):
        place = box / "job" / name
        if place.exists():
            place.rename(box / f"away-{place.name}")
        place.symlink_to(outside)
        for command in READERS[:3]:
            box.run(f"{command} --store job", code=None, timeout=60)
            expect((outside / "sub/thesis").exists(), f"{name}, {command}: a file outside is gone")
            expect(len(list(outside.rglob("*"))) == 2, f"{name}, {command}: a file outside is new")
        place.unlink()
        if (box / f"away-{place.name}").exists():
            (box / f"away-{place.name}").rename(place)
    (box / "job/blobs" / job / "extra").symlink_to(outside)
    box.run("cancel --store job")
    expect((outside / "sub/thesis").exists(), "cancel removed a file outside")


def check_a_link_is_named(box):
    job = finish(box)
    model = box / f"job/blobs/{job}/model"
    model.rename(box / "elsewhere")
    model.symlink_to(box / "elsewhere")
    refused(box, "fetch --out run", f"{job}/model", "links in a store are not followed")


def check_nothing_waits_for_a_fifo_or_a_loop(box):
    write_data(box)
    job = submit(box, KMEANS)["job"]
    folder = box / f"job/blobs/{job}"
    for name in ("a", "b"):
        (folder / "state" / name).symlink_to(".")
    box.run("status --store job", timeout=60)
    (folder / "ready").unlink()
    os.mkfifo(folder / "ready")
    for command in ("status", "worker --timeout 5"):
        refused(box, command, "ready: is not a regular file")
    (folder / "ready").unlink()
    with open(folder / "ready", "wb") as file:
        file.truncate(1 << 40)
    refused(box, "status", "ready: has 1099511627776 bytes, the limit is")


def check_secrets_are_not_repeated(box):
    for store in ("https://x.blob.core.windows.net/c?sv=1&sig=SECRET", "azure://acct/c/p?sv=1&sig=SECRET",
                  "azure://acct:SECRET@c/p", "x.blob.core.windows.net/c?sig=SECRET"):
        done = box.run(["status", "--store", store], code=2)
        expect("SECRET" not in done.stderr + done.stdout, done.stderr)
    done = box.run(["train", "kmeans", "https://x.blob.core.windows.net/c?sv=1&sig=SECRET"], code=2)
    expect("SECRET" not in done.stderr + done.stdout, done.stderr)


def check_escapes_are_shown_as_text(box):
    job = finish(box)
    path = box / f"job/blobs/{job}/result.json"
    result = json.loads(path.read_text())
    result["stopped_because"] = "\x1b]0;title\x07 \x9b31m red"
    path.write_text(json.dumps(result, ensure_ascii=False))
    for command in ("status", "status --json", "worker", "fetch --out run", "fetch --json --out run"):
        done = box.run(f"{command} --store job")
        text = done.stdout + done.stderr
        expect("red" in text or "json" in command, text)
        expect(not any(c in text for c in "\x1b\x07\x9b"), f"{command}: {text!r}")
    path.write_text(json.dumps({**result, "status": "failed", "error": "\x1b[2J gone"}))
    done = box.run("fetch --store job --out run2", code=1)
    expect("\\x1b[2J gone" in done.stderr, done.stderr)


def check_damaged_metrics_are_said(box):
    job = finish(box)
    path = box / f"job/blobs/{job}/metrics.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    done = box.run("fetch --store job --out whole")
    expect("damaged" not in done.stderr, done.stderr)
    expect((box / "whole/metrics.jsonl").read_text() == "".join(lines[:-1]), "other lines")
    path.write_text("".join(lines[1:]))
    done = box.run("fetch --store job --out cut")
    expect("the metrics at the store are damaged" in done.stderr, done.stderr)


def check_signed_jobs(box):
    write_data(box)
    (box / "secret").write_text("correct horse battery staple\n")
    (box / "other").write_text("another secret of some length\n")
    (box / "short").write_text("short\n")
    box.run(f"submit {KMEANS} --store job --secret-file secret --quiet")
    for command in READERS:
        refused(box, command, "the job is signed", "--secret-file")
        refused(box, f"{command} --secret-file other", "signed with another secret")
    refused(box, "status --secret-file short", "the secret has 5 bytes, expected at least 16")
    refused(box, "status --secret-file none", "--secret-file: none")
    box.run("worker --store job --quiet --secret-file secret")
    env = {**os.environ, "MEANWHILE_STORE_SECRET": "correct horse battery staple"}
    box.run("fetch --store job --out signed --remove", env=env)
    expected = box.json(f"train {KMEANS} --quiet --out threads")["model_sha256"]
    found = json.loads((box / "signed/run.json").read_text())["model_sha256"]
    expect(found == expected, f"{found}, on threads {expected}")
    submit(box, KMEANS)
    refused(box, "worker --secret-file secret", "job.json: is not signed")
