#!/usr/bin/env python3
"""Measures, exported models and snippets of documents against other software.

    scripts/peers.sh && build/peers/bin/python test/peers/run.py PROGRAM [WORD...]

Only checks whose name holds one of the words. Every function check_* of the modules here gets a
folder and the program.
"""
import importlib
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
MODULES = ["measures", "exported", "snippets"]


class Box:
    """A folder in which the program runs."""

    def __init__(self, program, path):
        self.program, self.path = program, pathlib.Path(path)

    def __truediv__(self, name):
        return self.path / name

    def run(self, *words, code=0):
        done = subprocess.run([self.program, *map(str, words)], cwd=self.path, capture_output=True, text=True,
                              timeout=300, check=False)
        assert done.returncode == code, f"{words}: exit code {done.returncode}\n{done.stderr}"
        return done


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, words = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:]
    sys.path.insert(0, str(HERE))
    passed = failed = 0
    for module in MODULES:
        for name, check in vars(importlib.import_module(module)).items():
            title = f"{module}: {name.removeprefix('check_').replace('_', ' ')}"
            if not name.startswith("check_") or (words and not any(word in title for word in words)):
                continue
            begin = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="meanwhile-peers-") as folder:
                try:
                    check(Box(program, folder))
                    passed += 1
                    print(f"{title}: {time.monotonic() - begin:.1f} s")
                except Exception:
                    failed += 1
                    print(f"FAILED {title}\n{traceback.format_exc()}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
