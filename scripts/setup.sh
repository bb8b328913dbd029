#!/usr/bin/env bash
# setup.sh [LIST]: installs the packages of LIST (packages.txt) that are missing, and nothing when none is.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
while read -r package command; do
  case $package in '' | '#'*) continue ;; esac
  if [ -n "$command" ] && command -v "$command" >/dev/null; then continue; fi
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done <"${1:-packages.txt}"
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "setup: these packages are missing and there is no sudo to install them: ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
