#!/usr/bin/env bash
# build.sh PRESET [TARGET...]: configures once, then builds. Uses ccache where there is one.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
if [ ! -e "build/$preset/build.ninja" ]; then
  if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
  # More targets than the preset has by itself: each is built only when it is asked for.
  options=()
  case $preset in
    release) options=(-DMEANWHILE_BENCH=ON) ;;
    fuzz) options=(-DMEANWHILE_TESTS=ON) ;;
  esac
  cmake --preset "$preset" "${options[@]}" >/dev/null
fi
targets=()
for target in "$@"; do targets+=(--target "$target"); done
cmake --build "build/$preset" "${targets[@]}"
