#!/usr/bin/env bash
# fuzz.sh TARGET|all SECONDS: runs built fuzz targets from their seeds. What they find new is kept
# in build/fuzz/corpus, inputs that break something in build/fuzz/findings.
set -euo pipefail
cd "$(dirname "$0")/.."

known=()
for source in test/fuzz/*_fuzz.cc; do known+=("$(basename "$source" _fuzz.cc)"); done
if [ "$1" = all ]; then
  targets=("${known[@]}")
elif [ -e "test/fuzz/$1_fuzz.cc" ]; then
  targets=("$1")
else
  echo "fuzz: unknown target '$1'; known: ${known[*]} all" >&2
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
  echo "fuzz: $1: $(awk '/number_of_executed_units/ {print $2}' "$log") inputs in $2 s, no findings"
}
export -f fuzz
printf '%s\0' "${targets[@]}" | xargs -0 -P "$(nproc)" -I{} bash -euo pipefail -c 'fuzz {} '"$2"
