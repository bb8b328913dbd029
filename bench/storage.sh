#!/usr/bin/env bash
# Jobs on nothing but storage: bytes against curl, rounds against threads, requests, resuming, and two
# kinds of barrier. Needs node and npm for Azurite, and curl. Arguments go to bench/storage.py, such
# as --quick (about a minute, to try the benchmark itself) or --only transfer.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${STORAGE_BENCH:-}" ]; then scripts/build.sh release meanwhile storage_bench; fi
command -v curl >/dev/null || { echo "needs the program curl" >&2 && exit 1; }
scripts/azurite.sh --install
exec python3 bench/storage.py "$@"
