#!/usr/bin/env bash
# The conformance suite on MPI, with 1, 2, 3, 5 and 8 ranks: run.sh PROGRAM
# Fails when a case fails, hangs, or did not run.
set -uo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# No core of this machine is bound to a rank: there may be more ranks than cores.
launch() {  # launch RANKS ARGUMENTS...
  timeout -s KILL 120 \
    mpirun --oversubscribe --allow-run-as-root --bind-to none -n "$1" "$program" "${@:2}"
}

kLasting=19
kLast=(FailureReachesAll FailureReachesPollingWorkers FailureDuringAllreduce FailureDuringTree
       ASilentWorkerIsNamed)
ran=0 expected=0 failed=0
for ranks in 1 2 3 5 8; do
  expected=$((expected + kLasting + ${#kLast[@]}))
  if launch "$ranks" all >"$folder/out" 2>"$folder/err"; then
    ran=$((ran + $(wc -l <"$folder/out")))
  else
    echo "$ranks ranks: failed after $(wc -l <"$folder/out") of $kLasting cases" >&2
    cat "$folder/err" >&2
    failed=1
  fi
  for name in "${kLast[@]}"; do
    mkdir "$folder/$name.$ranks"
    launch "$ranks" "$name" "$folder/$name.$ranks" >"$folder/out" 2>"$folder/err"
    code=$?
    if [ "$code" = 3 ] && [ "$(ls "$folder/$name.$ranks" | wc -l)" = "$ranks" ]; then
      ran=$((ran + 1))
    else
      echo "$ranks ranks, $name: exit code $code, expected 3 when all ranks are content" >&2
      cat "$folder/err" >&2
      failed=1
    fi
  done
done
echo "$ran of $expected cases on MPI passed"
[ "$ran" = "$expected" ] && [ "$failed" = 0 ]
