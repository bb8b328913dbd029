"""Graphs: one answer on every runtime, through kills, from every format."""

import os
import random
import signal
import time

from harness import expect, expect_equal

JOBS = {
    "pagerank": "--undirected --max-iter 40 --tol 0",
    "components": "--undirected",
    "kcore": "--undirected",
    "spread": "--undirected --seeds seeds.csv --max-iter 25 --tol 0",
    "belief": "",
    "belief --schedule flood": "--max-iter 30 --tol 0",
    "belief --schedule sweep": "",
    "belief --schedule residual": "",
    "belief --map": "--max-iter 40",
}


def write_graph(box, vertices=400, edges=2500, seed=1):
    draw = random.Random(seed)
    pairs = [(draw.randrange(vertices), draw.randrange(1 + draw.randrange(vertices))) for _ in range(edges)]
    (box / "g.el").write_text("".join(f"{3 * a + 5} {3 * b + 5}\n" for a, b in pairs))
    (box / "seeds.csv").write_text(f"{3 * pairs[0][0] + 5} x\n{3 * pairs[1][1] + 5} y\n")


def code_of(job):
    """Whether max-product converges here is of no interest."""
    return None if "--map" in job else 3 if "--tol 0" in JOBS[job] else 0


def check_graph_learners_give_one_answer_everywhere(box):
    write_graph(box)
    box.run("generate ising --rows 5 --cols 4 --coupling 2 --seed 2 --out g.uai --quiet")
    for number, (job, flags) in enumerate(JOBS.items()):
        of_graph = not job.startswith("belief")
        train = f"train {job} {'g.el' if of_graph else 'g.uai'} {flags} --shards 8 --quiet"
        found, job_code, job = {}, code_of(job), str(number)
        if not of_graph:
            for shards in (1, 3, 32):
                found[f"{shards} shards"] = box.json(f"{train} --shards {shards} --out s{job}{shards}",
                                                     code=job_code)["model_sha256"]
        for threads in (1, 2, 3):
            found[f"{threads} threads"] = box.json(f"{train} --threads {threads} --out t{job}{threads}",
                                                   code=job_code)["model_sha256"]
        for exchange in ("allreduce", "tree", *(["mirrors"] if of_graph and "components" not in train else [])):
            found[f"5 threads by {exchange}"] = box.json(
                f"{train} --threads 5 --exchange {exchange} --out x{job}{exchange}",
                code=job_code)["model_sha256"]
            found[f"3 ranks by {exchange}"] = box.json(
                f"{train} --threads 1 --exchange {exchange} --out m{job}{exchange}", ranks=3,
                code=None)["model_sha256"]
        for workers in (1, 3) if of_graph else (2,):
            found[f"{workers} workers of a store"] = box.json(
                f"{train} --workers {workers} --store s{job}{workers} --out w{job}{workers}",
                code=job_code)["model_sha256"]
        expect_equal(found)


def check_all_ranks_exit_with_3_when_a_run_has_not_converged(box):
    write_graph(box)
    done = box.run("train pagerank g.el --undirected --max-iter 3 --quiet --out r", ranks=2, code=None)
    expect(done.returncode == 3, f"exit code {done.returncode}: {done.stderr}")
    expect((box / "r" / "model.safetensors").exists(), "no model")


def check_a_graph_job_is_submitted_worked_and_fetched(box):
    write_graph(box)
    alone = box.json("train pagerank g.el --undirected --max-iter 3 --quiet --out a --shards 4", code=3)
    box.run("submit pagerank g.el --undirected --max-iter 3 --shards 4 --store job --quiet")
    (box / "g.el").unlink()  # workers need the store alone
    box.run("worker --store job --quiet")
    fetched = box.json("fetch --store job --out b --quiet", code=3)
    expect_equal({"alone": alone["model_sha256"], "fetched": fetched["model_sha256"]})
    for name in ("converged", "residual"):
        expect_equal({"alone": alone[name], "fetched": fetched[name], "run.json": box.record("b")[name]})
    expect_equal({"a": box.run("predict a").stdout, "b": box.run("predict b").stdout})


def check_a_killed_graph_run_goes_on_to_the_same_model(box):
    write_graph(box, 20_000, 200_000)
    flags = "--undirected --tol 0 --quiet --checkpoint-seconds 0"
    process = box.start(f"train pagerank g.el {flags} --max-iter 1000000 --out killed".split())
    deadline = time.time() + 120
    while len(box.rounds("killed")) < 3:
        expect(process.poll() is None and time.time() < deadline, "it ended, or did not begin")
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    most = max(box.rounds("killed")) + 4
    resumed = box.json(f"train pagerank g.el {flags} --max-iter {most} --resume killed", code=3)
    straight = box.json(f"train pagerank g.el {flags} --max-iter {most} --out straight", code=3)
    expect_equal({"resumed": resumed["model_sha256"], "straight": straight["model_sha256"]})


def check_a_killed_belief_run_goes_on_to_the_same_model(box):
    box.run("generate ising --rows 150 --cols 150 --coupling 4 --seed 1 --out g.uai --quiet")
    flags = "--schedule flood --tol 0 --quiet --checkpoint-seconds 0"
    process = box.start(f"train belief g.uai {flags} --max-iter 1000000 --out killed".split())
    deadline = time.time() + 120
    while len(box.rounds("killed")) < 3:
        expect(process.poll() is None and time.time() < deadline, "it ended, or did not begin")
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    most = max(box.rounds("killed")) + 4
    resumed = box.json(f"train belief g.uai {flags} --max-iter {most} --resume killed", code=3)
    straight = box.json(f"train belief g.uai {flags} --max-iter {most} --shards 5 --out straight", code=3)
    expect_equal({"resumed": resumed["model_sha256"], "straight": straight["model_sha256"]})


def check_marginals_of_a_tree_are_exact(box):
    """Two binary variables: P(a) and P(b) by hand."""
    (box / "t.uai").write_text("MARKOV\n2\n2 2\n2\n1 0\n2 0 1\n2 0.25 0.75\n4 1 3 2 2\n")
    record = box.json("train belief t.uai --out r --quiet")
    expect(record["converged"] and abs(10 ** record["log10_z"] - 4) < 1e-9, str(record))
    box.run("predict r --out t.MAR")
    words = (box / "t.MAR").read_text().split()
    expect(words[:3] == ["MAR", "2", "2"], str(words))
    found = [float(word) for word in words[3:5] + words[6:8]]
    expected = [0.25, 0.75, (0.25 * 1 + 0.75 * 2) / 4, (0.25 * 3 + 0.75 * 2) / 4]
    expect(all(abs(a - b) < 1e-9 for a, b in zip(found, expected)), f"{found}, expected {expected}")
    (box / "t.evid").write_text("1 1 0\n")
    box.run("train belief t.uai --evidence t.evid --out e --quiet")
    lines = box.run("predict e").stdout.splitlines()
    expect(lines[0] == "variable,state,probability" and lines[3] == "1,0,1", str(lines))
    box.run("train belief t.uai --map --out m --quiet")
    box.run("predict m --out t.MAP")
    expect((box / "t.MAP").read_text().split() == ["MAP", "2", "1", "0"] or
           (box / "t.MAP").read_text().split() == ["MAP", "2", "1", "1"], (box / "t.MAP").read_text())


def check_all_formats_of_a_graph_give_one_model(box):
    box.run("generate uniform --vertices 200 --edges 900 --seed 4 --out g.el --quiet")
    # Vertices without edges are in all formats but the list.
    lines = (box / "g.el").read_text().splitlines()
    pairs = [tuple(map(int, line.split())) for line in lines] + [(0, 199)]
    pairs += [(v, (v + 1) % 200) for v in range(200)]
    pairs = sorted({(min(p), max(p)) for p in pairs})
    (box / "g.el").write_text("".join(f"{a} {b}\n" for a, b in pairs))
    (box / "g.csv").write_text("source,target\n" + "".join(f"{b},{a}\n" for a, b in reversed(pairs)))
    around = [[] for _ in range(200)]
    for a, b in pairs:
        around[a].append(b)
        around[b].append(a)
    (box / "g.graph").write_text(
        f"200 {len(pairs)}\n" + "".join(" ".join(str(v + 1) for v in row) + "\n" for row in around))
    (box / "g.adj").write_text("200\n" + "".join(" ".join(map(str, row)) + "\n" for row in around))
    (box / "g.mtx").write_text(
        f"%%MatrixMarket matrix coordinate pattern symmetric\n200 200 {len(pairs)}\n"
        + "".join(f"{b + 1} {a + 1}\n" for a, b in pairs))
    box.run("convert g.el g.safetensors --undirected --quiet")
    (box / "run.sh").write_text("gzip -k g.el; zstd -q g.mtx -o z.mtx.zst\n")
    import subprocess
    subprocess.run(["sh", "run.sh"], cwd=box.path, check=True)
    found, from_one, ranks = {}, {}, {}
    for name in ("g.el", "g.csv", "g.graph", "g.adj", "g.mtx", "g.safetensors", "g.el.gz", "z.mtx.zst"):
        record = box.json(f"train pagerank {name} --undirected --quiet --out r-{name}")
        counted = from_one if name in ("g.graph", "g.mtx", "z.mtx.zst") else found
        counted[name] = (record["model_sha256"], record["data_sha256"])
        rows = [line.split(",") for line in box.run(f"predict r-{name} --out -").stdout.splitlines()[1:]]
        expect([int(row[0]) for row in rows] == list(range(counted is from_one, 200 + (counted is from_one))), name)
        ranks[name] = tuple(row[1] for row in rows)
    piped = box.json("train pagerank - --undirected --quiet --out piped", input=(box / "g.el").read_text())
    found["-"] = (piped["model_sha256"], piped["data_sha256"])
    expect_equal(found)
    expect_equal(from_one)  # ids of these formats begin with 1
    expect_equal(ranks)
