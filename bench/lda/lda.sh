#!/usr/bin/env bash
# Topic models against their peers, and models against gradients. Makes a virtual environment of its own, then
# runs bench/lda/compare.py. Arguments go to it, such as --repeat 1, --only nips or --rows peers;
# with --sampled first, to bench/lda/sampled.py.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=build/bench-venv
if [ ! -e "$venv/ready-lda" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --upgrade -r bench/lda/requirements.txt
  touch "$venv/ready-lda"
fi
if [ "${1:-}" = --sampled ]; then
  shift
  exec "$venv/bin/python" bench/lda/sampled.py "$@"
fi
exec "$venv/bin/python" bench/lda/compare.py "$@"
