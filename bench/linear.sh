#!/usr/bin/env bash
# Linear models: steps, speed, and the peers. Makes a virtual environment of its own, then runs
# bench/linear.py. Arguments go to linear.py, such as --repeat 1 or --only steps.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/bench-venv
if [ ! -e "$venv/ready-linear" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --upgrade numpy scipy scikit-learn safetensors vowpalwabbit
  touch "$venv/ready-linear"
fi
exec "$venv/bin/python" bench/linear.py "$@"
