#!/usr/bin/env bash
# Runs the tests of a built tree with ctest. Prints only failures, and finally the line
#
#   N passed, N failed
#
# Exits with 0 if at least one test ran and none failed.
#
#   tools/run_tests.sh BUILD JOBS [CTEST-ARGUMENT...]
set -euo pipefail

build=$1
jobs=$2
shift 2

report=$(mktemp)
output=$(mktemp)
trap 'rm -f "$report" "$output"' EXIT

# GCC 12's ThreadSanitizer does not support kernels with more bits of address space randomization.
launcher=()
if grep -qs '^REVEZA_SANITIZE:[A-Z]*=thread$' "$build/CMakeCache.txt" &&
  setarch "$(uname -m)" --addr-no-randomize true 2>/dev/null; then
  launcher=(setarch "$(uname -m)" --addr-no-randomize)
fi

status=0
if [[ -t 1 ]]; then
  "${launcher[@]}" ctest --test-dir "$build" --parallel "$jobs" --progress --output-on-failure \
    --output-junit "$report" "$@" || status=$?
else
  "${launcher[@]}" ctest --test-dir "$build" --parallel "$jobs" --output-on-failure \
    --output-junit "$report" "$@" >"$output" 2>&1 || status=$?
  # Drops lines of starting, passing and skipped tests (the latter are listed last), and ctest's summary.
  sed -E '/^ +Start +[0-9]+: /d; /^ *[0-9]+\/[0-9]+ Test .*( Passed|\*\*\*Skipped|\*\*\*Not Run \(Disabled\)) +[0-9.]+ sec$/d;
    /^Internal ctest changing into/d; /^Test project /d; /^Total Test time/d;
    /^[0-9]+% tests passed, /d; /^Label Time Summary/,/^$/d; /^$/d' "$output"
fi

# Prints an attribute of the report's <testsuite>, or 0 if ctest wrote no report.
attribute() {
  local value
  value=$(sed -n "/<testsuite /,/>/s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" "$report" | head -n 1)
  printf '%s' "${value:-0}"
}

total=$(attribute tests)
failed=$(attribute failures)
skipped=$(attribute skipped)
disabled=$(attribute disabled)
passed=$((total - failed - skipped - disabled))

if ((total == 0)); then
  echo 'no tests found' >&2
elif ((passed == 0 && failed == 0)); then
  echo 'all tests were skipped' >&2
fi
if ((skipped + disabled > 0)); then
  printf '%d skipped\n' $((skipped + disabled))
fi
# ctest failed without a failing test, for example because of an unknown argument.
if ((status != 0 && failed == 0)); then
  printf 'ctest exited with status %d\n' "$status" >&2
  failed=1
fi
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0 && passed > 0))
