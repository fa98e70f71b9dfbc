#!/usr/bin/env bash
# Fuzzes each input that comes from outside: messages, configurations, manifests.
# Usage: tests/fuzz/run.sh [seconds for each, default 60]
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-60}
compiler=${FUZZ_CXX:-clang++-19}
build=build/fuzz
mkdir -p "$build"

# run_target NAME SOURCES...: builds tests/fuzz/NAME_fuzz.cc with the sources and lets it run. What
# it finds new is kept for this run only; what is in NAME_corpus was chosen to stay.
run_target() {
  local name=$1
  shift
  "$compiler" -std=c++23 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
    -DFMT_HEADER_ONLY=1 -Isrc "tests/fuzz/${name}_fuzz.cc" "$@" -o "$build/${name}_fuzz"
  local found
  found=$(mktemp -d)
  "$build/${name}_fuzz" -max_total_time="$seconds" -max_len=40000 -timeout=10 \
    -artifact_prefix="$build/" -print_final_stats=1 "$found" "tests/fuzz/${name}_corpus" \
    >"$build/${name}.log" 2>&1 || {
    tail -40 "$build/${name}.log"
    echo "$name: FAILED (see $build/${name}.log)"
    rm -rf "$found"
    return 1
  }
  rm -rf "$found"
  echo "$name: clean after $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/${name}.log") inputs"
}

run_target wire src/wire/codec.cc
words=(src/base/nearest.cc src/base/units.cc)
run_target configuration src/daemon/settings.cc "${words[@]}" src/platform/runtime_paths.cc
manifest=src/datagen/output
run_target manifest "$manifest/manifest.cc" "$manifest/format.cc" "$manifest/arrow_absent.cc"
run=src/datagen/run
schema=(src/datagen/schema*.cc)
run_target data_settings "${schema[@]//*_test.cc/}" "$run"/settings{,_file,_values}.cc "$run"/{behaviour,partition,plan}.cc \
  src/datagen/coherent/typologies.cc src/datagen/civil_time.cc "$manifest/format.cc" "${words[@]}"
echo '4 passed, 0 failed'
