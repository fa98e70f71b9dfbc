#!/usr/bin/env bash
# Measures Reveza on a real GPU, with the programs that lie in the build tree (nothing is built).
#
#   bench/gpu.sh all | SECTION...   [--fake] [--scale X] [--limit SECONDS]
#
# Sections: correctness overhead oversubscribe handover faults compare multi_gpu seed_case.
# --fake rehearses on fakecuda, with small sizes and without Python frameworks.
# REVEZA_BUILD names the build tree (default: build). Logs and results.json go to $OUT, or else to
# bench/results/<date>-<device>.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${REVEZA_BUILD:-build}
device=
fake=
for argument in "$@"; do
  if [ "$argument" = --fake ]; then fake=1; fi
done
if [ $# -eq 0 ]; then
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  exit 2
fi

if [ -n "$fake" ]; then
  device=fakecuda
  fake_card=$(mktemp -d /dev/shm/reveza-bench-XXXXXX)
  trap 'rm -rf "$fake_card"' EXIT
  export FAKECUDA_DIR=$fake_card FAKECUDA_MEMORY=${FAKECUDA_MEMORY:-256MiB}
  export FAKECUDA_LINK=${FAKECUDA_LINK:-4000000000} FAKECUDA_DEVICES=${FAKECUDA_DEVICES:-2}
  export LD_LIBRARY_PATH=$PWD/$build/lib/fakecuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  case $build in /*) export LD_LIBRARY_PATH=$build/lib/fakecuda ;; esac
else
  device=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | tr -cs 'A-Za-z0-9\n' '-')
fi

out=${OUT:-bench/results/$(date +%Y-%m-%d)-${device%-}}
status=0
timeout --signal=TERM --kill-after=20 590 \
  python3 bench/gpu/bench.py --build "$build" --out "$out" "$@" || status=$?
exit "$status"
