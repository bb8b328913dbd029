#!/usr/bin/env python3
"""Jobs at the server that AZURE_STORAGE_CONNECTION_STRING names, straight and through a faulty proxy:

    scripts/azurite.sh test/storage/azure_jobs.py PROGRAM TABLE_PROGRAM [--seed N] [WORD...]

A WORD keeps the tests whose name holds it. TABLE_PROGRAM has a learner with tables, words (test/tables/table_main.cc).
The tests run side by side, for they mostly wait; each has a container of its own.
"""

import argparse
import base64
import concurrent.futures
import contextlib
import hashlib
import hmac
import os
import pathlib
import re
import signal
import sys
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli")]
import proxy  # noqa: E402
from harness import (Failure, Sandbox, documents, expect, expect_equal, libsvm_text, messages, points,  # noqa: E402
                     write_npy)

AT_ONCE = 4
JOBS = {
    "kmeans": "kmeans x.npy --n-clusters 7 --n-init 1 --shards 8 --tol 0",
    "svm": "svm rows.libsvm --solver sgd --max-iter 6 --shards 20",
    "logistic": "logistic rows.libsvm --solver hybrid --l1 1e-3 --standardize --max-iter 12 --shards 9",
}
TABLES = "words documents.npy --words 300 --width 8 --all-kinds 1 --remembers 1 --max-iter 5 --shards 10"
LONG = "logistic rows.libsvm --solver sgd --l2 1e-9 --tol 0 --max-iter 100000 --shards 8"
FOREVER = "2099-01-01T00:00:00Z"
NOT_THE_KEY = base64.b64encode(b"not the key " * 5 + b"1234").decode()


class Account:
    """An account of the server, as the connection string says."""

    def __init__(self, text):
        self.fields = dict(part.split("=", 1) for part in text.split(";") if part)
        self.name, self.key = self.fields["AccountName"], self.fields["AccountKey"]
        self.blobs, self.queues = self.fields["BlobEndpoint"], self.fields["QueueEndpoint"]

    def connection(self, credential=None, endpoints=None):
        """A connection string: with the key, or another credential; perhaps by way of a proxy."""
        blobs, queues = endpoints or (self.blobs, self.queues)
        return (f"AccountName={self.name};{credential or 'AccountKey=' + self.key};"
                f"BlobEndpoint={blobs};QueueEndpoint={queues}")

    def sas(self, permissions="rwdlacup", expiry=FOREVER):
        fields = {"sv": "2020-10-02", "ss": "bq", "srt": "sco", "sp": permissions, "se": expiry}
        signed = [self.name, fields["sp"], fields["ss"], fields["srt"], "", fields["se"], "", "", fields["sv"], ""]
        digest = hmac.new(base64.b64decode(self.key), "\n".join(signed).encode(), hashlib.sha256).digest()
        return urllib.parse.urlencode({**fields, "sig": base64.b64encode(digest).decode()})

    def get(self, url, query):
        with urllib.request.urlopen(f"{url}?{query}{'&' if query else ''}{self.sas()}", timeout=30) as answer:
            return answer.read()

    def blob_names(self, container):
        try:
            xml = self.get(f"{self.blobs}/{container}", "restype=container&comp=list").decode()
        except urllib.error.HTTPError as error:
            expect(error.code == 404, error)
            return []
        return re.findall(r"<Name>(.*?)</Name>", xml)

    def create_container(self, name):
        request = urllib.request.Request(f"{self.blobs}/{name}?restype=container&{self.sas()}", method="PUT",
                                         headers={"Content-Length": "0", "x-ms-version": "2020-10-02"})
        urllib.request.urlopen(request, timeout=30).close()

    def queue_names(self):
        return re.findall(r"<Name>(.*?)</Name>", self.get(self.queues + "/", "comp=list").decode())


class Secretive(Sandbox):
    """Keeps all that was printed, to be searched for secrets; runs with credentials of its choice."""

    def __init__(self, program, account, container, seed):
        super().__init__(program)
        self.account, self.container, self.seed, self.printed = account, container, seed, []
        self.clean = {name: value for name, value in os.environ.items() if not name.startswith("AZURE_")}
        write_npy(self / "x.npy", points(900, 6, blobs=7), 900, 6)
        (self / "rows.libsvm").write_text(libsvm_text(600, 40, 5))
        write_npy(self / "documents.npy", documents(100, 6), 100, 6)

    def at(self, name):
        return f"azure://{self.account.name}/{self.container}/{name}"

    def expect_nothing_left(self):
        left = self.account.blob_names(self.container)
        expect(left == [], f"left behind: {left}")

    def environment(self, connection=None):
        return {**self.clean, "AZURE_STORAGE_CONNECTION_STRING": connection or self.account.connection()}

    def run(self, words, connection=None, **options):
        done = super().run(words, env=self.environment(connection), **options)
        self.printed += [done.stdout, done.stderr]
        return done

    def refused(self, words, connection, *parts):
        """A command that must fail and say these."""
        done = self.run(words, connection=connection, code=2)
        expect(len(messages(done.stderr)) == 1, done.stderr)
        for part in parts:
            expect(part in done.stderr, f"{words}: stderr lacks {part!r}:\n{done.stderr}")

    def on_threads(self, job):
        return self.json(f"train {job} --quiet --out on-threads")["model_sha256"]

    @contextlib.contextmanager
    def workers(self, url, connections, words=""):
        command = ["worker", "--store", url, "--threads", "1", "--wait", "30", "--timeout", "60", *words.split()]
        running = [self.start(command, env=self.environment(connection)) for connection in connections]
        try:
            yield running
        finally:
            for process in running:
                process.kill()
                process.communicate()

    def ended(self, process, code=0):
        out, said = process.communicate(timeout=100)
        self.printed += [out, said]
        expect(process.returncode == code, f"a worker ended with {process.returncode}: {said}")
        return out + said

    def expect_no_secrets(self, *others):
        """Neither key nor signature, in what was printed, written here, or given."""
        secrets = [self.account.key[:20], NOT_THE_KEY[:20], "sig=", "SharedKey "]
        texts = [*self.printed, *others]
        texts += [path.read_bytes().decode(errors="replace") for path in self.path.rglob("*") if path.is_file()]
        for text in texts:
            for secret in secrets:
                at = text.find(secret)
                expect(at < 0, f"a secret is shown: {text[max(0, at - 200):at]}")


def all_the_way(box, job, connection, name, connections=None):
    """Submits, works with three processes, fetches and removes. Returns the model's SHA-256."""
    url = box.at(name)
    box.run(f"submit {job} --lease 2 --store {url} --quiet", connection=connection)
    state = box.json(f"status --store {url}", connection=connection)["state"]
    expect(state in ("waiting", "uploading"), state)
    with box.workers(url, connections or [connection] * 3, "--quiet") as running:
        for process in running:
            box.ended(process)
    state = box.json(f"status --store {url}", connection=connection)["state"]
    expect(state == "done", state)
    result = box.json(f"fetch --store {url} --quiet --out {name}", connection=connection)
    # Straight: who is shown late what there is cannot remove all of it.
    box.run(f"fetch --store {url} --remove --quiet --out {name}-again")
    expect(box.rounds(name) == list(range(1, result["rounds"] + 1)), f"rounds {box.rounds(name)}")
    expect(box.record(name)["bill"]["requests_total"] > 0, box.record(name))
    return result["model_sha256"]


def check_jobs_with_the_key(box):
    expect_equal({"threads": box.on_threads(JOBS["svm"]), "azure": all_the_way(box, JOBS["svm"], None, "with-key")})


def check_jobs_with_a_signature(box):
    signature = box.account.connection("SharedAccessSignature=" + box.account.sas())
    expect_equal({"threads": box.on_threads(JOBS["kmeans"]),
                  "azure": all_the_way(box, JOBS["kmeans"], signature, "with-sas")})


def check_train_on_the_server(box):
    found = {"threads": box.on_threads(JOBS["logistic"])}
    result = box.json(f"train {JOBS['logistic']} --runtime storage --store {box.at('train')} --workers 3 --quiet --out run")
    found["azure"] = result["model_sha256"]
    box.expect_nothing_left()
    expect_equal(found)


def check_rows_dealt_by_content(box):
    """The order of rows and the way they came to the server make no difference; the deal makes one."""
    lines = (box / "rows.libsvm").read_text().splitlines(keepends=True)
    lines += lines[:200]
    (box / "rows.libsvm").write_text("".join(lines))
    (box / "turned.libsvm").write_text("".join(reversed(lines)))
    job = "logistic {} --max-iter 12 --shards 9 --deal {}"
    turned = job.format("turned.libsvm", "content")
    found = {"threads": box.on_threads(job.format("rows.libsvm", "content")),
             "submitted": all_the_way(box, turned, None, "submitted")}
    result = box.json(f"train {turned} --runtime storage --store {box.at('train')} --workers 3 --quiet --out trained")
    found["trained"] = result["model_sha256"]
    expect_equal(found)
    for name in ("on-threads", "submitted", "trained"):
        record = box.record(name)
        expect(record["deal"] == "content" and record["data"]["rows"] == 800, f"{name}: {record}")
    expect(box.record("on-threads")["data"]["dealt_rows"] == 600, "equal rows are not one")
    expect(box.on_threads(job.format("rows.libsvm", "blocks")) != found["threads"], "the deal changes no model")


def check_tables(box):
    found = {"threads": box.on_threads(TABLES), "azure": all_the_way(box, TABLES, None, "tables")}
    expect_equal(found)
    # A run that was fetched goes on: on threads, and at the server again.
    longer = TABLES.replace("--max-iter 5", "--max-iter 8")
    found = {"threads": box.on_threads(longer),
             "resumed": box.json(f"train {longer} --resume tables --quiet --out resumed")["model_sha256"],
             "azure": box.json(f"train {longer} --resume tables --store {box.at('on')} --workers 2 --quiet "
                               "--out again")["model_sha256"]}
    expect_equal(found)


def wait_for_steps(box, url, step=5):
    deadline = time.monotonic() + 60
    while box.json(f"status --store {url}")["step"] < step:
        expect(time.monotonic() < deadline, "no rounds after a minute")


def check_cancel_with_running_workers(box):
    url = box.at("cancelled")
    box.run(f"submit {LONG} --lease 2 --store {url} --quiet")
    with box.workers(url, [None] * 3) as running:
        wait_for_steps(box, url)
        # The blobs at the server have no secrets either.
        blobs = [box.account.get(f"{box.account.blobs}/{box.container}/{name}", "").decode(errors="replace")
                 for name in box.account.blob_names(box.container) if name.endswith("job.json") or "/live/" in name]
        expect(len(blobs) >= 2, blobs)
        box.expect_no_secrets(*blobs)
        box.run(f"cancel --store {url}")
        for process in running:
            expect(f"the job is no longer at {url}" in (said := box.ended(process)), said)


def check_a_stopped_worker_gives_its_tasks_back(box):
    url, job = box.at("stopped"), LONG.replace("100000", "40")
    box.run(f"submit {job} --lease 600 --store {url} --quiet")
    with box.workers(url, [None]) as (first,):
        wait_for_steps(box, url)
        first.send_signal(signal.SIGTERM)
        expect("given back" in (said := box.ended(first, code=130)), said)
    with box.workers(url, [None]) as (second,):
        box.ended(second)
    result = box.json(f"fetch --store {url} --remove --quiet --out stopped")
    expect_equal({"threads": box.on_threads(job), "azure": result["model_sha256"]})


def check_workers_that_are_killed(box):
    url, job = box.at("killed"), LONG.replace("100000", "60")
    box.run(f"submit {job} --lease 1 --store {url} --quiet")
    for step in (3, 12, 20):
        with box.workers(url, [None] * 3):  # who leaves it kills them
            wait_for_steps(box, url, step)
    with box.workers(url, [None] * 3) as running:
        wait_for_steps(box, url, 30)
        running[0].kill()
        for process in running[1:]:
            box.ended(process)
    result = box.json(f"fetch --store {url} --remove --quiet --out killed")
    expect(box.rounds("killed") == list(range(1, 61)), f"rounds {box.rounds('killed')}")
    expect_equal({"threads": box.on_threads(job), "azure": result["model_sha256"]})


def check_credentials_that_do_not_fit(box):
    url, account = box.at("refused"), box.account
    wrong = account.connection("AccountKey=" + NOT_THE_KEY)
    expired = account.connection("SharedAccessSignature=" + account.sas(expiry="2020-01-01T00:00:00Z"))
    reading = account.connection("SharedAccessSignature=" + account.sas(permissions="rl"))
    commands = (f"submit {JOBS['svm']}", "worker", "status", "fetch --out run", "cancel",
                f"train {JOBS['svm']} --runtime storage --out run")
    for command in commands:
        box.refused(f"{command} --store {url}", wrong, "access refused", "the key is not that of account")
        box.refused(f"{command} --store {url}", expired, "expired")
    for command in (commands[0], commands[-1]):
        box.refused(f"{command} --store {url}", reading, "access refused")
    box.refused(f"status --store {url}", reading, "there is no job")
    box.run(f"submit {JOBS['svm']} --store {url} --quiet")
    box.refused(f"worker --store {url} --timeout 20", reading, "access refused")
    box.refused(f"cancel --store {url}", reading, "access refused")
    expect(box.json(f"status --store {url}", connection=reading)["state"] == "waiting", "status cannot be read")
    box.run(f"cancel --store {url}")
    expect(not (box / "run").exists(), "a run was begun")


def check_a_container_that_is_missing(box):
    for command in (f"submit {JOBS['svm']}", "worker", "status", "fetch", "cancel"):
        box.refused(f"{command} --store {box.at('a')}", None, f"has no container {box.container}", "--create-container")
    for _ in range(2):  # made; there already
        box.run(f"submit {JOBS['svm']} --store {box.at('a')} --create-container --quiet")
        box.run(f"cancel --store {box.at('a')}")


FAULTS = proxy.Faults(refused=0.005, dropped=0.01, cut=0.02, short=0.02, forged=0.03, slow=0.05, late=0.2, twice=0.3,
                      undead=0.5)


def through_faults(box, learner, name):
    model = box.on_threads(JOBS[learner])
    with proxy.Proxy(box.account.blobs, box.account.queues, box.seed, FAULTS) as faulty:
        doors = [box.account.connection(endpoints=faulty.door()) for _ in range(4)]
        found = all_the_way(box, JOBS[learner], doors[0], name, doors[1:])
        injected_text = ", ".join(f"{count} {fault}" for fault, count in sorted(faulty.injected.items()))
        print(f"  {learner}, of {faulty.requests} requests: {injected_text}", flush=True)
    expect_equal({"threads": model, "through faults": found})


def check_kmeans_through_faults(box):
    through_faults(box, "kmeans", "faulty-kmeans")


def check_svm_through_faults(box):
    through_faults(box, "svm", "faulty-svm")


def check_logistic_through_faults(box):
    through_faults(box, "logistic", "faulty-logistic")


def check_a_server_that_is_away_for_a_while(box):
    model = box.on_threads(JOBS["kmeans"])
    with proxy.Proxy(box.account.blobs, box.account.queues, box.seed, proxy.Faults()) as away:
        door = box.account.connection(endpoints=away.door())
        url = box.at("away")
        box.run(f"submit {JOBS['kmeans']} --lease 1 --store {url} --quiet")
        with box.workers(url, [door] * 2, "--quiet") as running:
            before = away.requests
            while away.requests < before + 60:
                expect(all(process.poll() is None for process in running), "ended too soon to lose its server")
                time.sleep(0.002)
            away.down = True
            time.sleep(1.5)  # longer than a lease
            away.down = False
            for process in running:
                box.ended(process)
        result = box.json(f"fetch --store {url} --remove --quiet --out away")
        expect_equal({"threads": model, "azure": result["model_sha256"]})


def run(name, check, program, account, seed):
    """Whether it passed; what there is to say is printed."""
    words, since = name.removeprefix("check_").replace("_", " "), time.monotonic()
    try:
        with Secretive(program, account, words.replace(" ", "-"), seed) as box:
            if check is not check_a_container_that_is_missing:
                account.create_container(box.container)
            check(box)
            box.expect_nothing_left()
            box.expect_no_secrets()
        print(f"  {words}: {time.monotonic() - since:.1f} s", flush=True)
        return True
    except Failure as failure:
        print(f"FAILED {words}\n  {failure}", flush=True)
    except Exception:
        print(f"FAILED {words}\n{traceback.format_exc()}", flush=True)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("table_program")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_intermixed_args()
    account = Account(os.environ["AZURE_STORAGE_CONNECTION_STRING"])
    program, table_program = (str(pathlib.Path(name).resolve()) for name in (asked.program, asked.table_program))
    begin = time.monotonic()
    checks = [(name, check) for name, check in globals().items() if name.startswith("check_") and
              (not asked.words or any(word in name for word in asked.words))]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        passed = list(pool.map(lambda one: run(*one, table_program if one[1] is check_tables else program,
                                                 account, asked.seed), checks))
    # Queues do not say of which container they are.
    queues = account.queue_names()
    if queues and all(passed):
        print(f"FAILED: queues left behind: {queues}")
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed in {time.monotonic() - begin:.0f} s")
    sys.exit(0 if passed and all(passed) and not queues else 1)


if __name__ == "__main__":
    main()
