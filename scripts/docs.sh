#!/usr/bin/env bash
# Builds the site, build/site/html: the documents with search, the reference of commands from the
# program's own help, the C++ reference from the public headers. A broken link is a failure. Installs
# what it needs: Doxygen from Debian, MkDocs Material in build/site/venv.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(mkdocs==1.6.1 mkdocs-material==9.8.1)
venv=build/site/venv
command -v doxygen >/dev/null || scripts/setup.sh packages-docs.txt
mkdir -p build/site
if [ ! -e "$venv/ready-${packages[1]}" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
  touch "$venv/ready-${packages[1]}"
fi

python3 doc/site/build.py pages "${1:-build/release/meanwhile}"
# Not --quiet: warnings that are not printed do not count for --strict.
"$venv/bin/mkdocs" build --strict --clean --config-file build/site/mkdocs.yml >build/site/mkdocs.log 2>&1 || {
  grep -v '^INFO' build/site/mkdocs.log >&2
  exit 1
}
python3 doc/site/build.py headers
doxygen build/site/Doxyfile
python3 doc/site/build.py check
echo "site: build/site/html/index.html"
