#!/usr/bin/env bash
# Builds a configured tree: one moving line on a terminal, nothing at all elsewhere unless it fails.
#
#   tools/build.sh BUILD JOBS [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1
jobs=$2
shift 2

started=$SECONDS
export NINJA_STATUS='[%f/%t] '
if [[ -t 1 ]]; then
  ninja -C "$build" -j "$jobs" "$@" | sed '/^ninja: Entering/d'
else
  ninja -C "$build" -j "$jobs" --quiet "$@" | sed '/^ninja: Entering/d; /^ninja: no work/d'
fi
printf 'built %s in %d s\n' "$build" $((SECONDS - started))
