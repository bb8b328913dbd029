#!/usr/bin/env bash
# graph.sh [UAI]: graphs and belief propagation against peers, which are installed in an environment of their own; and,
# where the folder of UAI-2014 problems is named, belief propagation on these.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -d build/bench-venv ] || python3 -m venv build/bench-venv
build/bench-venv/bin/pip install --quiet --disable-pip-version-check \
  scipy==1.17.1 networkit==11.2.2 'python-graphblas[default]==2025.2.0' 'jax[cpu]==0.4.35' pgmax==0.6.1
build/bench-venv/bin/python bench/graph/graph.py
build/bench-venv/bin/python bench/belief/ising.py 300
if [ $# -gt 0 ]; then
  python3 bench/belief/belief.py --rates "$1"
  python3 bench/belief/belief.py "$1"
else
  echo 'skipped: belief propagation; UAI=FOLDER names the problems of UAI-2014'
fi
