"""What the parts of storage.py share: an Azurite of their own, commands, tables."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

BENCH = os.environ.get("STORAGE_BENCH", "build/release/bench/storage_bench")
AZURITE = "build/azurite/node_modules/azurite/dist/src/azurite.js"
FOLDER = pathlib.Path("build/bench-storage")  # on a disk, as a user's directory is
MB = 1 << 20

# The account everyone knows, from Azurite's documentation: it opens nothing else.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

summary = []  # rows of the table at the end: what, measured, asked, whether it holds


def asked(what, measured, limit, holds):
    summary.append([what, measured, limit, {True: "yes", False: "NO", None: ""}[holds]])


def table(title, head, rows):
    print(f"\n{title}\n\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(end="", flush=True)


def say(text):
    print(f"  ... {text}", flush=True)


def run(command, environment=None, limit=900):
    """Standard output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit,
                          env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def bench(*arguments, environment=None):
    return json.loads(run([BENCH, *arguments], environment))


@contextlib.contextmanager
def azurite(on_disk=False):
    """A fresh server, as the environment that finds it. It dies with this process."""
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder, open(f"{folder}/log", "w+") as log:
        tie = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        kept = ["--location", folder] if on_disk else ["--inMemoryPersistence"]
        ports = [word for name in ("blob", "queue", "table") for word in (f"--{name}Host", "127.0.0.1", f"--{name}Port", "0")]
        server = subprocess.Popen([*tie, "node", AZURITE, "--silent", "--disableTelemetry", *kept, *ports], stdout=log,
                                  stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            found, begin = {}, time.monotonic()
            while not {"Blob", "Queue"} <= found.keys():
                if server.poll() is not None or time.monotonic() - begin > 60:
                    raise SystemExit("azurite does not start: " + pathlib.Path(log.name).read_text())
                time.sleep(0.05)
                for line in pathlib.Path(log.name).read_text().splitlines():
                    words = line.split(" service is successfully listening at ")
                    if len(words) == 2:
                        found[words[0].removeprefix("Azurite ")] = words[1]
            environment = {"AZURE_STORAGE_CONNECTION_STRING":
                           f"AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={found['Blob']}/{ACCOUNT};QueueEndpoint={found['Queue']}/{ACCOUNT};"}
            bench("container", f"azure://{ACCOUNT}/bench", environment=environment)
            yield environment
        finally:
            server.kill()
            server.wait()
