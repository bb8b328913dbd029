#!/usr/bin/env bash
# Stores and jobs on Azurite: the conformance suite and more, over HTTP and over TLS; then the program itself, straight
# and through a faulty proxy: run.sh CONFORMANCE_PROGRAM [MEANWHILE_PROGRAM TABLE_PROGRAM]
# Fails when a test fails, hangs, or did not run.
set -uo pipefail
program=$(realpath "$1")
meanwhile=${2:+$(realpath "$2")}
tables=${3:+$(realpath "$3")}
azurite=$(dirname "$0")/../../scripts/azurite.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$azurite" --install || exit 1
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
  -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2>"$folder/openssl" ||
  { cat "$folder/openssl" >&2 && exit 1; }

run() { # run LEAST COMMAND...: at least so many tests
  timeout -s KILL 120 "${@:2}" --gtest_brief=1 >"$folder/out" 2>&1
  local code=$? passed
  passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$folder/out")
  if [ "$code" != 0 ] || [ "${passed:-0}" -lt "$1" ]; then
    cat "$folder/out" >&2
    echo "exit code $code, ${passed:-0} tests passed, at least $1 expected" >&2
    exit 1
  fi
  total=$((total + passed))
}
total=0
run 30 "$azurite" "$program"
run 2 "$azurite" --cert "$folder/certificate.pem" --key "$folder/key.pem" "$program" "$folder/certificate.pem"
echo "$total tests on Azurite passed"
[ -z "$meanwhile" ] || timeout -s KILL 300 "$azurite" "$(dirname "$0")/azure_jobs.py" "$meanwhile" "$tables"
