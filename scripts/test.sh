#!/usr/bin/env bash
# Everything that must hold, step by step; the first step that fails ends it.
set -euo pipefail
cd "$(dirname "$0")/.."

steps=0
failed=0
current=
builds=
begin=0
log=
logs=build/logs
rm -rf "$logs"
mkdir -p "$logs"

exec 3>&1  # where the summary goes, also when a step ends the shell with its output in a file

finish() {
  # All processes of the group: the shell and the tests that it runs.
  [ -z "$builds" ] || kill -- "-$builds" 2>/dev/null || true
  if [ -n "$current" ]; then
    failed=1
    printf ' FAILED after %d s\n' $((SECONDS - begin)) >&3
    tail -n 200 "$log" >&3
  fi
  echo "$((steps + failed)) steps in $((SECONDS / 60)) min $((SECONDS % 60)) s; their output is in $logs" >&3
  echo "$steps passed, $failed failed" >&3
}
trap finish EXIT

# Sets `used` to the seconds of processor time of all processes that ended so far. `times` counts
# those of the shell that runs it: it cannot be in a pipe.
processor() {
  local user system
  times >"$logs/times"
  { read -r && read -r user system; } <"$logs/times"
  used=$((60 * (${user%m*} + ${system%m*}) + 10#$(cut -d. -f1 <<<"${user#*m}") + 10#$(cut -d. -f1 <<<"${system#*m}")))
}

# One line a step: its name, its time, that of processors (which a busy machine hardly changes), and
# what it counted. Things that it leaves out are shown, too. All of its output is in a file, whose
# end is shown if the step fails; a failure ends the tests.
step() {  # step NAME COMMAND...
  current=$1
  shift
  begin=$SECONDS
  processor
  local before=$used
  log=$logs/$(printf '%02d' $((steps + 1)))-$(tr -c 'a-zA-Z0-9\n' '-' <<<"$current").log
  printf '%-48s' "$current"
  "$@" >"$log" 2>&1
  processor
  printf ' %4d s %4d s  %s\n' $((SECONDS - begin)) $((used - before)) "$(counted "$log")"
  grep -E '^(skipped|not run)' "$log" | sed 's/^/    /' || true
  current=
  steps=$((steps + 1))
}

# The last line of a log that counts something, without decoration.
counted() {
  grep -E '(^|[^0-9])[0-9,]+ (tests?|cases|commands|passed|failed|complaints|kills|jobs|flips)( |,|:|\.|$)' "$1" | tail -n 1 |
    sed -E 's/^[^A-Za-z0-9]+//' | cut -c1-80 || true
}

# The tree has no warnings: one is a failure.
build() {
  local log=build/$1.log
  mkdir -p build
  scripts/build.sh "$@" 2>&1 | tee "$log" | grep -E 'warning:|error:|^FAILED' || true
  if grep -q 'warning:' "$log"; then
    echo "warnings in the build of $1" >&2
    return 1
  fi
  # The state of the pipe was lost in the filter; nothing is built twice.
  scripts/build.sh "$@" >/dev/null
}

format() {
  git ls-files -z '*.h' '*.cc' | xargs -0 clang-format --dry-run -Werror
}

checks() {
  python3 scripts/check_layers_test.py
  python3 scripts/check_layers.py
  python3 scripts/messages.py --check
}

# Built as a user would: against the installed package, outside of the tree.
examples() {
  rm -rf build/install build/examples
  cmake --install build/release --prefix build/install >/dev/null
  cmake -S examples -B build/examples -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$PWD/build/install" >/dev/null
  cmake --build build/examples >/dev/null
  local ran=0 program
  for program in build/examples/*; do
    if [ -f "$program" ] && [ -x "$program" ]; then
      echo "$program"
      "$program"
      ran=$((ran + 1))
    fi
  done
  [ "$ran" -ge 3 ] || { echo "expected three examples, found $ran" >&2 && return 1; }
}

# The library without its optional parts. Tests are linked without them, which costs no compilation;
# then a build of the product without them is configured, and must not name them (tests read pictures
# with pugixml whatever is built).
without() {
  build/release/test/without_test --gtest_brief=1 --gtest_filter='Without*:Store*:Location*:*Local*:*Threads*'
  cmake --preset release -B build/without -DMEANWHILE_TESTS=OFF -DMEANWHILE_MPI=OFF -DMEANWHILE_AZURE=OFF >/dev/null
  if grep -iE 'openmpi|curl|pugixml|libarrow|transport/mpi\.cc|storage/azure/|files/arrow/' build/without/build.ninja; then
    echo 'a build with MEANWHILE_MPI=OFF and MEANWHILE_AZURE=OFF, and Arrow off by default, still needs these' >&2
    return 1
  fi
}

# clang finds a member that is read without its lock: the annotations are more than comments.
annotations() {
  local check=(clang++ -std=c++20 -I. -fsyntax-only -Wthread-safety -Werror test/base/mutex_test.cc)
  "${check[@]}"
  if "${check[@]}" -DMEANWHILE_UNGUARDED 2>build/unguarded.log; then
    echo 'clang accepts a member that is read without its lock' >&2
    return 1
  fi
  grep -q 'requires holding mutex' build/unguarded.log
}

# The tests of a program in several parts for each core: some tests take minutes, most take none.
# A process for each test would take longer to start than most of them take.
sharded() {
  local parts=$((8 * $(nproc))) out
  out=$(mktemp)
  seq 0 $((parts - 1)) | GTEST_TOTAL_SHARDS=$parts xargs -P "$(nproc)" -I{} \
    env GTEST_SHARD_INDEX={} timeout -s ABRT 1200 "$@" --gtest_brief=1 2>&1 | tee "$out"
  awk '/PASSED/ {sum += $4} END {print sum " tests passed"}' "$out"
  rm "$out"
}

# Tests of processes that wait for each other leave the cores to others: the sanitized builds are made
# beside them, and the tests under the thread sanitizer run there, too.
begin_builds() {
  mkdir -p build
  set -m  # gives the background a process group, which finish() ends as a whole
  (
    set -e
    build fuzz fuzz meanwhile_test
    build tsan meanwhile_test
    echo 'tests under the thread sanitizer'
    sharded nice build/tsan/test/meanwhile_test
  ) >build/sanitized.log 2>&1 &
  builds=$!
  set +m
}
thread_sanitized() {
  local code=0
  wait "$builds" || code=$?
  builds=
  grep -v '^Running main' build/sanitized.log || true
  return $code
}

# The fuzz targets need address and undefined sanitizers anyway, so the tests run under these in the
# same build, which clang makes: one compilation less, and one compiler more that has seen the tests.
address_sanitized() {
  sharded build/fuzz/test/meanwhile_test
}

# Links, widths and named files of the documents; before it, that the tests of documents can fail.
documents() {
  python3 test/docs/selftest.py
  python3 test/docs/form.py
}

stores() {
  test/storage/run.sh build/release/test/azure_conformance build/release/meanwhile build/release/test/table_program
}

fuzz() {
  python3 scripts/check_layers.py --built build/fuzz '_fuzz.cc'
  scripts/fuzz.sh all 4
}

# The degrees of published graphs have no licence and are not in the tree: where they are at hand, the
# published errors are computed from them.
published_graphs() {
  local folder=${MEANWHILE_DEGREES:-../shared/data/degree_distributions} graphs
  if [ ! -d "$folder" ]; then
    echo "skipped: no folder $folder; test/data/degrees/README.md says where the files come from"
    return
  fi
  graphs=$(ls "$folder"/synthetic_{1K,100K,10M}.degree_dist | wc -l)
  MEANWHILE_DEGREES=$folder build/release/test/meanwhile_test \
    --gtest_filter='*BeliefOfPublishedGraph*' | grep -F "[  PASSED  ] $graphs test"
}

step 'setup' make -s setup
step 'format' format
step 'layers and other rules of the tree' checks
step 'Apache Arrow' scripts/arrow.sh
step 'release build' build release
step 'every source and test is in the build' python3 scripts/check_layers.py --built build/release .cc
begin_builds
step 'unit tests' sharded build/release/test/meanwhile_test
step 'tables beyond the memory limit' python3 test/tables/limits.py build/release/test/table_program
step 'unguarded members are refused' annotations
step 'without MPI, Azure and Arrow' without
step 'published errors of belief propagation' published_graphs
step 'transports under MPI' test/mpi/run.sh build/release/test/mpi_conformance
step 'files of earlier versions' python3 test/compat/check.py build/release/meanwhile
step 'command line' python3 test/cli/run.py build/release/meanwhile
step 'documents: form and links' documents
step 'documents: commands and worked changes' python3 test/docs/run.py build/release/meanwhile
step 'demo' scripts/demo.sh
step 'scikit-learn and onnxruntime' scripts/peers.sh
step 'measures, exports and snippets beside others' build/peers/bin/python test/peers/run.py build/release/meanwhile
step 'stores and jobs on Azurite' stores
step 'workers killed at random' python3 test/chaos/workers.py build/release/meanwhile build/release/test/memory_program \
  build/release/test/table_program
step 'training killed at random' python3 test/chaos/training.py build/release/meanwhile
step 'bits that change' python3 test/chaos/flips.py build/release/meanwhile
step 'examples against the installed package' examples
step 'Python package: its wheel and tests in an empty environment' scripts/python.sh test
step 'tests under the thread sanitizer' thread_sanitized
step 'tests under address and undefined sanitizers' address_sanitized
step 'fuzz targets, 4 s each' fuzz
