#!/usr/bin/env bash
# Matrix factorisation against its peers. Makes a virtual environment of its own, then runs bench/factorize/factorize.py.
# Arguments go to it, such as --repeat 1 or --only sgd-5m.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=build/bench-venv
if [ ! -e "$venv/ready-factorize" ]; then
  python3 -m venv "$venv"
  # Without these flags libmf is built without AVX.
  CFLAGS="-O3 -march=native -DUSEAVX" "$venv/bin/pip" install --quiet --upgrade -r bench/factorize/requirements.txt
  touch "$venv/ready-factorize"
fi
exec "$venv/bin/python" bench/factorize/factorize.py "$@"
