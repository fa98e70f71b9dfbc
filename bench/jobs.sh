#!/usr/bin/env bash
# What a step costs under `reveza jobs run`, beside others in the same run; and what a list of
# 100,000 steps takes.
#
#   bench/jobs.sh          about five minutes; GNU parallel is measured where it is installed
#
# The log goes to $OUT, or else to bench/results/<date>-jobs.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${OUT:-bench/results/$(date +%Y-%m-%d)-jobs}
mkdir -p "$out"
{
  echo "command: bench/jobs.sh"
  echo "machine: $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"
  echo "commit: $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
  echo
  python3 bench/jobs.py --reveza "$PWD/build/bin/reveza" --out "$out"
} 2>&1 | tee "$out/jobs.log"
