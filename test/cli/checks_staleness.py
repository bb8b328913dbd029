"""A staleness gives one answer everywhere, and workers at a store work while they wait."""

import json

from checks_storage import on_store, on_threads, write_data
from harness import expect, expect_equal


def check_a_staleness_on_a_store_is_that_on_threads(box):
    write_data(box)
    flags = "logistic rows.libsvm --solver sgd --l2 0 --tol 0 --max-iter 12 --shards 9 --staleness 1"
    found = {"threads": on_threads(box, flags)}
    for workers in (1, 3):
        found[f"{workers} workers"] = on_store(box, f"{flags} --workers {workers}")
    expect_equal(found)
    lines = [json.loads(line) for line in (box / "on-store/metrics.jsonl").read_text().splitlines()]
    ahead = [line["storage"]["ahead_seconds"] for line in lines if "round" in line]
    expect(max(ahead) > 0, ahead)
