#!/usr/bin/env bash
# Apache Arrow's C++ library for the release build: Debian has no package of it, but the wheel of pyarrow
# carries libarrow, libparquet and their headers. Python with pyarrow is then in build/arrow, for tests.
set -euo pipefail
cd "$(dirname "$0")/.."

version=26.0.1
if [ ! -e "build/arrow/ready-$version" ]; then
  python3 -m venv build/arrow
  build/arrow/bin/pip install --quiet --disable-pip-version-check "pyarrow==$version"
  ln -sfn "$(build/arrow/bin/python -c 'import os, pyarrow; print(os.path.dirname(pyarrow.__file__))')" \
    build/arrow/pyarrow
  touch "build/arrow/ready-$version"
fi
if [ -e build/release/CMakeCache.txt ] && ! grep -q '^MEANWHILE_ARROW:BOOL=ON' build/release/CMakeCache.txt; then
  cmake --preset release -DMEANWHILE_ARROW=ON -DMEANWHILE_PYARROW="$PWD/build/arrow/pyarrow" >/dev/null
fi
