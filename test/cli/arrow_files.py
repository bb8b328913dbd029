"""Files that Apache Arrow writes, for tests of a program that reads them."""

import json
import pathlib
import subprocess

from harness import expect

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parent.parent / "build/arrow/bin/python"  # scripts/arrow.sh makes it


def reads_arrow(box):
    """Whether the program was built with Arrow; says so where it was not."""
    (box / "no.parquet").write_bytes(b"PAR1")
    said = box.run("inspect no.parquet", code=2).stderr
    if "MEANWHILE_ARROW=OFF" in said:
        print("skipped: the program was built without Arrow ('make arrow')")
        return False
    expect(PYTHON.exists(), f"no {PYTHON}: run scripts/arrow.sh")
    return True


def write_arrow(box, columns, *names, **options):
    """Columns are (name, type, values); see write_arrow.py. Files get the kind that their names tell."""
    told = {"columns": columns, "files": {name: options for name in names}}
    done = subprocess.run([PYTHON, HERE / "write_arrow.py"], input=json.dumps(told), text=True, cwd=box.path,
                          capture_output=True, timeout=120)
    expect(done.returncode == 0, done.stderr)
