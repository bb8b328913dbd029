#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures once, then builds. Uses ccache where there is one. Progress
# is one line on a terminal; elsewhere only warnings, errors and a last line are printed.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
begin=$SECONDS
# Includes of a source are taken from the compiler's own list: without this, ccache runs the preprocessor beside every
# compilation it does not know.
export CCACHE_DEPEND=${CCACHE_DEPEND:-true}
# Precompiled headers are compared by their content: without this, ccache keeps no source that uses
# one.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,include_file_ctime}
# Paths are compared relative to the tree, so that every clone and work tree shares one cache.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-true}
if [ ! -e "build/$preset/build.ninja" ]; then
  if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
  # More targets than the preset has by itself: each is built only when it is asked for.
  options=()
  case $preset in
    release)
      options=(-DMEANWHILE_BENCH=ON)
      if [ -e build/arrow/pyarrow ]; then
        options+=(-DMEANWHILE_ARROW=ON -DMEANWHILE_PYARROW="$PWD/build/arrow/pyarrow")
      fi
      ;;
    fuzz) options=(-DMEANWHILE_TESTS=ON) ;;
  esac
  cmake --preset "$preset" "${options[@]}" >/dev/null
fi

if [ -t 1 ]; then
  (cd "build/$preset" && NINJA_STATUS='build: %f of %t, %e s: ' ninja "$@")
else
  ninja --quiet -C "build/$preset" "$@"
  took=$((SECONDS - begin))
  [ "$took" -lt 2 ] || echo "build: $preset: ${*:-all} in $took s"
fi
