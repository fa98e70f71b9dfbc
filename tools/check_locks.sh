#!/usr/bin/env bash
# Checks with clang's thread-safety analysis that what is GUARDED_BY a mutex (common/base/mutex.h) is
# used only with the mutex held, in every source file, tests excepted, that includes such a header.
#
#   tools/check_locks.sh BUILD JOBS     (BUILD: a tree of tools/tidy_tree.sh)
set -euo pipefail
cd "$(dirname "$0")/.."

# The headers that include mutex.h, directly or not.
headers=common/base/mutex.h
known=
while [[ $headers != "$known" ]]; do
  known=$headers
  headers+=$(git grep -lE "^#include \"($known)\"" -- '*.h' | sed 's/^/|/' | tr -d '\n')
  headers=$(tr '|' '\n' <<<"$headers" | sort -u | paste -sd '|')
done
mapfile -t files < <(git grep -lE "^#include \"($headers)\"" -- '*.cc' \
  ':!*_test.cc' ':!*/testing*' ':!tests')

# unused-raii finds a lock without a name, which is released at once.
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$2" clang-tidy-19 -p "$1" --quiet --config='{}' \
  --checks='-*,clang-diagnostic-thread-safety*,bugprone-unused-raii' --warnings-as-errors='*' \
  --header-filter='.*' --extra-arg=-Wthread-safety --extra-arg=-Wno-unknown-warning-option \
  2> >(grep -vE '^[0-9]+ warnings?( treated as errors?| generated)' >&2)
printf 'locks: %d files use guarded members with their mutex held\n' "${#files[@]}"
