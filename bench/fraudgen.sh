#!/usr/bin/env bash
# Measures the generator of fraud data beside its limits and its peers, in one run.
#
#   bench/fraudgen.sh [--rows N] [--folder DIR] [--rounds N]
#
# Its peers, tpchgen-cli and Faker, are installed by `tools/setup.sh bench`; what is not there is left
# out, and that is said. Needs a built tree (REVEZA_BUILD names it, default: build) and an idle
# machine: each figure is the best of the rounds (default 3), and the log says how busy the machine
# was. --rows (default 4,194,304, two blocks) and --folder (default: a new one in the build tree) say
# how much is written, and where. The log and results.json go to $OUT, or else to
# bench/results/<date>-fraudgen.
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
