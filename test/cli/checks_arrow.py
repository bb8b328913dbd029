"""Parquet, Arrow and Feather files: the same model as from CSV, and clear words for what is not read."""

import random
import subprocess

from arrow_files import reads_arrow, write_arrow
from harness import csv_text, expect, expect_equal, messages, points

KINDS = ("t.parquet", "t.feather", "t.arrow", "t.arrows")


def typed_rows(count):
    """A column of each type, as (name, type, values) and as CSV would have it."""
    draw = random.Random(2)
    holes = [i % 11 == 3 for i in range(count)]

    def column(name, kind, make):
        values = [None if holes[i] and name != "y" else make(i) for i in range(count)]
        return name, kind, values
    return [
        column("i8", "int8", lambda i: i % 7 - 3),
        column("i16", "int16", lambda i: i % 300 - 150),
        column("i32", "int32", lambda i: i * i % 1000),
        column("i64", "int64", lambda i: -(i % 40)),
        column("u8", "uint8", lambda i: i % 9),
        column("u16", "uint16", lambda i: i % 21),
        column("u32", "uint32", lambda i: i % 33),
        column("u64", "uint64", lambda i: i % 5),
        column("f16", "float16", lambda i: i % 8 / 4),
        column("f32", "float32", lambda i: draw.randint(-999, 999) / 8),
        column("f64", "float64", lambda i: draw.randint(-999, 999) / 16),
        column("money", "decimal", lambda i: i % 50 / 4),
        column("truth", "bool_", lambda i: i % 3 == 0),
        column("day", "date32", lambda i: f"2024-{i % 12 + 1:02}-{i % 28 + 1:02}"),
        column("day64", "date64", lambda i: f"19{i % 90 + 10}-{i % 12 + 1:02}-01"),
        column("moment", "timestamp_us", lambda i: f"2020-02-{i % 28 + 1:02}T{i % 24:02}:30:00"),
        column("early", "timestamp_ms", lambda i: f"1950-02-{i % 28 + 1:02} {i % 24:02}:15:00"),
        column("word", "string", lambda i: ("red", "green", "dark blue")[i % 3]),
        column("long_word", "large_string", lambda i: ("x", "y")[i % 2]),
        column("code", "dictionary", lambda i: ("b", "a", "z")[i * i % 3]),
        column("y", "float64", lambda i: i % 17 + draw.randint(0, 3)),
    ]


def csv_of(columns):
    def cell(value):
        return "" if value is None else str(value)
    lines = [",".join(name for name, _, _ in columns)]
    lines += [",".join(cell(values[i]) for _, _, values in columns) for i in range(len(columns[0][2]))]
    return "\n".join(lines) + "\n"


def check_every_type_gives_the_model_of_csv(box):
    if not reads_arrow(box):
        return
    columns = typed_rows(500)
    write_arrow(box, columns, *KINDS)
    write_arrow(box, columns, "one.parquet", rows=1000, compression="zstd")
    (box / "t.csv").write_text(csv_of(columns))
    for missing in ("drop", "mean", "indicator"):
        for dtype in ("float32", "float64"):
            flags = f"--label-column y --missing {missing} --dtype {dtype} --max-iter 5 --tol 0 --quiet"
            found, answers = {}, {}
            for name in ("t.csv", "one.parquet", *KINDS):
                for threads in (1, 3):
                    run = f"run-{name}"
                    found[f"{name} {threads}"] = box.json(
                        f"train linear {name} {flags} --threads {threads} --out {run}")["model_sha256"]
                answers[name] = box.run(f"predict {run} t.csv").stdout
                answers[f"{name}, asked of t.csv's model"] = box.run(f"predict run-t.csv {name}").stdout
            expect_equal(found)
            expect_equal(answers)


def check_a_table_in_several_files_is_one_table(box):
    if not reads_arrow(box):
        return
    columns = typed_rows(300)
    write_arrow(box, columns, "whole.parquet")
    (box / "parts").mkdir()
    write_arrow(box, columns, "parts/a.parquet", part=(0, 120))
    write_arrow(box, list(reversed(columns)), "parts/b.parquet", part=(120, 300), rows=7)
    flags = "--label-column y --missing mean --max-iter 3 --quiet"
    expect_equal({name: box.json(f"train linear {name} {flags} --out {name}-run")["model_sha256"]
                  for name in ("whole.parquet", "parts")})
    write_arrow(box, columns[1:], "parts/c.parquet")
    said = box.run(f"train linear parts {flags}", code=2).stderr
    expect("parts/c.parquet: lacks 1 of 20 columns that are needed: i8" in said, said)


def check_parquet_from_standard_input(box):
    if not reads_arrow(box):
        return
    write_arrow(box, typed_rows(300), "t.parquet", "t.arrows")
    flags = "--label-column y --missing mean --max-iter 3 --quiet"
    found = {"file": box.json(f"train linear t.parquet {flags}")["model_sha256"]}
    for name, format in (("t.parquet", ""), ("t.parquet", "--format parquet"), ("t.arrows", "--format arrow")):
        found[f"{name} {format}"] = box.json(f"train linear - {format} {flags}", text=True,
                                             stdin=open(box / name, "rb"))["model_sha256"]
    expect_equal(found)


def check_labels_that_are_words_and_columns_in_structures(box):
    if not reads_arrow(box):
        return
    values = [i % 10 / 2 for i in range(200)]
    labels = ["high" if value > 2 else "low" for value in values]
    write_arrow(box, [("who", "struct", [{"age": value, "pay": value * 3} for value in values]),
                      ("mood", "dictionary", labels), ("__index_level_0__", "int64", list(range(200)))], "t.parquet")
    (box / "t.csv").write_text("who.age,who.pay,mood\n" + "".join(
        f"{value},{value * 3},{label}\n" for value, label in zip(values, labels)))
    flags = "--label-column mood --max-iter 4 --solver lbfgs --tol 0"
    done = box.run(f"train logistic t.parquet {flags} --out run")
    expect("__index_level_0__, the index of pandas, is left out" in done.stderr, done.stderr)
    box.run(f"train logistic t.csv {flags} --out csv")
    expect_equal({run: box.run(f"predict {run} t.parquet").stdout for run in ("run", "csv")})
    expect(set(box.run("predict run t.csv").stdout.split()) == {"high", "low"}, "labels")


def check_what_is_not_read_is_said(box):
    if not reads_arrow(box):
        return
    numbers = [float(i) for i in range(50)]
    write_arrow(box, [("x", "float64", numbers), ("tags", "list", [[1.0]] * 50)], "list.parquet")
    said = box.run("train kmeans list.parquet --n-clusters 2", code=2).stderr
    expect("list.parquet: column tags holds list" in said and "--ignore-column tags" in said, said)
    box.run("train kmeans list.parquet --n-clusters 2 --ignore-column tags --quiet")

    write_arrow(box, [("x", "float64", numbers[:-1] + [float("inf")])], "inf.parquet", rows=7)
    said = box.run("train kmeans inf.parquet --n-clusters 2", code=2).stderr
    expect("inf.parquet: row 49 (counted from 0), column x: found a number that is infinite" in said, said)

    write_arrow(box, [("a", "float64", [None] + numbers[1:]), ("b", "float64", numbers)], "hole.parquet")
    said = box.run("train kmeans hole.parquet --n-clusters 2", code=2).stderr
    expect("hole.parquet: " in said and "a" in said and "--missing" in said, said)

    write_arrow(box, [("x", "float64", [1e9 + i / 1000 for i in range(50)])], "fine.parquet")
    said = box.run("train kmeans fine.parquet --n-clusters 2").stderr
    expect("float32 is too coarse for x" in said and "--dtype float64" in said, said)

    write_arrow(box, [("x", "string", ["1", "2", "three"])], "words.parquet")
    (box / "x.csv").write_text("x\n1\n2\n3\n4\n")
    box.run("train kmeans x.csv --n-clusters 2 --out run --quiet")
    said = box.run("predict run words.parquet", code=2).stderr
    expect('words.parquet: ' in said and "three" in said and "expected a number" in said, said)


def check_damaged_files_are_refused(box):
    if not reads_arrow(box):
        return
    write_arrow(box, typed_rows(200), *KINDS)
    draw = random.Random(8)
    for name in KINDS:
        whole = (box / name).read_bytes()
        for size in (0, 3, 8, 40, len(whole) // 2, len(whole) - 1):
            (box / name).write_bytes(whole[:size])
            # A stream may be cut between two batches: then it is shorter.
            code = None if name.endswith(".arrows") else 2
            done = box.run(f"train linear {name} --label-column y --missing mean --max-iter 2 --quiet", code=code)
            expect(done.returncode in (0, 2), (name, size, done.returncode, done.stderr))
            expect(done.returncode == 0 or len(messages(done.stderr)) == 1 and name in done.stderr, done.stderr)
        for _ in range(40):
            damaged = bytearray(whole)
            for _ in range(draw.choice((1, 1, 5))):
                damaged[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
            (box / name).write_bytes(damaged)
            done = box.run(f"train linear {name} --label-column y --missing mean --max-iter 2 --quiet", code=None)
            expect(done.returncode in (0, 1, 2), (name, done.returncode, done.stderr))
            expect(done.returncode == 0 or len(messages(done.stderr)) == 1, done.stderr)
