#!/usr/bin/env bash
# Measures small GPU kernels with 1 to 4 workers: threads, processes, processes under MPS and
# Reveza, CUDA graphs and batches, with throughput and SM activity; then the choice of the runner's
# tuner and the findings of the doctor.
#
#   bench/gpu_runner.sh          about four minutes; needs CuPy; builds nothing
#
# REVEZA_BUILD is the build tree (default build). The log is written to $OUT, by default
# bench/results/<date>-<device>-runner.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$(realpath "${REVEZA_BUILD:-build}")
device=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | tr -cs 'A-Za-z0-9\n' '-')
out=${OUT:-bench/results/$(date +%Y-%m-%d)-${device%-}-runner}
mkdir -p "$out"
work=$(mktemp -d /tmp/reveza-bench-XXXXXX)
clean_up() {
  XDG_RUNTIME_DIR=$work timeout 10 "$build/bin/reveza" stop --force >/dev/null 2>&1 || true
  if [ -e "$work/mps/control" ]; then
    echo quit | CUDA_MPS_PIPE_DIRECTORY=$work/mps timeout 30 nvidia-cuda-mps-control \
      >/dev/null 2>&1 || true
  fi
  rm -rf "$work"
}
trap clean_up EXIT

{
  echo "command: bench/gpu_runner.sh"
  echo "device: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader); $(nproc) cores"
  "$build/bin/reveza" --version
  echo
  python3 bench/gpu/runner_bench.py --build "$build" --work "$work" --out "$out"
} 2>&1 | tee "$out/gpu_runner.log"
