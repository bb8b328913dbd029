"""What the tests of the command line share: a folder of their own, the program in it, data for it."""

import array
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import tempfile


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


# Ranks share the cores there are, and may be more of them.
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n"]


def messages(stderr):
    """What the program itself says is wrong; mpirun adds words of its own."""
    return [line for line in stderr.splitlines() if line.startswith("meanwhile: ")]


def expect_equal(found):
    """All values of a table must be the same."""
    expect(len(set(found.values())) == 1,
           "not the same:\n" + "\n".join(f"  {value}  {key}" for key, value in found.items()))


class Sandbox:
    """A temporary folder in which the program runs."""

    def __init__(self, program):
        self.program = program
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="meanwhile-cli-"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def __truediv__(self, name):
        return self.path / name

    def command(self, words, ranks):
        return [*(MPIRUN if ranks else []), *([str(ranks)] if ranks else []), self.program, *words]

    def at_home_here(self, options):
        """The same options; but no profile of a machine is found that whoever runs the tests has made."""
        env = options.get("env", os.environ)
        theirs = os.environ.get("MEANWHILE_MACHINE")
        kept = {name: value for name, value in env.items() if name != "MEANWHILE_MACHINE" or value != theirs}
        return {**options, "env": {**kept, "XDG_CONFIG_HOME": str(self.path / ".config")}}

    def start(self, words, ranks=0, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        options = self.at_home_here(options)
        return subprocess.Popen(self.command(words, ranks), cwd=self.path, **options)

    def run(self, words, code=0, ranks=0, **options):
        """Runs the program, with `ranks` under mpirun; it must end with `code` (None: anything).
        Returns what it printed."""
        if isinstance(words, str):
            words = words.split()
        options = {"capture_output": True, "text": True, "timeout": 300, **options}
        options = self.at_home_here(options)
        done = subprocess.run(self.command(words, ranks), cwd=self.path, **options)
        expect(code is None or done.returncode == code,
               f"{' '.join(words)}\n  exit code {done.returncode}, expected {code}\n  {done.stderr}")
        return done

    def json(self, words, **options):
        """Runs the program with --json and returns the one object it must print."""
        if isinstance(words, str):
            words = words.split()
        text = self.run([*words, "--json"], **options).stdout
        expect(text.count("\n") == 1 and text.endswith("\n"), f"not one line of JSON: {text!r}")
        return json.loads(text)

    def record(self, run):
        return json.loads((self.path / run / "run.json").read_text())

    def rounds(self, run):
        """The rounds in metrics.jsonl, in order."""
        path = self.path / run / "metrics.jsonl"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        records = [json.loads(line) for line in lines if line.endswith("\n")]
        return [record["round"] for record in records if "round" in record]


def points(rows, cols, seed=1, blobs=0):
    """Rows of float32 numbers, about `blobs` centres or without any pattern."""
    draw = random.Random(seed)
    centers = [[draw.uniform(-10, 10) for _ in range(cols)] for _ in range(blobs)]
    values = array.array("f")
    for _ in range(rows):
        center = draw.choice(centers) if blobs else None
        for j in range(cols):
            values.append(center[j] + draw.gauss(0, 1) if blobs else draw.random())
    return values


def npy_bytes(values, rows, cols):
    """An NPY file of version 1.0, as NumPy writes it."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {cols}), }}"
    text += " " * ((-(10 + len(text) + 1)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + values.tobytes()


def documents(rows, cols, words=300):
    """Numbers of words, the smaller ones more often."""
    return array.array("f", (i * 7919 % words * (i % 3) // 2 for i in range(rows * cols)))


def write_npy(path, values, rows, cols):
    path.write_bytes(npy_bytes(values, rows, cols))


def read_npy(path):
    """Type, shape and values of an NPY file of version 1.0."""
    data = path.read_bytes()
    expect(data[:8] == b"\x93NUMPY\x01\x00", "not an NPY file of version 1.0")
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:end], {"__builtins__": {}})  # a literal of our own writing
    code = {"<i4": "i", "<f4": "f", "<f8": "d"}[header["descr"]]
    values = array.array(code, data[end:])
    return header["descr"], header["shape"], values


def libsvm_text(rows, cols, stored, seed=1):
    """Sparse rows of two classes, which a line parts but for every tenth."""
    truth, draw = random.Random(0), random.Random(seed)
    weights = [truth.gauss(0, 1) for _ in range(cols)]
    lines = []
    for i in range(rows):
        columns = sorted(draw.sample(range(cols), stored))
        values = [round(draw.gauss(0, 1), 3) for _ in columns]
        margin = sum(weights[j] * value for j, value in zip(columns, values))
        label = 1 if (margin > 0) != (i % 10 == 0) else -1
        lines.append(f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in zip(columns, values)))
    return "\n".join(lines) + "\n"


def csv_text(values, cols):
    rows = (values[i:i + cols] for i in range(0, len(values), cols))
    return "".join(",".join(repr(v) for v in row) + "\n" for row in rows)
