#!/usr/bin/env bash
# What `reveza top` costs: with 1,000 sleeping processes beside it, its CPU time over 20 seconds at
# one look a second, and the CPU time of reading the same files alone.
#
#   bench/top.sh [--processes N] [--seconds N] [--log FOLDER]
#
# Twice: the processes belong to nobody it knows, then they are the running steps of a job, whose
# memory it looks at too, once a minute as they stand still. The last lines are the result.
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
exec python3 bench/top.py build/bin/reveza "$processes" "$seconds"
