#!/usr/bin/env bash
# The Python package. Everything it makes lies below build/python.
#   python.sh develop   a package that imports this tree: build/python/site
#   python.sh wheel     wheels: build/python/wheels
#   python.sh test      the wheel in an empty environment without a compiler, and its tests there
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/build/python
venv=$folder/venv

# As build.sh: clones and work trees share the compiler's cache.
export CCACHE_DEPEND=${CCACHE_DEPEND:-true} CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-true}
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,include_file_ctime}
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
export CXX=${CXX:-g++} SKBUILD_CMAKE_ARGS=-DCMAKE_COMPILE_WARNING_AS_ERROR=ON

# An environment with what building and testing needs; made again when the list changes.
prepare() {
  if ! cmp -s python/requirements.txt "$venv/requirements.txt"; then
    rm -rf "$venv"
    /usr/bin/python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r python/requirements.txt
    cp python/requirements.txt "$venv/requirements.txt"
  fi
}

# The configuration of pyproject.toml, without a wheel.
develop() {
  prepare
  local native=$folder/native
  if [ ! -e "$native/build.ninja" ]; then
    cmake --preset release -B "$native" -DMEANWHILE_PYTHON=ON -DMEANWHILE_MPI=OFF -DMEANWHILE_TESTS=OFF \
      -DPython_EXECUTABLE="$venv/bin/python" >/dev/null
  fi
  ninja --quiet -C "$native" _native
  mkdir -p "$folder/site/meanwhile"
  ln -sf "$PWD"/python/meanwhile/* "$native"/_native*.so "$folder/site/meanwhile/"
}

# Another Python that is new enough for the stable interface and has its headers, if there is one.
stable_python() {
  local python
  for python in python3.{12..16} "$HOME"/.pyenv/versions/3.1[2-9]*/bin/python; do
    if "$python" -c 'import os, sys, sysconfig
ready = sys.version_info >= (3, 12) and os.path.exists(sysconfig.get_path("include") + "/Python.h")
sys.exit(not ready)' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
}

# make_wheel PYTHON: a wheel for the Python of this environment, repaired by auditwheel: it gets the
# libraries it needs, and a tag that says on which systems it runs.
make_wheel() {
  rm -rf "$folder/raw"
  "$1" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w "$folder/raw" .
  PATH=$venv/bin:$PATH "$venv/bin/auditwheel" repair -z 9 --wheel-dir "$folder/wheels" "$folder"/raw/*.whl >"$folder/auditwheel.log" 2>&1 || {
    cat "$folder/auditwheel.log" >&2
    return 1
  }
}

wheel() {
  prepare
  rm -rf "$folder/wheels"
  make_wheel "$venv/bin/python"
  local other
  other=$(stable_python)
  if [ -n "$other" ]; then
    if [ ! -e "$folder/stable/made" ]; then
      "$other" -m venv "$folder/stable"
      "$folder/stable/bin/pip" install --quiet --disable-pip-version-check $(grep -E '^(scikit-build-core|nanobind|numpy)' python/requirements.txt)
      touch "$folder/stable/made"
    fi
    make_wheel "$folder/stable/bin/python"
    "$venv/bin/abi3audit" --strict "$folder"/wheels/*-abi3-*.whl
  else
    echo 'no wheel for Python 3.12 and later: no such Python with headers is here'
  fi
  local file size
  for file in "$folder"/wheels/*.whl; do
    size=$(stat -c %s "$file")
    printf '%s: %d.%02d MB\n' "$(basename "$file")" $((size / 1000000)) $((size / 10000 % 100))
    [ "$size" -le 5000000 ] || { echo "more than 5 MB" >&2 && return 1; }
    case $file in *manylinux*) ;; *) echo 'not a manylinux wheel' >&2 && return 1 ;; esac
  done
}

# test_wheel PYTHON WHEEL: an empty environment that has the wheel, and sees the libraries of the other
# one; its PATH has no compiler.
test_wheel() {
  local empty=$folder/empty
  rm -rf "$empty"
  "$1" -m venv "$empty"
  "$empty/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-index "$2"
  if "$empty/bin/python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then
    echo "$venv/lib/python3.11/site-packages" >"$empty/lib/python3.11/site-packages/others.pth"
    # Not from the tree, whose package has no module.
    local tests=$PWD/python/tests
    (cd "$folder" && env -i HOME="$HOME" PATH="$empty/bin" "$empty/bin/python" -P -m pytest -q "$tests")
  else
    echo "$("$folder/stable/bin/python" -c 'import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))')" \
      >"$("$empty/bin/python" -c 'import site; print(site.getsitepackages()[0])')/others.pth"
    env -i HOME="$HOME" PATH="$empty/bin" "$empty/bin/python" -c 'import numpy, meanwhile
from meanwhile import _data, _native
print(_native.train("kmeans", _data.rows(numpy.eye(8)), {"n_clusters": 2}).model.sha256)'
  fi
  env -i HOME="$HOME" PATH="$empty/bin" meanwhile --version
}

test() {
  wheel
  test_wheel "$venv/bin/python" "$folder"/wheels/*-cp311-cp311-*.whl
  local stable=("$folder"/wheels/*-abi3-*.whl)
  if [ -e "${stable[0]}" ]; then test_wheel "$folder/stable/bin/python" "${stable[0]}"; fi
}

case ${1:-} in
  develop | wheel | test) "$1" ;;
  *) sed -n '2,5s/^# \?//p' "$0" >&2 && exit 2 ;;
esac
