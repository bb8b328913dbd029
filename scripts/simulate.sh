#!/usr/bin/env bash
# simulate.sh SEEDS [PROGRAM]: runs seeds 1 to SEEDS, a process for each core. Prints findings and a
# summary of each process; fails when there was a finding.
set -euo pipefail
seeds=$1
program=${2:-build/release/test/simulate}
cores=$(nproc)
pids=()
for ((core = 0; core < cores; ++core)); do
  first=$((seeds * core / cores + 1))
  last=$((seeds * (core + 1) / cores))
  if ((first > last)); then continue; fi
  "$program" --seeds "$first..$last" &
  pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
exit "$failed"
