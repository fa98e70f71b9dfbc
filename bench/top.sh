#!/usr/bin/env bash
# Measures the CPU time of `reveza top` over 20 seconds at one sample per second with 1,000 sleeping
# processes, and the CPU time of only reading the same files.
#
#   bench/top.sh [--processes N] [--seconds N] [--log FOLDER]
#
# Measures twice: with processes outside any job, then as running steps of a job, whose memory is
# sampled too (once a minute, because they sleep).
set -euo pipefail
cd "$(dirname "$0")/.."

processes=1000
seconds=20
log=
while (($#)); do
  case $1 in
    --processes) processes=$2 ;;
    --seconds) seconds=$2 ;;
    --log) log=$2 ;;
    *)
      printf 'top.sh: unknown option %s\n' "$1" >&2
      exit 2
      ;;
  esac
  shift 2
done

if [[ -n $log ]]; then
  mkdir -p "$log"
  exec > >(tee "$log/top.txt") 2>&1
fi
echo "$ bench/top.sh --processes $processes --seconds $seconds"
printf '%s, %s cores, load before: %s\n' "$(uname -sr)" "$(nproc)" "$(cut -d' ' -f1-3 /proc/loadavg)"
build/bin/reveza --version
exec python3 bench/top.py build/bin/reveza "$processes" "$seconds"
