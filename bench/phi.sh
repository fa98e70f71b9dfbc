#!/usr/bin/env bash
# Measures the cycles of phi on the processor beside what bounds them, in one run.
#
#   bench/phi.sh [option of `phi bench`...]
#
# Products of matrices, normal numbers and reading memory with the same threads stand beside run-cycles
# a second; then 500 cycles of 1 and of 256 runs as people start them, with their measures and output.
# Figures by processor time hold on a machine that others use as well; those by the clock do not, and the
# log says how busy the machine was. Needs a built `phi` (REVEZA_BUILD names the tree, default: build).
# The log goes to $OUT, or else to bench/results/<date>-phi.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${REVEZA_BUILD:-build}
out=${OUT:-bench/results/$(date +%Y-%m-%d)-phi}
mkdir -p "$out"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

say() {
  printf '\n$ %s\n' "$*"
  "$@"
}

# By the clock, and what the processor gave to it and to the system for it.
TIMEFORMAT='clock %R s, processor %U + %S s'
timed() {
  printf '\n$ phi %s\n' "$*"
  time "$build/bin/phi" "$@"
}

{
  printf '$ bench/phi.sh %s\n' "$*"
  sed -n 's/^model name[^:]*: /processor: /p' /proc/cpuinfo | sort | uniq -c
  printf 'load: %s\n' "$(cat /proc/loadavg)"
  "$build/bin/phi" bench "$@"
  say "$build/bin/phi" bench --correlation --batches 1,256 --threads 1 --rounds 3
  timed run --cycles 500 --threads 1 --measure none
  timed run --cycles 500 --threads 1 -o "$folder/one"
  timed run --cycles 500 --runs 256 --measure si,phi_r,phi_g -o "$folder/many"
  printf '\nload: %s\n' "$(cat /proc/loadavg)"
} 2>&1 | sed "s#$folder#FOLDER#g" | tee "$out/phi.log"
