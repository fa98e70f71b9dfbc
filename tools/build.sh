#!/usr/bin/env bash
# Builds a configured tree: one moving line on a terminal; elsewhere a line every 20 s, and what
# fails.
#
#   tools/build.sh BUILD JOBS [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1
jobs=$2
shift 2

# show_progress: passes on errors and warnings; of the status lines, one every 20 s.
show_progress() {
  local line shown=$SECONDS
  while IFS= read -r line; do
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\  ]]; then
      ((SECONDS - shown < 20)) && continue
      shown=$SECONDS
      local done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
      printf '  %d of %d built, about %d s left\n' "$done" "$all" \
        $(((SECONDS - started) * (all - done) / done))
    elif [[ $line != "ninja: Entering"* && $line != "ninja: no work"* ]]; then
      printf '%s\n' "$line"
    fi
  done
}

started=$SECONDS
if [[ -t 1 ]]; then
  NINJA_STATUS='[%f/%t] ' ninja -C "$build" -j "$jobs" "$@" | sed '/^ninja: Entering/d'
else
  NINJA_STATUS='[%f/%t] ' ninja -C "$build" -j "$jobs" "$@" | show_progress
fi
printf 'built %s in %d s\n' "$build" $((SECONDS - started))
