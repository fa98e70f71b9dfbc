#!/usr/bin/env bash
# What a step costs under `reveza jobs run`, beside others in the same run; and what a list of
# 100,000 steps takes.
#
#   bench/jobs.sh          about five minutes; GNU parallel is measured where it is installed
#
# HYPERQUEUE_PYTHON: a Python that has the package `hyperqueue` of PyPI (python3 -m venv X &&
# X/bin/pip install hyperqueue==0.27.0, then X/bin/python), to measure that as well.
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
  python3 bench/jobs.py --reveza "$PWD/build/bin/reveza" --out "$out" \
    ${HYPERQUEUE_PYTHON:+--hyperqueue "$HYPERQUEUE_PYTHON"}
} 2>&1 | tee "$out/jobs.log"
