#!/usr/bin/env bash
# Runs the benchmarks that need no GPU and prints their medians.
#
#   bench/run.sh [BUILD]     builds the benchmarks in BUILD (default: build) and runs them
#
# Absolute times depend on the machine; compare ratios.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build}
cmake --build "$build" --target reveza_benchmarks
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for program in "$build"/bench/*_benchmark; do
  "$program" --benchmark_min_time=0.2 --benchmark_repetitions=5 \
    --benchmark_report_aggregates_only=true --benchmark_out="$out/$(basename "$program").json" \
    --benchmark_out_format=json >/dev/null
done
python3 bench/summary.py "$out"/*.json
