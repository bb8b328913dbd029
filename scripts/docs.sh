#!/usr/bin/env bash
# Builds the site, build/site/html: the documents with search, the reference of commands from the
# program's own help, the C++ reference from the public headers. A broken link is a failure. Installs
# what it needs: Doxygen from Debian, MkDocs Material in build/site/venv.
set -euo pipefail
cd "$(dirname "$0")/.."

# material 9.8.1 with what it was tried with
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
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --quiet --strict --clean --config-file doc/site/mkdocs.yml
python3 doc/site/build.py headers
doxygen build/site/Doxyfile
python3 doc/site/build.py check
echo "site: build/site/html/index.html"
