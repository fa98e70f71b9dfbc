#!/usr/bin/env bash
# Measures cycles of phi on the CPU against the limits of the hardware, in one run.
#
#   bench/phi.sh [option of `phi bench`...]
#
# Compares run-cycles per second with matrix products, normal deviates and memory reads on the same
# threads; then times 500 cycles of 1 and of 256 runs with measures and output. CPU times are valid
# on a busy machine too, wall times are not; the log records the load. Needs a built `phi`
# (REVEZA_BUILD is the build tree, default build). The log is written to $OUT, by default
# bench/results/<date>-phi.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${REVEZA_BUILD:-build}
out=${OUT:-bench/results/$(date +%Y-%m-%d)-phi}
mkdir -p "$out"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

run() {
  printf '\n$ %s\n' "$*"
  "$@"
}

# Prints wall, user and system time of a run of phi.
TIMEFORMAT='wall %R s, CPU %U + %S s'
timed() {
  printf '\n$ phi %s\n' "$*"
  time "$build/bin/phi" "$@"
}

{
  printf '$ bench/phi.sh %s\n' "$*"
  sed -n 's/^model name[^:]*: /processor: /p' /proc/cpuinfo | sort | uniq -c
  printf 'load: %s\n' "$(cat /proc/loadavg)"
  "$build/bin/phi" --version
  "$build/bin/phi" bench "$@"
  run "$build/bin/phi" bench --correlation --batches 1,256 --threads 1 --rounds 3
  timed run --cycles 500 --threads 1 --measure none
  timed run --cycles 500 --threads 1 -o "$folder/one"
  timed run --cycles 500 --runs 256 --measure si,phi_r,phi_g -o "$folder/many"
  printf '\nload: %s\n' "$(cat /proc/loadavg)"
} 2>&1 | sed "s#$folder#FOLDER#g" | tee "$out/phi.log"
