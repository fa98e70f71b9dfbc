#!/usr/bin/env bash
# Measures the cost of a step under `reveza jobs run` and other tools in the same run, and the
# startup of jobs of 100,000 and 1,000,000 steps.
#
#   bench/jobs.sh          about six minutes; includes GNU parallel if installed
#   bench/jobs.sh steps    only the cost of a step
#   bench/jobs.sh lists    only the jobs of many steps
#
# Needs the program `finished_job` (ninja -C build reveza_cli reveza_supervisor finished_job).
# HYPERQUEUE_PYTHON: a Python interpreter with the package `hyperqueue` of PyPI (python3 -m venv X
# && X/bin/pip install hyperqueue==0.27.0), to include HyperQueue.
# REVEZA_BUILD is the build tree (default build). The log is written to $OUT, by default bench/results/<date>-jobs.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${REVEZA_BUILD:-build}
out=${OUT:-bench/results/$(date +%Y-%m-%d)-jobs}
mkdir -p "$out"
{
  echo "command: bench/jobs.sh $*"
  echo "machine: $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"
  "$build/bin/reveza" --version
  echo
  python3 bench/jobs.py "$@" --reveza "$(realpath "$build")/bin/reveza" --out "$out" \
    --finished-job "$(realpath "$build")/bench/finished_job" \
    ${HYPERQUEUE_PYTHON:+--hyperqueue "$HYPERQUEUE_PYTHON"}
} 2>&1 | tee "$out/jobs.log"
