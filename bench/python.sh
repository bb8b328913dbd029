#!/usr/bin/env bash
# The package beside the program, scikit-learn and scikit-learn-intelex: see bench/python/estimators.py.
#   python.sh [DATA_FOLDER [NAME...]]     with digits, a9a and 20newsgroups; NAME: only these
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/python.sh develop
venv=build/python/bench-venv
if [ ! -e "$venv/ready" ]; then
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet -r python/requirements.txt scikit-learn-intelex
  touch "$venv/ready"
fi
PYTHONPATH=build/python/site exec "$venv/bin/python" bench/python/estimators.py "${@:-${MEANWHILE_DATA:-../shared/data}}"
