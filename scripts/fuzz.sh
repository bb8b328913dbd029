#!/usr/bin/env bash
# fuzz.sh TARGET|all SECONDS: runs built fuzz targets from their seeds, each for so long.
# fuzz.sh long MINUTES: all targets, so many minutes together.
# New inputs are kept in build/fuzz/corpus, inputs that break something in build/fuzz/findings. The last line counts all
# inputs and findings.
set -euo pipefail
cd "$(dirname "$0")/.."

known=()
for source in test/fuzz/*_fuzz.cc; do known+=("$(basename "$source" _fuzz.cc)"); done
seconds=$2
if [ "$1" = all ]; then
  targets=("${known[@]}")
elif [ "$1" = long ]; then
  targets=("${known[@]}")
  seconds=$(($2 * 60 * $(nproc) / ${#known[@]}))
elif [ -e "test/fuzz/$1_fuzz.cc" ]; then
  targets=("$1")
else
  echo "fuzz: unknown target '$1'; known: ${known[*]} all long" >&2
  exit 2
fi

fuzz() {
  local corpus=build/fuzz/corpus/$1 log=build/fuzz/$1.log
  mkdir -p "$corpus" build/fuzz/findings
  if ! "build/fuzz/test/fuzz/$1_fuzz" -max_total_time="$2" -timeout=10 -max_len=16384 \
    -print_final_stats=1 -artifact_prefix="build/fuzz/findings/$1-" "$corpus" \
    "test/fuzz/corpus/$1" >"$log" 2>&1 </dev/null; then
    tail -60 "$log" >&2
    echo "fuzz: $1 found something, see build/fuzz/findings; the whole log is $log" >&2
    return 1
  fi
  echo "fuzz: $1: $(executed "$1") inputs in $2 s, no findings"
}
executed() {
  awk '/number_of_executed_units/ {n = $2} END {print n + 0}' "build/fuzz/$1.log"
}
export -f fuzz executed
code=0
printf '%s\0' "${targets[@]}" | xargs -0 -P "$(nproc)" -I{} bash -euo pipefail -c 'fuzz {} '"$seconds" || code=1
all=0
for target in "${targets[@]}"; do all=$((all + $(executed "$target"))); done
findings=$(find build/fuzz/findings -type f | wc -l)
echo "fuzz: ${#targets[@]} targets, $all inputs; $findings inputs that broke something in build/fuzz/findings"
exit $code
