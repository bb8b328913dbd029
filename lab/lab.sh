#!/usr/bin/env bash
# `make lab`: all experiments of lab/lab.py, then their figures. Meant to take 25 minutes at most; root, Linux.
#
#   lab/lab.sh [--quick] [--only NAME]...      with --quick results and figures go to build/lab, and take a minute
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${MEANWHILE-}" ]; then
  scripts/build.sh release meanwhile
fi
[ "$(id -u)" = 0 ] || { echo "lab.sh: network namespaces need root" >&2 && exit 2; }
scripts/azurite.sh --install
trap 'lab/cluster.sh down' EXIT # when lab.py was killed and could not
python3 lab/lab.py "$@" &
lab=$!
# Signals go to the one that has to clean up, and its end is waited for.
trap 'kill -INT $lab 2>/dev/null || true' INT
trap 'kill -TERM $lab 2>/dev/null || true' TERM HUP
code=0
wait $lab || code=$?
while kill -0 $lab 2>/dev/null; do
  wait $lab || code=$?
done
[ $code -eq 0 ] || exit $code
results=lab/results figures=doc/figures
for word in "$@"; do
  [ "$word" != --quick ] || results=build/lab figures=build/lab
done
python3 lab/plot.py $results $figures
