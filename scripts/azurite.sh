#!/usr/bin/env bash
# Runs Azurite, Microsoft's emulator of Azure Blob and Queue storage, on this machine only.
#
#   scripts/azurite.sh COMMAND...                  runs COMMAND with AZURE_STORAGE_CONNECTION_STRING set,
#                                                  then stops the server; the exit code is COMMAND's
#   scripts/azurite.sh                             prints the connection string, serves until interrupted
#   scripts/azurite.sh --cert C --key K [COMMAND...]   the same over TLS
#   scripts/azurite.sh --install                   only installs it
#
# It is installed by npm below build/azurite, once. Its ports are free ones, what it holds is in memory.
set -uo pipefail

version=3.35.0
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$root/build/azurite
program=$folder/node_modules/azurite/dist/src/azurite.js
start_deadline_s=60

account=devstoreaccount1
# The account key everyone knows: it is in Azurite's documentation and opens nothing else.
key='Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='

fail() {
  echo "azurite.sh: $*" >&2
  exit 1
}

installed() {
  [ -f "$program" ] && grep -qF "\"version\": \"$version\"" "$folder/node_modules/azurite/package.json"
}

install() {
  command -v node >/dev/null && command -v npm >/dev/null ||
    fail "needs node and npm (Debian, Ubuntu: apt-get install nodejs npm); nothing else of the project does"
  mkdir -p "$folder"
  exec 9>"$folder/.lock" # two runs at once install it once
  flock -w 600 9 || fail "another run has been installing for 10 minutes: remove $folder and try again"
  if ! installed; then
    echo "azurite.sh: installing azurite $version into build/azurite" >&2
    timeout -s KILL 600 npm install --prefix "$folder" --no-audit --no-fund --no-save --loglevel=error \
      "azurite@$version" >"$folder/install.log" 2>&1 9>&- || true
    if ! installed; then
      tail -n 15 "$folder/install.log" >&2
      fail "npm could not install azurite@$version: is its registry within reach? \`npm ping\` tells; the log is $folder/install.log"
    fi
  fi
  exec 9>&-
}

scheme=http
tls=()
while [[ ${1-} == --* ]]; do
  case $1 in
    --install) install && exit 0 ;;
    --cert | --key) [ $# -ge 2 ] || fail "$1 needs a file"
      tls+=("$1" "$2") scheme=https
      shift 2 ;;
    *) fail "$1 is not --install, --cert or --key; see the head of this script" ;;
  esac
done

installed || install

work=$(mktemp -d)
: >"$work/log"
server=
stop() {
  [ -z "$server" ] || { kill -KILL "$server" && wait "$server"; } 2>/dev/null
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Where it can be had: the server dies with this script, whatever ends it.
tie=()
setpriv --pdeathsig KILL true 2>/dev/null && tie=(setpriv --pdeathsig KILL)
"${tie[@]}" node "$program" --silent --disableTelemetry --inMemoryPersistence "${tls[@]}" \
  --blobHost 127.0.0.1 --queueHost 127.0.0.1 --tableHost 127.0.0.1 --blobPort 0 --queuePort 0 --tablePort 0 \
  >"$work/log" 2>&1 </dev/null &
server=$!

address() { # address SERVICE: that it says it listens at
  sed -n "s,^Azurite $1 service is successfully listening at ,,p" "$work/log"
}
deadline=$((SECONDS + start_deadline_s))
until [ -n "$(address Blob)" ] && [ -n "$(address Queue)" ]; do
  kill -0 "$server" 2>/dev/null || { cat "$work/log" >&2 && fail "the server ended at once"; }
  [ $SECONDS -lt $deadline ] || { cat "$work/log" >&2 && fail "no server after $start_deadline_s s"; }
  sleep 0.05
done

export AZURE_STORAGE_CONNECTION_STRING="DefaultEndpointsProtocol=$scheme;AccountName=$account;AccountKey=$key;BlobEndpoint=$(address Blob)/$account;QueueEndpoint=$(address Queue)/$account;"
if [ $# -gt 0 ]; then
  "$@"
else
  echo "$AZURE_STORAGE_CONNECTION_STRING"
  wait "$server"
fi
