"""What linear models say of rows: labels, probabilities, margins and measures agree."""

import math
import random

from harness import expect, libsvm_text, read_npy


def check_probabilities_margins_and_labels_agree(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    (box / "test.libsvm").write_text(libsvm_text(150, 40, 5, seed=2))
    box.run("train logistic rows.libsvm --out a --quiet")
    box.run("predict a test.libsvm --probabilities --out p.npy")
    box.run("transform a test.libsvm --out z.npy")
    labels = [int(line) for line in box.run("predict a test.libsvm").stdout.split()]
    kind, shape, p = read_npy(box / "p.npy")
    expect((kind, shape) == ("<f8", (150, 2)), (kind, shape))
    kind, shape, z = read_npy(box / "z.npy")
    expect((kind, shape) == ("<f8", (150,)), (kind, shape))
    truth = [int(line.split()[0]) for line in (box / "test.libsvm").read_text().splitlines()]
    loss = 0
    for i in range(150):
        negative, positive = p[2 * i], p[2 * i + 1]
        expect(abs(negative + positive - 1) < 1e-12, "they do not add up to one")
        expect(abs(positive - 1 / (1 + math.exp(-z[i]))) < 1e-12, "not of this margin")
        expect(labels[i] == (1 if positive > 0.5 else -1), "not the likelier label")
        loss -= math.log(positive if truth[i] == 1 else negative) / 150
    measures = box.json("evaluate a test.libsvm")
    accuracy = sum(a == b for a, b in zip(labels, truth)) / 150
    expect(abs(measures["accuracy"] - accuracy) < 1e-12 and accuracy > 0.75, measures)
    expect(abs(measures["log_loss"] - loss) < 1e-9, (measures, loss))


def check_words_get_a_probability_each_in_the_order_of_the_classes(box):
    draw = random.Random(1)
    middles = {"cat": (0, 0), "dog": (6, 0), "owl": (0, 6)}
    kinds = [draw.choice(sorted(middles)) for _ in range(200)]
    rows = ["width,height,kind"]
    for kind in kinds:
        rows.append(",".join(f"{draw.gauss(middle, 1):.3f}" for middle in middles[kind]) + "," + kind)
    (box / "animals.csv").write_text("\n".join(rows) + "\n")
    read = "animals.csv --label-column kind"
    for flags in ("", "--multi-class ovr"):
        box.run(f"train logistic {read} {flags} --out a --quiet")
        classes = box.json("inspect a/model.safetensors")["classes"]
        expect(sorted(classes) == sorted(middles), classes)
        said = box.run(f"predict a {read}").stdout.split()
        lines = box.run(f"predict a {read} --probabilities").stdout.splitlines()
        for kind, line in zip(said, lines, strict=True):
            p = [float(value) for value in line.split(",")]
            expect(abs(sum(p) - 1) < 1e-9 and classes[p.index(max(p))] == kind, (kind, line))
        right = sum(a == b for a, b in zip(said, kinds))
        expect(right > 190, right)


def check_the_largest_weights_have_the_names_of_the_header(box):
    draw = random.Random(3)
    rows = ["noise,area,rooms,price"]
    for _ in range(300):
        noise, area, rooms = (draw.gauss(0, 1) for _ in range(3))
        rows.append(f"{noise},{area},{rooms},{3 * area - 7 * rooms + 11}")
    (box / "houses.csv").write_text("\n".join(rows) + "\n")
    box.run("train linear houses.csv --label-column price --l1 0.1 --l2 0 --tol 1e-8 --out a --quiet")
    about = box.json("inspect a/model.safetensors")
    largest = about["largest_weights"]
    expect([entry["of"] for entry in largest] == ["rooms", "area"], largest)
    expect(about["nonzero_weights"] == 2, "l1 leaves no true zero")
    # The penalty takes some off each, but not off the intercept.
    expect(-7 < largest[0]["weight"] < -6.7 and 2.7 < largest[1]["weight"] < 3, largest)
    expect(abs(about["intercept"][0] - 11) < 0.1, about["intercept"])


def check_defaults_give_a_good_model_by_every_way(box):
    (box / "rows.libsvm").write_text(libsvm_text(2000, 60, 8))
    objectives = {}
    for learner in ("svm", "logistic"):
        for flags in ("", "--solver sgd", "--solver lbfgs", "--solver hybrid"):
            result = box.json(f"train {learner} rows.libsvm {flags} --quiet")
            expect(result["finished"] and result["stopped_because"], result)
            objectives[flags] = result["objective"]
        best = min(objectives.values())
        expect(max(objectives.values()) < 1.03 * best, (learner, objectives))


def check_a_run_that_used_up_its_rounds_says_that_it_has_not_converged(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    note = "note: not converged after 2 rounds; --max-iter gives it more\n"
    for flags, short in (("", True), ("--solver lbfgs", True), ("--tol 0", False), ("--solver sgd", False),
                         ("--send gradient", False)):
        said = box.run(f"train logistic rows.libsvm --max-iter 2 {flags} --out a").stderr
        expect((note in said) == short, f"{flags}: {said}")
    expect("not converged" not in box.run("train logistic rows.libsvm --out a").stderr, "it has converged")
    for flags, short in (("", True), ("--tol 0", False), ("--batch-size 50", False)):
        said = box.run(f"train kmeans rows.libsvm --n-clusters 20 --init random --max-iter 2 {flags} --out a").stderr
        expect((note in said) == short, f"{flags}: {said}")


def check_inspect_shows_the_held_out_loss_of_the_model_that_was_kept(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    trained = box.json("train logistic rows.libsvm --validation-fraction 0.3 --l2 0 --patience 2 --solver lbfgs --out a")
    shown = box.json("inspect a")
    expect(shown["held_out_loss"] == trained["held_out_loss"], (shown, trained))
    expect(shown["last_round"]["held_out_loss"] > shown["held_out_loss"], shown["last_round"])
    expect("held_out_accuracy" in shown and shown["chosen"]["solver"] == "lbfgs", shown)


def check_a_held_out_run_that_is_resumed_has_the_bits_of_the_longer_run(box):
    """The first part ends at max_iter, with a best model and an end of patience that the second part goes on with."""
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    (box / "held.libsvm").write_text(libsvm_text(200, 40, 5, seed=3))
    for held in ("--validation-fraction 0.3", "--eval held.libsvm"):
        for solver in ("lbfgs", "sgd", "hybrid"):
            flags = f"train logistic rows.libsvm --l2 0 --tol 0 --patience 3 --solver {solver} {held} --quiet"
            whole = box.json(f"{flags} --max-iter 14 --out whole")
            box.run(f"{flags} --max-iter 4 --out part")
            longer = box.json("train logistic rows.libsvm --resume part --max-iter 14 --quiet")
            expect(longer["model_sha256"] == whole["model_sha256"], (held, solver))
            expect(longer["rounds"] == whole["rounds"], (held, solver, longer["rounds"], whole["rounds"]))


def check_working_sets_on_a_store_are_those_on_threads(box):
    (box / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
    flags = "train logistic rows.libsvm --solver working-set --l1 1e-2 --tol 1e-9 --quiet"
    threads = box.json(f"{flags} --out threads")
    for workers in (1, 3):
        store = box.json(f"{flags} --runtime storage --store job{workers} --workers {workers} --out store{workers}")
        expect(store["model_sha256"] == threads["model_sha256"], (workers, store))
        expect(store["relative_gap"] <= 1e-9, store)
