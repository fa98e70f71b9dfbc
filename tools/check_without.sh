#!/usr/bin/env bash
# Builds fraudgen without each optional library, and without all of them. Checks that the rest works
# and that errors name the missing library.
#
#   tools/check_without.sh [FOLDER [LIBRARY...]]
#
# FOLDER is the build tree (default build/without), reconfigured for each library.
# LIBRARY is arrow, charts, httplib or rdkafka, or several separated by semicolons (default: each,
# and all).
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build/without}
shift || true
if (($# == 0)); then
  set -- arrow charts httplib rdkafka 'arrow;charts;httplib;rdkafka'
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fraudgen=$(realpath -m "$build")/bin/fraudgen

# expect_error PART ARGUMENT...: fraudgen fails with one line that contains PART.
expect_error() {
  local part=$1 message status=0
  shift
  message=$("$fraudgen" "$@" 2>&1 >/dev/null) || status=$?
  if ((status == 0)) || [[ $message != "fraudgen: "*"$part"* || $message == *$'\n'* ]]; then
    printf 'fraudgen %s: exit status %d\n%s\nexpected: %s\n' "$*" "$status" "$message" "$part" >&2
    return 1
  fi
}

# expect_errors_without LIBRARY: checks the features that need it.
expect_errors_without() {
  case $1 in
    arrow)
      expect_error 'built without Arrow' --rows 1000 --format parquet --output "$place/parquet"
      expect_error 'built without Arrow' --rows 1000 --output s3://bucket/data --s3-access-key a \
        --s3-secret-key b --s3-endpoint http://localhost:9
      ;;
    charts) expect_error 'built without the chart library' report "$place/data" -o "$place/page.html" ;;
    httplib)
      expect_error 'built without cpp-httplib' stream --target webhook --rows 1000 \
        --webhook-url http://localhost:9/
      ;;
    rdkafka) expect_error 'built without librdkafka' stream --target kafka --rows 1000 ;;
    *) printf '%s is not an optional library of fraudgen\n' "$1" >&2 && return 2 ;;
  esac
}

for without in "$@"; do
  cmake --preset release -B "$build" "-DREVEZA_WITHOUT=$without" >"$place/log" 2>&1 ||
    { cat "$place/log" >&2; exit 1; }
  ninja -C "$build" -j "${JOBS:-2}" fraudgen >"$place/log" 2>&1 || { tail -40 "$place/log" >&2; exit 1; }
  "$fraudgen" --quiet --rows 1000 --output "$place/data"
  "$fraudgen" --quiet check "$place/data"
  "$fraudgen" stream --target stdout --pace max --rows 1000 --quiet >"$place/stream"
  cmp "$place/stream" "$place/data/transactions/part-00000.jsonl"
  IFS=';' read -ra missing <<<"$without"
  for library in "${missing[@]}"; do
    expect_errors_without "$library"
  done
  rm -rf "$place/data"
  printf 'without %s: fraudgen works and names missing libraries\n' "${without//;/, }"
done
