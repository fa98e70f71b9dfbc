#!/usr/bin/env bash
# Builds fraudgen without each library that it can do without, and then without all of them: what is
# left works, and whoever asks for the rest is told what is missing.
#
#   tools/check_without.sh [FOLDER [LIBRARY...]]
#
# FOLDER (build/without unless given) is configured anew for each; what does not differ is built once.
# LIBRARY: arrow, charts, httplib or rdkafka, or several with semicolons; each and all unless given.
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

# refused PART ARGUMENT...: fraudgen says why not, in one line that has PART.
refused() {
  local part=$1 said status=0
  shift
  said=$("$fraudgen" "$@" 2>&1 >/dev/null) || status=$?
  if ((status == 0)) || [[ $said != "fraudgen: "*"$part"* || $said == *$'\n'* ]]; then
    printf 'fraudgen %s: exit status %d\n%s\nshould say: %s\n' "$*" "$status" "$said" "$part" >&2
    return 1
  fi
}

# What only the library can do.
refused_without() {
  case $1 in
    arrow)
      refused 'built without Arrow' --rows 1000 --format parquet --output "$place/parquet"
      refused 'built without Arrow' --rows 1000 --output s3://bucket/data --s3-access-key a \
        --s3-secret-key b --s3-endpoint http://localhost:9
      ;;
    charts) refused 'built without the chart library' report "$place/data" -o "$place/page.html" ;;
    httplib)
      refused 'built without cpp-httplib' stream --target webhook --rows 1000 \
        --webhook-url http://localhost:9/
      ;;
    rdkafka) refused 'built without librdkafka' stream --target kafka --rows 1000 ;;
    *) printf '%s is no library that fraudgen can do without\n' "$1" >&2 && return 2 ;;
  esac
}

for without in "$@"; do
  cmake --preset release -B "$build" "-DREVEZA_WITHOUT=$without" >"$place/log" 2>&1 ||
    { cat "$place/log" >&2; exit 1; }
  ninja -C "$build" -j "${JOBS:-2}" fraudgen >"$place/log" 2>&1 || { tail -40 "$place/log" >&2; exit 1; }
  "$fraudgen" --quiet --rows 1000 --output "$place/data"
  "$fraudgen" --quiet check "$place/data"
  "$fraudgen" stream --target stdout --pace max --rows 1000 --quiet >"$place/stream"
  cmp "$place/stream" "$place/data/transactions_00000.jsonl"
  IFS=';' read -ra missing <<<"$without"
  for library in "${missing[@]}"; do
    refused_without "$library"
  done
  rm -rf "$place/data"
  printf 'without %s: fraudgen works and says what is missing\n' "${without//;/, }"
done
