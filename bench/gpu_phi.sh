#!/usr/bin/env bash
# Measures cycles of phi on a GPU: equality with the CPU's results, run-cycles per second by number
# of runs and graph length compared with the GPU's limits, four programs on one GPU, and a run that
# is killed ten times.
#
#   bench/gpu_phi.sh [PART...]       about four minutes; builds nothing
#
# Parts: small large swapped killed. REVEZA_BUILD is the build tree (default build), BATCHES the numbers of
# runs that are measured alone. The log is written to $OUT, by default
# bench/results/<date>-<device>-phi.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$(realpath "${REVEZA_BUILD:-build}")
device=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | tr -cs 'A-Za-z0-9\n' '-')
out=${OUT:-bench/results/$(date +%Y-%m-%d)-${device%-}-phi}
batches=${BATCHES:-1,16,64,256,1024,4096,16384}
mkdir -p "$out"
work=$(mktemp -d /tmp/reveza-bench-XXXXXX)
trap 'rm -rf "$work"' EXIT

{
  echo "command: BATCHES=$batches bench/gpu_phi.sh $*"
  echo "device: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader); $(nproc) cores"
  "$build/bin/phi" --version
  echo
  "$build/tests/phi_gpu_test" --gtest_brief=1
  echo
  "$build/bin/phi" bench --device gpu --batches "$batches" --graphs 0,1,16,64
  python3 bench/gpu/phi_bench.py --build "$build" --work "$work" "$@"
} 2>&1 | tee "$out/gpu_phi.log"
