#!/usr/bin/env bash
# Measures the generator of fraud data beside its limits and its peers, in one run.
#
#   bench/fraudgen.sh [--rows N] [--folder DIR] [--rounds N] [--minutes N] [--only SECTION,...]
#
# The limits are the writers alone (`ninja -C build reveza_benchmarks`), a synced dd and an S3 server
# (`tools/setup.sh test`); the peers, tpchgen-cli and Faker, are installed by `tools/setup.sh bench`.
# What is not there is left out, and that is said. Needs a built tree (REVEZA_BUILD names it, default:
# build) and an idle machine: each figure is the best of the rounds (default 3), and the log says how
# busy the machine was. When half of the minutes (default 15) are over there is one round of each,
# and after all of them what is left is left out. --rows (default 4,194,304, two blocks) and --folder
# (default: a new one in the build tree) say how much is written, and where. The log and results.json
# go to $OUT, or else to bench/results/<date>-fraudgen.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${REVEZA_BUILD:-build}
python=build/python/bin/python3
[ -x "$python" ] || python=python3
out=${OUT:-bench/results/$(date +%Y-%m-%d)-fraudgen}
mkdir -p "$out"
{
  printf '$ bench/fraudgen.sh %s\n' "$*"
  "$python" -B bench/fraudgen/measure.py --build "$build" --json "$out/results.json" "$@"
} 2>&1 | tee "$out/fraudgen.log"
