#!/usr/bin/env bash
# What `make check` runs on a built tree. Each check counts as one test; the last line is
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
  printf 'format: %d files are as clang-format would have them\n' ${#files[@]}
}

check format check_format
check layers tools/check_layers.py
check licences tools/check_licences.py
check text tools/check_text.py
check links tools/check_links.py
check tests-named tools/check_tests_named.py
# The rest of clang-tidy takes three times as long: `make tidy`.
check clang-tidy tools/tidy.py "$build" "$jobs" --quick ${seconds:+--for "$seconds"}

printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
