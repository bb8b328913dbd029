#!/usr/bin/env bash
# k-means against its peers: makes a virtual environment of its own, then runs bench/kmeans.py.
# Arguments go to kmeans.py, such as --repeat 3 or --only blobs.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/bench-venv
if [ ! -e "$venv/ready" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --upgrade numpy scikit-learn scikit-learn-intelex faiss-cpu safetensors
  touch "$venv/ready"
fi
exec "$venv/bin/python" bench/kmeans.py "$@"
