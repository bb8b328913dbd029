#!/usr/bin/env bash
# Our reduce-scatter + all-gather against MPI_Allreduce on 2, 4 and 8 ranks of this machine, in turn.
# Updates are float64: 25 M of them are the bytes of 50 M float32. Argument: how often (5).
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh release exchange_bench
for values in 25000000 50000000; do
  for ranks in 2 4 8; do
    timeout -s KILL 600 mpirun --oversubscribe --allow-run-as-root --bind-to none -n "$ranks" \
      build/release/bench/exchange_bench mpi "$values" "${1:-5}"
  done
done
