"""Matrix factorisation: one answer on every runtime, names as they are, lists without rated items."""

import csv
import io
import random

from harness import expect, expect_equal


def write_ratings(box, users=60, items=40, seed=5):
    draw = random.Random(seed)
    pairs = [(u, i) for u in range(users) for i in range(items) if draw.random() < 0.3]
    draw.shuffle(pairs)
    rows = [(f"u{u}", f"i{i}", 1 + (u * i + u) % 5) for u, i in pairs]
    cut = len(rows) * 4 // 5
    for name, part in (("ratings.csv", rows[:cut]), ("held.csv", rows[cut:])):
        (box / name).write_text("user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in part))
    return rows[:cut], rows[cut:]


def check_factorize_gives_one_answer_everywhere(box):
    write_ratings(box)
    box.run("convert ratings.csv r.safetensors --ratings explicit --quiet")
    box.run("convert ratings.csv c.safetensors --ratings implicit --quiet")
    for kind, converted in (("", "r"), ("--feedback implicit --alpha 4", "c"), ("--cg-steps 0", "r")):
        flags = f"--n-factors 6 --max-iter 4 --tol 0 --shards 8 --quiet {kind}"
        train = f"train factorize ratings.csv {flags}"
        name = converted + str(len(kind))
        found = {}
        for threads in (1, 2, 3):
            found[f"{threads} threads"] = box.json(f"{train} --threads {threads} --out t{name}{threads}")
        for exchange in ("allreduce", "tree"):
            found[f"3 ranks by {exchange}"] = box.json(
                f"{train} --threads 1 --exchange {exchange} --out m{name}{exchange}", ranks=3, code=None)
        found["a store"] = box.json(f"{train} --workers 2 --store s{name} --out w{name}")
        found["a converted file"] = box.json(f"train factorize {converted}.safetensors {flags} --out v{name}")
        box.run(f"train factorize ratings.csv {flags} --max-iter 2 --out h{name}")
        found["two passes and two more"] = box.json(
            f"train factorize ratings.csv --resume h{name} --max-iter 4 --quiet")
        expect_equal({how: run["model_sha256"] for how, run in found.items()})


def check_factorize_names_are_text(box):
    users = ['a "quoted" one', "with, comma", "Zoë", "日本"]
    items = ["x;y", "film №1", "-3", "0"]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["when", "who", "what", "grade"])
    pairs = [(u, i) for u in users for i in items if (u, i) != (users[2], items[1])]
    for number, (user, item) in enumerate(pairs):
        writer.writerow([number, user, item, 1 + number % 5])
    (box / "r.csv").write_text(text.getvalue())
    columns = "--user-column who --item-column what --rating-column grade"
    box.run(f"train factorize r.csv {columns} --n-factors 2 --quiet --out r")
    (box / "pairs.csv").write_text(text.getvalue())
    rows = list(csv.reader(io.StringIO(box.run("predict r pairs.csv").stdout)))
    expect(rows[0] == ["user", "item", "prediction"], f"header {rows[0]}")
    expect([tuple(row[:2]) for row in rows[1:]] == pairs, "other names than were given")
    (box / "users.txt").write_text("\n".join(users))
    lists = box.json("recommend r --users users.txt --top 3 --json")["recommendations"]
    expect([entry["user"] for entry in lists] == users, "other users")
    named = {entry["user"]: [item["item"] for item in entry["items"]] for entry in lists}
    expect(named == {user: ["film №1"] if user == users[2] else [] for user in users}, f"lists {named}")
    kept = box.json("recommend r --users users.txt --top 3 --json --keep-rated")["recommendations"]
    expect(all(len(entry["items"]) == 3 for entry in kept), "lists are not full")
    scores = [item["score"] for item in kept[0]["items"]]
    expect(scores == sorted(scores, reverse=True), "the best is not first")


def check_factorize_is_measured(box):
    rated, held = write_ratings(box)
    box.run("train factorize ratings.csv --n-factors 8 --quiet --out r")
    rows = list(csv.DictReader(io.StringIO(box.run("predict r held.csv").stdout)))
    errors = [float(row["prediction"]) - rating for row, (_, _, rating) in zip(rows, held, strict=True)]
    measures = box.json("evaluate r held.csv --top 5 --json")
    rmse = (sum(e * e for e in errors) / len(errors)) ** 0.5
    expect(abs(measures["rmse"] - rmse) < 1e-4, f"rmse {measures['rmse']}, by hand {rmse}")
    mae = sum(abs(e) for e in errors) / len(errors)
    expect(abs(measures["mae"] - mae) < 1e-4, f"mae {measures['mae']}, by hand {mae}")
    # Precision from the lists themselves.
    mean = sum(rating for _, _, rating in rated) / len(rated)
    relevant = {}
    for user, item, rating in held:
        if rating >= mean:
            relevant.setdefault(user, set()).add(item)
    (box / "users.txt").write_text("\n".join(relevant))
    lists = box.json("recommend r --users users.txt --top 5 --json")["recommendations"]
    seen = {(user, item) for user, item, _ in rated}
    hits = 0
    for entry in lists:
        names = [item["item"] for item in entry["items"]]
        expect(all((entry["user"], name) not in seen for name in names), "a rated item is listed")
        hits += len(relevant[entry["user"]] & set(names))
    precision = hits / 5 / len(relevant)
    expect(abs(measures["precision"] - precision) < 1e-9, f"{measures['precision']} and {precision}")
