#!/usr/bin/env bash
# Records the driver calls of programs on a real GPU, a few steps each, with `reveza trace --calls`.
# tests/recorded_calls/ replays them on fakecuda.
#
#   bench/gpu_record.sh [NAME...]
#
# REVEZA_BUILD is the build tree (default build). Recordings and the programs' results are written
# to $OUT, by default bench/results/<date>-recordings. Programs whose framework is missing are
# skipped; a program that fails, or computes something else while it is recorded, fails the run.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${REVEZA_BUILD:-build}
out=${OUT:-bench/results/$(date +%Y-%m-%d)-recordings}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

declare -A commands=(
  [worker]="$build/tests/clients/worker --bytes 512MiB --steps 6 --json"
  [torch]="python3 bench/gpu/train_torch.py --gib 0.5 --steps 6"
  [torch-graph]="python3 bench/gpu/train_torch.py --gib 0.5 --steps 6 --graph"
  [torch-segments]="python3 bench/gpu/train_torch.py --gib 0.5 --steps 6 --expandable-segments"
  [torch-async]="python3 bench/gpu/train_torch.py --gib 0.5 --steps 6 --async-allocator"
  [torch-compile]="python3 bench/gpu/train_torch.py --gib 0.5 --steps 6 --compile-reduce-overhead"
  [jax]="python3 bench/gpu/train_jax.py --gib 0.5 --steps 6 --no-preallocate"
  [cupy]="python3 bench/gpu/train_cupy.py --gib 0.5 --steps 6"
  [cupy-pool]="python3 bench/gpu/train_cupy.py --gib 0.5 --steps 6 --async-pool"
)

hash_of() { grep -oE '"?hash"?[:= ]+"?[0-9a-f]+' "$1" | tail -n 1; }

names=("$@")
if [ $# -eq 0 ]; then mapfile -t names < <(printf '%s\n' "${!commands[@]}" | sort); fi
failed=0
{
  "$build/bin/reveza" --version
  for name in "${names[@]}"; do
    # shellcheck disable=SC2086
    if ! timeout 120 ${commands[$name]} >"$work/native" 2>"$work/error"; then
      echo "$name: skipped: $(tail -n 1 "$work/error")"
      continue
    fi
    # shellcheck disable=SC2086
    if ! timeout 120 "$build/bin/reveza" trace --calls "$out/$name.calls" -- ${commands[$name]} \
      >"$work/recorded" 2>"$work/error"; then
      echo "$name: FAILED: $(tail -n 1 "$work/error")"
      failed=1
    elif [ "$(hash_of "$work/native")" != "$(hash_of "$work/recorded")" ]; then
      echo "$name: WRONG: $(hash_of "$work/recorded") instead of $(hash_of "$work/native")"
      failed=1
    else
      echo "$name: $(stat -c %s "$out/$name.calls") bytes, $(hash_of "$work/recorded")"
    fi
  done
} | tee "$out/log.txt"
exit "$failed"
