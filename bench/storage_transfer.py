"""Bytes to and from a store, against curl: a part of storage.py."""

import hashlib
import os
import pathlib
import random
import statistics
import subprocess
import tempfile

from storage_server import ACCOUNT, FOLDER, MB, asked, azurite, bench, run, say, table


def curl(kind, links, file, keep=None):
    """Seconds of each transfer, by curl's own clock: neither its start nor what is between two transfers counts.
    One process, one connection, no waiting for "100 Continue". What arrives goes to files in the folder `keep`, or
    is thrown away."""
    each = {"put": f'upload-file = "{file}"\nheader = "x-ms-blob-type: BlockBlob"\nheader = "Expect:"\n', "get": ""}[kind]
    outputs = [keep / str(i) if keep else "/dev/null" for i in range(len(links))]
    config = "next\n".join(f'url = "{link}"\n{each}output = "{outputs[i]}"\nsilent\nshow-error\n'
                           'write-out = "%{http_code} %{time_total} %{num_connects} %{size_upload} %{size_download}\\n"\n' for i, link in enumerate(links))
    done = subprocess.run(["curl", "-q", "-K", "-"], input=config, capture_output=True, text=True, timeout=600)
    rows = [line.split() for line in done.stdout.splitlines()]
    size = str(os.path.getsize(file))
    good = {"put": ("201", size, "0"), "get": ("200", "0", size)}[kind]
    if len(rows) != len(links) or any((r[0], r[3], r[4]) != good for r in rows) or sum(int(r[2]) for r in rows) != 1:
        raise SystemExit(f"curl did not {kind} as it should: {done.stdout}{done.stderr}")
    return [float(r[1]) for r in rows]


def transfer(quick):
    """Put and get of 8 MB blobs by one worker, one after the other; ours through BlobStore, from and into memory.
    curl's files are in memory, too; a curl that keeps nothing has less to do, and is shown beside it.
    A turn moves all blobs with a process of its own; the seconds are the sum of those of its transfers, but for the
    first, which finds connection and memory."""
    count, turns = (5, 2) if quick else (17, 7)
    rest = lambda seconds: sum(seconds[1:])
    file = FOLDER / "blob"
    file.write_bytes(random.Random(1).randbytes(8 * MB))
    sha256 = lambda path: hashlib.sha256(path.read_bytes()).hexdigest()
    digest, rows = sha256(file), []
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else FOLDER
    for server, place in (("memory", "in memory"), ("disk", "on disk")):
        with azurite(server == "disk") as environment:
            seconds = {}
            urls = {who: f"azure://{ACCOUNT}/bench/{who}" for who in ("ours", "curl")}
            links = {who: bench("links", url, count, environment=environment) for who, url in urls.items()}
            equal = True
            for turn in range(-1, turns):  # the first to warm up
                took = {}
                for who in (("ours", "curl") if turn % 2 else ("curl", "ours")):
                    if who == "curl":
                        took[who, "put"] = rest(curl("put", links["curl"], file))
                        took[who, "get, curl keeping nothing"] = rest(curl("get", links["curl"], file))
                        with tempfile.TemporaryDirectory(dir=memory) as keep:
                            took[who, "get"] = rest(curl("get", links["curl"], file, pathlib.Path(keep)))
                            equal = equal and {sha256(path) for path in pathlib.Path(keep).iterdir()} == {digest}
                        continue
                    took[who, "put"] = rest(bench("put", urls["ours"], count, file, environment=environment)["seconds"])
                    got = bench("get", urls["ours"], count, environment=environment)
                    took[who, "get"] = took[who, "get, curl keeping nothing"] = rest(got["seconds"])
                    equal = equal and got["sha256"] == [digest]
                # Each reads what the other has put.
                equal = equal and bench("get", urls["curl"], count, environment=environment)["sha256"] == [digest]
                read = subprocess.run(["curl", "-q", "-s", links["ours"][0]], capture_output=True, timeout=60).stdout
                equal = equal and hashlib.sha256(read).hexdigest() == digest
                for who in urls:
                    took[who, "put and get"] = took[who, "put"] + took[who, "get"]
                if turn >= 0:
                    for key, value in took.items():
                        seconds.setdefault(key, []).append(value)
            for kind in ("put", "get", "put and get", "get, curl keeping nothing"):
                moved = (count - 1) * 8 * (2 if kind == "put and get" else 1)
                ours, theirs = seconds["ours", kind], seconds["curl", kind]
                of_min, of_median = min(theirs) / min(ours), statistics.median(theirs) / statistics.median(ours)
                rows.append([place, kind, f"{moved / min(ours):.0f}", f"{moved / statistics.median(ours):.0f}", f"{moved / min(theirs):.0f}",
                             f"{moved / statistics.median(theirs):.0f}", f"{of_min:.2f}", f"{of_median:.2f}", "equal" if equal else "NOT EQUAL"])
                asked(f"8 MB blobs over curl's speed, Azurite {place}: {kind}", f"{of_min:.2f} (medians {of_median:.2f})", "≥ 0.8",
                      equal and of_median >= 0.8)
            say(f"transfer, Azurite {place}: done")
    file.unlink()
    table(f"Put and get of {count - 1} blobs of 8 MB at Azurite, one worker, {turns} turns: MB/s", ["Azurite", "", "ours max", "ours median", "curl max",
          "curl median", "ours / curl", "of medians", "SHA-256"], rows)
