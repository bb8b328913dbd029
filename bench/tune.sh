#!/usr/bin/env bash
# Penalties chosen on folds: the program beside scikit-learn's GridSearchCV. Makes a virtual
# environment of its own, then runs bench/tune.py. Arguments go to tune.py, such as FILE... or
# --repeat 1.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/bench-venv
if [ ! -e "$venv/ready-tune" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --upgrade numpy scipy scikit-learn
  touch "$venv/ready-tune"
fi
exec "$venv/bin/python" bench/tune.py "$@"
