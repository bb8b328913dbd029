#!/usr/bin/env bash
# Linear models with L1 against their peers. Makes a virtual environment of its own, then runs
# bench/lasso/lasso.py. Arguments go to it: a libsvm file, and such as --repeat 1 or --only lasso.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=build/bench-venv
if [ ! -e "$venv/ready-lasso" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --upgrade -r bench/lasso/requirements.txt
  touch "$venv/ready-lasso"
fi
exec "$venv/bin/python" bench/lasso/lasso.py "$@"
