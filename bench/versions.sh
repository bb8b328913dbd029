#!/usr/bin/env bash
# Two builds of this program beside each other, for every row of the README's tables:
#   bench/versions.sh OLD NEW [--pairs 15] [--only WORD]
# OLD and NEW are programs. Makes a virtual environment of its own, then runs bench/versions.py.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/bench-venv
if [ ! -e "$venv/ready-versions" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet numpy
  touch "$venv/ready-versions"
fi
scripts/build.sh release generate_sparse
exec "$venv/bin/python" bench/versions.py "$@"
