#!/usr/bin/env bash
# Measures fraudgen, its upper bounds and other generators in one run.
#
#   bench/fraudgen.sh [--rows N] [--folder DIR] [--rounds N] [--minutes N] [--only SECTION,...]
#
# Upper bounds are the writers alone (`ninja -C build reveza_benchmarks`), a synced dd and an S3
# server (`tools/setup.sh test`). Other generators are tpchgen-cli and Faker (`tools/setup.sh
# bench`). Missing programs are skipped with a message. Needs a build tree (REVEZA_BUILD, default
# build) and an idle machine; the log records the load. Each figure is the best of --rounds (default
# 3); after half of --minutes (default 15) each measurement has one round, and after all of them the
# rest is skipped. --rows (default 4,194,304, two blocks) is the amount of data, --folder (default:
# a temporary directory in the build tree) its place. The log and results.json are written to $OUT,
# by default bench/results/<date>-fraudgen.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${REVEZA_BUILD:-build}
python=build/python/bin/python3
[ -x "$python" ] || python=python3
out=${OUT:-bench/results/$(date +%Y-%m-%d)-fraudgen}
mkdir -p "$out"
{
  printf '$ bench/fraudgen.sh %s\n' "$*"
  "$build/bin/fraudgen" --version
  "$python" -B bench/fraudgen/measure.py --build "$build" --json "$out/results.json" "$@"
} 2>&1 | tee "$out/fraudgen.log"
