#!/usr/bin/env bash
# Measures phi on the CPU, in one run: cycles against the limits of the hardware, and the measures
# beside NumPy, PyPhi and, where these name the Python of an environment with them, hoi
# (HOI_PYTHON), PyPhi 2 (PYPHI2_PYTHON) and pyspi (PYSPI_PYTHON).
#
#   bench/phi.sh [SECTION...]      cycles batch measures iit te iit4 oinfo pyspi; default: all but batch
#
# batch is a batch of 256 runs alone, in turns with another build of phi if BEFORE names one.
# Both sides of a comparison run in turns. CPU times are valid on a busy machine too, wall times are
# not; each log records the load. Needs a built `phi` and `phi_measures_benchmark` (REVEZA_BUILD is
# the build tree, default build) and the environment build/python of tools/setup.sh test. Logs are
# written to $OUT, by default bench/results/<date>-phi.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${REVEZA_BUILD:-build}
phi=$build/bin/phi
python=build/python/bin/python3
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
  time "$phi" "$@"
}

cycles() {
  run "$phi" bench
  run "$phi" bench --correlation --batches 1,256 --threads 1 --rounds 3
  timed run --cycles 500 --threads 1 --measure none
  timed run --cycles 500 --threads 1 -o "$folder/one"
  timed run --cycles 500 --runs 256 --measure si,phi_r,phi_g -o "$folder/many"
}
batch() {
  for _ in 1 2 3; do
    for each in ${BEFORE:+"$BEFORE"} "$phi"; do
      run "$each" --version
      run "$each" bench --batches 256 --threads 1 --rounds 7 --seconds 0.15
    done
  done
}
measures() { run "$python" bench/phi_measures.py "$build"; }
iit() { run "$python" bench/phi_iit.py --build "$build" --most-nodes 5 --dense-nodes 4 --alone 6; }
te() { run "$python" bench/phi_te.py --phi "$phi"; }
iit4() { run "$python" bench/phi_iit4.py --phi "$phi" --python "$PYPHI2_PYTHON" --most-nodes 7; }
oinfo() { run "$HOI_PYTHON" bench/phi_oinfo.py "$build" 12 20; }
pyspi() { run "$PYSPI_PYTHON" bench/phi_pyspi.py --build "$build"; }

sections=("$@")
if [[ $# == 0 ]]; then
  sections=(cycles measures iit te)
  if [[ -n ${PYPHI2_PYTHON:-} ]]; then sections+=(iit4); fi
  if [[ -n ${HOI_PYTHON:-} ]]; then sections+=(oinfo); fi
  if [[ -n ${PYSPI_PYTHON:-} ]]; then sections+=(pyspi); fi
fi
for section in "${sections[@]}"; do
  {
    printf '$ bench/phi.sh %s\n' "$section"
    sed -n 's/^model name[^:]*: /processor: /p' /proc/cpuinfo | sort | uniq -c
    printf 'load: %s\n' "$(cat /proc/loadavg)"
    "$phi" --version
    "$section"
    printf '\nload: %s\n' "$(cat /proc/loadavg)"
  } 2>&1 | sed -E "s#$folder#FOLDER#g; s#^(\\$ )${BEFORE:-BEFORE} #\\1BEFORE #; s#^(\\$ ).*/(python3?) #\\1python3 #" | tee "$out/$section.log"
done
