#!/usr/bin/env bash
# Runs the checks of `make check` on a built tree. Each check counts as one test; the last line is
#
#   N passed, N failed
#
#   tools/check.sh BUILD JOBS [SECONDS]     (SECONDS: clang-tidy begins with no file after that)
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1
jobs=$2
seconds=${3:-}
passed=0
failed=0

check() {
  local name=$1 started=$SECONDS
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s\n' "$name"
  fi
  local took=$((SECONDS - started))
  ((took < 5)) || printf '(%s took %d s)\n' "$name" "$took"
}

check_format() {
  local files
  mapfile -t files < <(git ls-files --cached --others --exclude-standard -- \
    '*.cc' '*.h' '*.cu' | while read -r file; do [[ -f $file ]] && echo "$file"; done)
  ((${#files[@]})) || return 1
  clang-format-19 --dry-run --Werror "${files[@]}" 2>&1 | head -n 60
  ((PIPESTATUS[0] == 0)) || return 1
  printf 'format: %d files are formatted\n' ${#files[@]}
}

check format check_format
check layers tools/check_layers.py
check licences tools/check_licences.py
check text tools/check_text.py
check links tools/check_links.py
check tests-named tools/check_tests_named.py
check_locks() {
  tools/tidy_tree.sh "$build/tidy" && tools/check_locks.sh "$build/tidy" "$jobs"
}
check locks check_locks
# `make tidy` runs all checks, which takes three times as long.
check_tidy() {
  tools/tidy_tree.sh "$build/tidy" && tools/tidy.py "$build/tidy" "$jobs" --quick ${seconds:+--for "$seconds"}
}
check clang-tidy check_tidy

printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
