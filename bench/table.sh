#!/usr/bin/env bash
# Tables: accuracy beside scikit-learn's usual pipeline, and how fast CSV and Parquet are read beside pandas and
# pyarrow. See bench/table.py.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/bench-venv
if [ ! -e "$venv/ready-table" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --upgrade numpy pandas pyarrow scikit-learn
  # The table of diamonds comes with plotnine; nothing else of it is needed.
  "$venv/bin/pip" download --quiet --no-deps --dest "$venv" plotnine
  touch "$venv/ready-table"
fi
exec "$venv/bin/python" bench/table.py "$@"
