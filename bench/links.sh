#!/usr/bin/env bash
# Allreduce against tree where the wire decides: eight hosts of lab/cluster.sh, with links of RATE to a switch in
# both directions. Needs root, Linux, iproute2 and ethtool.
#
#   bench/links.sh [RATE_MBIT [VALUES [REPEATS]]]     200 Mbit/s, a model of 10 M float64, 3 times
#
# The rate of one link alone is measured too, to show that the wire is the slow part.
set -euo pipefail
cd "$(dirname "$0")/.."
rate=${1:-200} values=${2:-10000000} repeats=${3:-3}
hosts=8
program=${EXCHANGE_BENCH:-}
if [ -z "$program" ]; then
  scripts/build.sh release exchange_bench
  program=$PWD/build/release/bench/exchange_bench
fi

export LAB=mwlab-$$ LAB_TIMEOUT=900
trap 'lab/cluster.sh down' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
lab/cluster.sh up --hosts $hosts --rate "$rate"

echo "$hosts hosts, links of $rate Mbit/s"
# On two hosts each sends half the update and then the other half: the update's bytes through a link.
lab/cluster.sh mpi 2 "$program" tree "$values" 1
lab/cluster.sh mpi $hosts "$program" tree "$values" "$repeats"
