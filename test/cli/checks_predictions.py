"""Predictions stay with the rows they are of, whatever form they are written in."""

import csv
import gzip
import io
import random

from arrow_files import reads_arrow
from harness import expect, expect_equal, points, write_npy

TEXTS = ("", "plain", "007", "a, b", 'said "yes"', "two\nlines", "Zürich", "日本", " blanks ", "1e5", "#5")


def table(rows, line_end="\r\n"):
    """Text of CSV with a column of numbers among texts, and its rows."""
    draw = random.Random(3)
    records = [[str(i), draw.choice(TEXTS), f"{draw.gauss(0, 3):.4f}", f"{draw.random():.3f}", draw.choice(TEXTS)]
               for i in range(rows)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=line_end)
    writer.writerow(["id", "note", "x", "y", "end, of it"])
    writer.writerows(records)
    return out.getvalue(), records


def parsed(data):
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def check_what_is_read_back_is_the_input_and_its_answers(box):
    text, records = table(30_000)
    (box / "t.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (box / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    box.run("train kmeans t.csv --columns x,y --n-clusters 4 --quiet --out run")
    answers = box.run("predict run t.csv").stdout.split()
    for threads in (1, 3):
        box.run(f"predict run t.csv --append --out out.csv --threads {threads}")
        data = (box / "out.csv").read_bytes()
        expect(data.startswith(b"\xef\xbb\xbfid,note,x,y,"), data[:60])
        found = parsed(data)
        expect(found[0] == ["id", "note", "x", "y", "end, of it", "cluster"], found[0])
        expect(found[1:] == [[*record, answer] for record, answer in zip(records, answers)], "rows differ")
    box.run("predict run t.csv.gz --id-column id --out ids.csv")
    found = parsed((box / "ids.csv").read_bytes())
    expect(found == [["id", "cluster"], *([record[0], answer] for record, answer in zip(records, answers))], "ids differ")
    box.run("transform run t.csv --append --out d.csv")
    nearest = []
    for row in parsed((box / "d.csv").read_bytes())[1:]:
        distances = [float(cell) for cell in row[5:]]
        nearest.append(str(distances.index(min(distances))))
    expect(nearest == answers, "distances are of other rows")


def check_every_form_holds_the_same(box):
    text, _ = table(3000, "\n")
    (box / "t.csv").write_text(text, newline="")
    (box / "t.tsv").write_text("".join(f"{x}\t{y}\n" for _, _, x, y, _ in parsed(text.encode())), newline="")
    box.run("train kmeans t.csv --columns x,y --n-clusters 4 --quiet --out run")
    box.run("convert t.csv t.safetensors --columns x,y --quiet")
    answers = {"lines": box.run("predict run t.csv").stdout}
    for name, source in (("a.csv", "t.csv"), ("b.csv", "t.safetensors"), ("c.tsv", "t.tsv"), ("d.txt", "t.csv")):
        said = box.run(f"predict run {source} --out {name}").stderr
        expect(f"{name}: 3000 rows, column cluster\n" in said, said)
        answers[name] = (box / name).read_text().removeprefix("cluster\n")
    expect_equal(answers)


def check_a_scaled_model_of_an_array_takes_a_table(box):
    values = points(300, 3, blobs=3)
    write_npy(box / "x.npy", values, 300, 3)
    rows = [",".join(map(str, values[i:i + 3])) for i in range(0, 900, 3)]
    (box / "x.csv").write_text("a,b,c\n" + "\n".join(rows) + "\n")
    box.run("train kmeans x.npy --standardize --n-clusters 3 --quiet --out run")
    answers = {"array": box.run("predict run x.npy").stdout, "table": box.run("predict run x.csv").stdout}
    box.run("predict run x.csv --append --out out.csv")
    answers["appended"] = "".join(line.rsplit(",", 1)[1] + "\n" for line in (box / "out.csv").read_text().splitlines()[1:])
    expect_equal(answers)


def check_parquet(box):
    (box / "p.csv").write_text("x,y,kind\n1,2,a\n1,3,a\n7,8,b\n,9,b\n")
    box.run("train logistic p.csv --label-column kind --missing drop --quiet --out run")
    if not reads_arrow(box):
        said = box.run("predict run p.csv --out p.parquet", code=2).stderr
        expect("writes no Parquet" in said and "make arrow" in said, said)
        expect(not (box / "p.parquet").exists(), "a file was written")
        return
    box.run("predict run p.csv --probabilities --out p.parquet")
    found = box.json("inspect p.parquet")
    expect([column["column"] for column in found["columns"]] == ["prediction", "probability_a", "probability_b"], found)
    expect([column["missing"] for column in found["columns"]] == [1, 1, 1], found)
    expect(found["columns"][0]["distinct"] == 2, found)
