#!/usr/bin/env bash
# Builds the fuzz targets in build/fuzz and runs them, JOBS at a time (default: one per core). The
# last line is
#
#   N passed, N failed
#
# Usage: tests/fuzz/run.sh [SECONDS]     (per target, default 60)
# FUZZ_CXX sets the compiler when build/fuzz is configured; the default is that of the preset
# `fuzz`.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=build/fuzz
seconds=${1:-60}
jobs=${JOBS:-$(nproc)}

# fuzz PROGRAM: runs one target. New inputs go to a temporary directory, not to NAME_corpus.
fuzz() {
  local name log found status=0
  name=$(basename "$1" _fuzz)
  log=$build/$name.log
  found=$(mktemp -d)
  "$1" -max_total_time="$seconds" -max_len=40000 -timeout=10 -artifact_prefix="$build/$name-" \
    -print_final_stats=1 "$found" "tests/fuzz/${name}_corpus" >"$log" 2>&1 || status=$?
  rm -rf "$found"
  if ((status != 0)); then
    tail -n 40 "$log"
    printf '%s: FAILED (see %s)\n' "$name" "$log"
    return 1
  fi
  printf '%s: %s inputs, no failure\n' "$name" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
}

tools/configure.sh fuzz "$build" ${FUZZ_CXX:+"-DCMAKE_CXX_COMPILER=$FUZZ_CXX"}
tools/build.sh "$build" "$jobs" fuzz

running=()
for program in "$build"/fuzzers/*_fuzz; do
  while (($(jobs -rp | wc -l) >= jobs)); do
    wait -n || true
  done
  fuzz "$program" &
  running+=($!)
done
passed=0
failed=0
for process in "${running[@]}"; do
  if wait "$process"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
