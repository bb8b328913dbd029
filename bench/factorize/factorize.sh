#!/usr/bin/env bash
# Matrix factorisation against its peers, in an environment of their own: SGD beside libmf, then ALS beside implicit.
# Arguments go to factorize.py, such as --repeat 1 or --only sgd-5m; ALS is then left out.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=build/bench-venv
if [ ! -e "$venv/ready-factorize" ]; then
  python3 -m venv "$venv"
  # Without these flags libmf is built without AVX.
  CFLAGS="-O3 -march=native -DUSEAVX" "$venv/bin/pip" install --quiet --upgrade -r bench/factorize/requirements.txt
  touch "$venv/ready-factorize"
fi
"$venv/bin/python" bench/factorize/factorize.py "$@"
[ $# -gt 0 ] || "$venv/bin/python" bench/factorize/als.py build/release/meanwhile
