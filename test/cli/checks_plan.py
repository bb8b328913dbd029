"""Plans before, audits after, profiles between: what each says must fit what the others say."""

import gzip
import json
import os

from harness import expect, libsvm_text, points, write_npy

POINT = {"workers", "processes", "seconds", "speedup", "efficiency", "price", "total_seconds", "total_price", "seconds_by_phase",
         "prepare_seconds", "score_seconds", "round_seconds", "round", "requests", "bytes"}
AZURE = "plan kmeans --rows 500000 --dims 1000 --n-clusters 100 --machine azure-small"
PROFILE = "flops = 2e9\ncores = 2\n\n[network]\nbandwidth = 1e9\n\n[storage]\nread = 1e9\nwrite = 1e9\n"


def near(a, b, relative=1e-9):
    return abs(a - b) <= relative * max(abs(a), abs(b), 1e-300)


def write_data(box):
    write_npy(box / "x.npy", points(900, 6, blobs=7), 900, 6)
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))


def expect_point(point):
    expect(POINT <= point.keys(), f"missing: {POINT - point.keys()}")
    parts = point["seconds_by_phase"]
    expect(parts.keys() == {"load", "work", "exchange", "absorb"}, parts)
    expect(near(sum(parts.values()), point["seconds"]), point)
    expect(point["round"].keys() == {"work", "exchange", "absorb"}, point["round"])
    expect(near(sum(point["round"].values()), point["round_seconds"]), point)
    expect(near(point["seconds"] + point["prepare_seconds"] + point["score_seconds"], point["total_seconds"]), point)
    expect(near(point["efficiency"], point["speedup"] / point["processes"]), point)
    expect(point["total_price"] >= point["price"] >= 0, point)


def check_json_of_plan_has_what_scripts_need(box):
    plan = box.json(f"{AZURE} --workers 1..8 --deadline 12h --budget 50")
    expect({"learner", "machine", "runtime", "scaling", "rows", "dims", "stored", "rounds", "sequential_seconds", "error",
            "past_runs", "points", "best"} <= plan.keys(), plan.keys())
    expect((plan["learner"], plan["machine"], plan["runtime"]) == ("kmeans", "azure-small", "storage"), plan)
    expect((plan["rows"], plan["dims"], plan["stored"], plan["rounds"]) == (500000, 1000, 500000000, 300), plan)
    expect([p["workers"] for p in plan["points"]] == list(range(1, 9)), plan["points"])
    for point in plan["points"]:
        expect_point(point)
        expect(near(point["speedup"], plan["sequential_seconds"] / point["seconds"]), point)
    expect(near(plan["points"][0]["speedup"], 1), plan["points"][0])
    best = plan["best"]
    expect(best["met"] is True and best["why"], best)
    expect(best["for"].keys() == {"time", "price", "worth", "deadline", "budget"}, best["for"].keys())
    for point in (best, *best["for"].values()):
        expect_point(point)
        same = plan["points"][point["workers"] - 1]
        expect(all(point[key] == same[key] for key in POINT), (point, same))
    expect(best["for"]["time"]["total_seconds"] == min(p["total_seconds"] for p in plan["points"]), best)
    expect(best["for"]["price"]["total_price"] == min(p["total_price"] for p in plan["points"]), best)
    in_time = [p for p in plan["points"] if p["total_seconds"] <= 12 * 3600 and p["total_price"] <= 50]
    expect(best["total_price"] == min(p["total_price"] for p in in_time), best)


def check_a_wish_that_cannot_be_met_is_said_in_json_too(box):
    plan = box.json(f"{AZURE} --workers 1..8 --budget 0.5", code=1)
    expect(plan["best"]["met"] is False and plan["best"]["workers"] == 1, plan["best"])
    plan = box.json(f"{AZURE} --workers 1..8 --deadline 1h", code=1)
    expect(plan["best"]["met"] is False and plan["best"]["workers"] == 8, plan["best"])
    expect("deadline" not in plan["best"]["for"], plan["best"]["for"].keys())


def check_numbers_of_workers_are_taken_as_they_are_written(box):
    forms = {"1..8": list(range(1, 9)), "1,2,4": [1, 2, 4], "64": [64], "4,1..2,4": [1, 2, 4], "7..7": [7]}
    for text, workers in forms.items():
        found = [p["workers"] for p in box.json(f"{AZURE} --workers {text}")["points"]]
        expect(found == workers, f"{text}: {found}")
    # A long range is not looked at one by one, but from end to end.
    found = [p["workers"] for p in box.json(f"{AZURE} --workers 1..1000000")["points"]]
    expect(found[0] == 1 and found[-1] == 1000000 and found == sorted(set(found)), "a long range")
    expect(1000 < len(found) < 20000, len(found))


def check_times_are_taken_as_they_are_written(box):
    plan = box.json(f"{AZURE} --workers 1")
    needed = plan["points"][0]["total_seconds"]
    for text, seconds in (("90", 90), ("90s", 90), ("30m", 1800), ("2h", 7200), ("1h30m", 5400), ("2d", 172800),
                          ("1d2h3m4s", 93784), ("1.5h", 5400), ("19h4m", 68640)):
        met = box.json(f"{AZURE} --workers 1 --deadline {text}", code=None)["best"]["met"]
        expect(met == (needed <= seconds), f"--deadline {text}: {met}, {needed} s are needed")


def check_json_of_plan_says_how_stale(box):
    words = "plan lda --rows 1000000 --dims 5000 --nonzeros 100000000 --workers 8 --shards 32"
    dial = box.json(words)["staleness"]
    expect([s["staleness"] for s in dial["settings"]] == [0, 1, 4, 8] and "stragglers" not in dial, dial)
    first = dial["settings"][0]
    # Without stragglers it is the round that is planned.
    planned = box.json(words)["points"][0]["round_seconds"]
    expect(near(first["round_seconds"], planned, 1e-6) and first["mean_staleness"] == 0, (first, planned))
    dial = box.json(f"{words} --stragglers 0.1")["staleness"]
    expect([(s["staleness"], s["stealing"]) for s in dial["settings"]] ==
           [(0, "none"), (0, "neighbour"), (1, "none"), (1, "neighbour"), (4, "none"), (8, "none")], dial)
    expect(dial["stragglers"] == {"share": 0.1, "slowdown": 5, "rounds": 5, "one": False}, dial["stragglers"])
    for setting in dial["settings"]:
        expect(near(sum(setting["histogram"]), 1) and len(setting["histogram"]) == setting["staleness"] + 1, setting)
        expect(near(setting["saved"] + 1, 2 - setting["round_seconds"] / dial["settings"][0]["round_seconds"]), setting)
        expect(setting["buffer_bytes"] > 0, setting)
    expect(dial["best"] in dial["settings"] and dial["why"] and dial["workers"] == 8, dial)
    expect("staleness" not in box.json(f"{AZURE} --workers 8"), "kmeans waits for every round")
    expect("staleness" not in box.json(words.replace("--workers 8", "--workers 1")), "one worker")


def check_json_of_plan_says_memory(box):
    words = "plan lda --rows 1000000 --dims 50000 --nonzeros 100000000 --n-topics 1000 --workers 1,2"
    sampled = f"{words} --sampler mh"
    one, two = (point["memory_bytes"] for point in box.json(f"{sampled} --runtime threads")["points"])
    # A tile for each thread; rows, topics and counts are there once.
    expect(1e7 < two - one < 3e8 and one > 1e9, (one, two))
    one, two = (point["memory_bytes"] for point in box.json(f"{sampled} --runtime mpi --machine generic")["points"])
    expect(one > 1e9 and two > 1e9, (one, two))
    for other in (words, f"{sampled} --runtime storage --machine azure-small"):
        expect("memory_bytes" not in box.json(other)["best"], other)
    # Tokens are those of the file: ten of each word, not two.
    for name, count in (("few.ldac", 2), ("many.ldac", 10)):
        (box / name).write_text("".join(f"2 {i % 50}:{count} {50 + i % 50}:{count}\n" for i in range(20000)))
    few, many = (box.json(f"plan lda {name} --sampler mh --runtime threads --workers 1")["points"][0]["memory_bytes"]
                 for name in ("few.ldac", "many.ldac"))
    given = box.json("plan lda --rows 20000 --dims 100 --nonzeros 40000 --sampler mh --runtime threads --workers 1")
    expect(near(few, given["points"][0]["memory_bytes"], 1e-3) and many > few + 1e6, (few, many, given))


def check_a_run_says_what_staleness_would_have_saved(box):
    (box / "wide.libsvm").write_text(libsvm_text(300, 40000, 5))
    (box / "mine.toml").write_text(PROFILE)
    words = "train svm wide.libsvm --max-iter 8 --machine mine.toml --out"
    said = box.run(f"{words} sgd --solver sgd", ranks=2).stderr
    audit = box.record("sgd")["audit"]
    took = [audit["seconds_by_phase"][name]["measured"] for name in ("work", "exchange", "absorb")]
    saved = min(took[0], took[1]) / sum(took)
    expect(("staleness" in audit) == (saved >= 0.05), (audit, saved))
    expect((f"staleness 1 would have saved {100 * saved:.0f} %" in said) == (saved >= 0.05), said)
    if "staleness" in audit:
        expect(near(audit["staleness"]["saved"], saved, 1e-6), (audit, saved))
    box.run(f"{words} lbfgs --solver lbfgs", ranks=2)
    expect("staleness" not in box.record("lbfgs")["audit"], "a line search cannot be late")


def check_a_plan_reads_the_shape_of_a_file(box):
    write_data(box)
    (box / "three.csv").write_text("a,b,y\n" + "".join(f"{i},{i * i % 7},{i % 3}\n" for i in range(30)))
    (box / "rows.libsvm.gz").write_bytes(gzip.compress((box / "rows.libsvm").read_bytes()))

    def shape(words):
        plan = box.json(f"plan {words} --workers 2 --runtime mpi --exchange allreduce")
        return plan["rows"], plan["dims"], plan["stored"], plan["points"][0]["round_seconds"]

    expect(shape("kmeans x.npy")[:3] == (900, 6, 5400), shape("kmeans x.npy"))
    for name in ("rows.libsvm", "rows.libsvm.gz"):
        expect(shape(f"svm {name}")[:3] == (600, 40, 3000), shape(f"svm {name}"))
    # As if its shape had been given.
    expect(shape("kmeans x.npy") == shape("kmeans --rows 900 --dims 6"), "kmeans")
    expect(shape("svm rows.libsvm") == shape("svm --rows 600 --dims 40 --nonzeros 3000"), "svm")
    table = shape("logistic three.csv --label-column y")
    expect(table == shape("logistic --rows 30 --dims 2 --classes 3"), table)
    expect(table != shape("logistic --rows 30 --dims 2"), "classes do not count")
    expect(not (box / "runs").exists(), "a plan trained")


def check_scaling_up_follows_the_laws_of_the_paper(box):
    plan = box.json(f"{AZURE} --scaling scale-up")
    expect(plan["scaling"] == "scale-up", plan["scaling"])
    expect([p["rows"] for p in plan["points"]] == [500000 << i for i in range(7)], plan["points"])
    for point in plan["points"]:
        expect_point(point)
    expect(abs(plan["workers_exponent"] - 2 / 3) < 0.03, plan["workers_exponent"])
    expect(abs(plan["seconds_exponent"] - 1 / 3) < 0.03, plan["seconds_exponent"])


def check_weak_scaling_has_as_many_rows_for_each(box):
    plan = box.json("plan kmeans --rows 500000 --dims 100 --n-clusters 100 --machine k40 --scaling weak --workers 1..32")
    work = [p["seconds_by_phase"]["work"] for p in plan["points"]]
    expect(all(near(w, work[0], 1e-6) for w in work), work)
    expect(all(0 < p["efficiency"] <= 1 + 1e-9 for p in plan["points"]), plan["points"])


def expect_audited(box, run, runtime):
    record = box.record(run)
    audit = record["audit"]
    expect(audit["runtime"] == runtime and audit["learner"] == record["learner"], audit)
    expect(audit["rounds"] == record["rounds"], audit)
    expect({"load", "work", "exchange", "absorb"} <= audit["seconds_by_phase"].keys(), audit["seconds_by_phase"])
    for side in ("predicted", "measured"):
        expect(near(sum(part[side] for part in audit["seconds_by_phase"].values()), audit["seconds"][side]), audit)
        expect(audit["seconds"][side] > 0, audit)
    expect(near(audit["error"], audit["seconds"]["measured"] / audit["seconds"]["predicted"] - 1), audit)
    lines = [json.loads(line) for line in (box / run / "metrics.jsonl").read_text().splitlines()]
    rounds = [line for line in lines if "round" in line]
    expect(len(rounds) == record["rounds"] > 0, f"{len(rounds)} rounds")
    for line in rounds:
        expect(line["seconds_by_phase"].keys() == {"work", "exchange", "absorb"}, line)
        expect(all(part >= 0 for part in line["seconds_by_phase"].values()), line)
        expect(line["predicted"] == record["predicted"], line)
    expect({"work", "exchange", "absorb", "seconds"} <= record["predicted"].keys(), record["predicted"])
    return audit


def check_every_run_is_compared_with_what_was_predicted(box):
    write_data(box)
    flags = "train svm rows.libsvm --max-iter 8"
    said = box.run(f"{flags} --threads 2 --verbose --out threads").stderr
    expect("predicted " in said and ", took " in said, said)
    expect_audited(box, "threads", "threads")
    box.run(f"{flags} --out ranks", ranks=2)
    audit = expect_audited(box, "ranks", "mpi")
    expect(audit["workers"] == 2 and audit["bytes"]["measured"] > 0, audit)
    box.run(f"{flags} --workers 2 --runtime storage --store job --out store")
    audit = expect_audited(box, "store", "storage")
    expect(audit["requests"]["measured"] > 0 and audit["price"]["measured"] > 0, audit)
    result = box.json(f"{flags} --out json")
    expect(result["audit"] == box.record("json")["audit"], "--json and run.json differ")


def check_a_machine_that_cannot_predict_does_not_hinder(box):
    write_data(box)
    (box / "alone.toml").write_text("flops = 1e9\n")
    box.run("train svm rows.libsvm --max-iter 4 --machine alone.toml --out ranks", ranks=2)
    record = box.record("ranks")
    expect("network" in record["predicted"]["not"] and "audit" not in record, record["predicted"])
    expect(not (box / "alone.toml.runs.jsonl").exists(), "a run that was not predicted is remembered")


def check_a_profile_of_ones_own_learns(box):
    write_data(box)
    (box / "mine.toml").write_text(PROFILE)
    plan = "plan svm rows.libsvm --machine mine.toml --workers 1,2"
    expect("no run was compared yet" in box.run(plan).stdout, "before")
    for runs in (1, 2):
        box.run(f"train svm rows.libsvm --max-iter 8 --machine mine.toml --out run-{runs}")
        lines = (box / "mine.toml.runs.jsonl").read_text().splitlines()
        expect(len(lines) == runs, f"{len(lines)} lines after {runs} runs")
        expect(json.loads(lines[-1]) == box.record(f"run-{runs}")["audit"], lines[-1])
        said = box.run(plan).stdout
        expect(f"the mean error of the last {runs} svm run{'s' if runs > 1 else ''}" in said, said)
    errors = [abs(json.loads(line)["error"]) for line in lines]
    found = box.json(plan)
    expect(found["past_runs"] == 2 and near(found["error"], sum(errors) / 2), found)
    # Another learner has no history of its own: it gets the error of all runs.
    other = box.run("plan kmeans x.npy --machine mine.toml --workers 1").stdout
    expect("the mean error of the last 2 runs" in other, other)
    # A broken record is no reason to stop.
    with open(box / "mine.toml.runs.jsonl", "a") as record:
        record.write("{\"learner\": ")
    expect(box.json(plan)["past_runs"] == 2, "a line that was cut")
    box.run("train svm rows.libsvm --max-iter 8 --machine mine.toml --out run-3")
    expect(box.json(plan)["past_runs"] == 3, "a run after a line that was cut")


def check_a_record_that_cannot_be_kept_is_only_noted(box):
    write_data(box)
    (box / "mine.toml").write_text(PROFILE)
    (box / "mine.toml.runs.jsonl").mkdir()
    said = box.run("train svm rows.libsvm --max-iter 4 --machine mine.toml --out run").stderr
    expect("note: the plan learns nothing from this run: " in said, said)
    expect(box.record("run")["status"] == "done", "the run")


def check_a_profile_may_have_any_name(box):
    write_data(box)
    name = b"m\xff.toml"
    (box.path / os.fsdecode(name)).write_text(PROFILE)
    for words in ("train svm rows.libsvm --max-iter 4 --out run", "plan svm rows.libsvm --workers 1 --json"):
        box.run([*words.split(), "--machine", os.fsdecode(name)], errors="replace")


def check_the_usual_machine_is_the_one_named_or_ones_own(box):
    def usual(**environment):
        words = "plan kmeans --rows 500 --dims 2 --workers 1"
        return box.json(words, env={**os.environ, **environment})["machine"]

    expect(usual() == "generic", usual())
    expect(usual(MEANWHILE_MACHINE="k40") == "k40", usual(MEANWHILE_MACHINE="k40"))
    own = box / ".config/meanwhile/machine.toml"
    own.parent.mkdir(parents=True)
    own.write_text(PROFILE)
    expect(usual() == "yours", usual())
    expect(usual(MEANWHILE_MACHINE="k40") == "k40", "the variable counts more")
    box.run("plan kmeans --rows 500 --dims 2", code=2, env={**os.environ, "MEANWHILE_MACHINE": "no-such"})


def check_training_by_a_plan_is_the_same_training(box):
    write_data(box)
    (box / "mine.toml").write_text(PROFILE)
    flags = "train kmeans x.npy --n-clusters 7 --max-iter 6 --machine mine.toml --quiet"
    usual = box.json(f"{flags} --out usual")["model_sha256"]
    places = {"threads": ("", 0), "ranks": ("", 2), "store": ("--runtime storage --store job", 0)}
    for place, (words, ranks) in places.items():
        result = box.json(f"{flags} --plan {words} --out {place}", ranks=ranks)
        expect(result["model_sha256"] == usual, f"{place}: another model")
        plan = box.record(place)["plan"]
        expect(plan["machine"] == "mine" and plan["workers"] >= 1 and plan["why"], plan)
        ran = result["threads" if place == "threads" else "workers"]
        expect(ran == plan["workers"], (ran, plan))
        expect_audited(box, place, {"threads": "threads", "ranks": "mpi", "store": "storage"}[place])
    expect(box.record("ranks")["plan"]["exchange"] == box.record("ranks")["exchange"], "another exchange")


def check_a_plan_leaves_alone_what_a_flag_says(box):
    write_data(box)
    said = box.run("train svm rows.libsvm --max-iter 4 --plan --threads 1 --send gradient --out run").stderr
    expect("plan: 1 worker" in said, said)
    record = box.record("run")
    expect(record["threads"] == 1 and record["parameters"]["send"] == "gradient", record)
    box.run("train svm rows.libsvm --max-iter 4 --plan --exchange tree --out ranks", ranks=2)
    expect(box.record("ranks")["exchange"] == "tree", box.record("ranks")["exchange"])


def check_calibrate_makes_a_profile_that_is_taken(box):
    write_data(box)
    own = box / ".config/meanwhile/machine.toml"
    own.parent.mkdir(parents=True)
    # Runs on the profile before say nothing of this one.
    (own.parent / "machine.toml.runs.jsonl").write_text("{}\n")
    said = box.run("calibrate --quick --threads 2 --store store --price-hour 3").stderr
    for part in ("rates of learners", "2 threads are", "storage: reads", f"profile: {own}"):
        expect(part in said, f"{part!r} is missing:\n{said}")
    expect(not (own.parent / "machine.toml.runs.jsonl").exists(), "the old record is there")
    expect([path.name for path in own.parent.iterdir()] == ["machine.toml"], list(own.parent.iterdir()))
    expect(not any(path.is_file() and "calibrate" in path.name for path in box.path.rglob("*")), "something is left")
    expect("hour = 3 " in own.read_text(), own.read_text())
    for runtime in ("threads", "storage"):
        plan = box.json(f"plan kmeans x.npy --runtime {runtime} --workers 1,2")
        expect(plan["machine"] == "yours" and plan["past_runs"] == 0, plan)
        for point in plan["points"]:
            expect_point(point)
    box.run("train kmeans x.npy --n-clusters 5 --out run --quiet")
    expect(box.json("plan kmeans x.npy --workers 1")["past_runs"] == 1, "the run was not remembered")


def check_calibrate_by_ranks_measures_the_network(box):
    done = box.run("calibrate --quick --out two.toml", ranks=2)
    expect(done.stderr.count("profile: two.toml") == 1 and "network " in done.stderr, done.stderr)
    text = (box / "two.toml").read_text()
    expect("[network]" in text and "bandwidth = " in text and "one of 2 ranks" in text, text)
    plan = box.json("plan kmeans --rows 100000 --dims 20 --machine two.toml --workers 1..4")
    expect(plan["runtime"] == "mpi" and len(plan["points"]) == 4, plan)
    # A path that cannot be written is known before anything is measured, and said once.
    done = box.run("calibrate --quick --out two.toml/three.toml", code=None, ranks=2)
    expect(done.returncode != 0 and done.stderr.count("is not a directory") == 1, done.stderr)


def check_a_prediction_is_shown_where_it_was_asked_for_or_measured(box):
    write_data(box)
    (box / "here.toml").write_text(PROFILE)
    for name, flags, shown, hint in (("plain", "", False, False), ("planned", "--plan", True, True),
                                     ("verbose", "--verbose", True, True),
                                     ("measured", "--machine here.toml", True, False)):
        said = box.run(f"train svm rows.libsvm --out {name} {flags}").stderr
        expect((("predicted " in said), ("meanwhile calibrate" in said)) == (shown, hint), said)
        expect("predicted" in box.record(name)["audit"]["seconds"], box.record(name)["audit"])


def check_a_job_that_is_submitted_is_predicted(box):
    write_data(box)
    (box / "here.toml").write_text(PROFILE)
    submit = "submit kmeans x.npy --n-clusters 3 --shards 4 --store"
    predicted = box.json(f"{submit} a --machine here.toml")["predicted"]
    expect(predicted["machine"] == "here" and [p["workers"] for p in predicted["points"]][0] == 1, predicted)
    plan = box.json("plan kmeans --rows 900 --dims 6 --n-clusters 3 --shards 4 --workers 1 --machine here.toml --runtime storage")
    expect(near(predicted["points"][0]["seconds"], plan["points"][0]["total_seconds"], 1e-6), (predicted, plan["points"]))
    expect("predicted" not in box.run(f"{submit} b").stderr, "a guess that nobody asked for")
    expect("predicted, at most: " in box.run(f"{submit} c --verbose").stderr, "no prediction")
    expect(" with 1 worker" in (said := box.run(f"{submit} d --machine here.toml").stderr), said)
