#!/usr/bin/env bash
# Measures Reveza on a real GPU with the programs of a build tree; builds nothing.
#
#   bench/gpu.sh all | SECTION...   [--fake] [--scale X] [--rounds N] [--only CASE] [--limit SECONDS]
#                             [--seed N]
#
# Sections: correctness overhead oversubscribe handover idle larger faults compare multi_gpu seed_case
#   random policy long.
# --fake tests the script on fakecuda, with small sizes and without Python frameworks.
# REVEZA_BUILD is the build tree (default build). Logs and results.json are written to $OUT, by
# default bench/results/<date>-<device>.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${REVEZA_BUILD:-build}
fake=
fake_card=
limit=570
previous=
for argument in "$@"; do
  if [ "$argument" = --fake ]; then fake=1; fi
  if [ "$previous" = --limit ]; then limit=${argument%.*}; fi
  previous=$argument
done
if [ $# -eq 0 ]; then
  sed -n '2,11s/^# \{0,1\}//p' "$0"
  exit 2
fi

# Stops MPS and daemons of an interrupted run and removes temporary files.
work=$(mktemp -d /tmp/reveza-bench-XXXXXX)
clean_up() {
  local socket
  if [ -e "$work/mps/control" ]; then
    echo quit | CUDA_MPS_PIPE_DIRECTORY=$work/mps timeout 30 nvidia-cuda-mps-control || true
  fi
  for socket in "$work"/reveza-*/revezad.sock; do
    if [ -S "$socket" ]; then
      REVEZA_SOCKET=$socket timeout 10 "$build/bin/reveza" stop --force >/dev/null 2>&1 || true
    fi
  done
  rm -rf "$work" ${fake_card:+"$fake_card"}
}
trap clean_up EXIT

if [ -n "$fake" ]; then
  device=fakecuda
  fake_card=$(mktemp -d /dev/shm/reveza-bench-XXXXXX)
  export FAKECUDA_DIR=$fake_card FAKECUDA_MEMORY=${FAKECUDA_MEMORY:-256MiB}
  export FAKECUDA_LINK=${FAKECUDA_LINK:-4000000000} FAKECUDA_DEVICES=${FAKECUDA_DEVICES:-2}
  case $build in
    /*) export LD_LIBRARY_PATH=$build/lib/fakecuda ;;
    *) export LD_LIBRARY_PATH=$PWD/$build/lib/fakecuda ;;
  esac
else
  device=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | tr -cs 'A-Za-z0-9\n' '-')
fi

out=${OUT:-bench/results/$(date +%Y-%m-%d)-${device%-}}
status=0
timeout --signal=TERM --kill-after=20 $((limit + 20)) \
  python3 bench/gpu/bench.py --build "$build" --out "$out" --work "$work" "$@" || status=$?
exit "$status"
