#!/usr/bin/env bash
# Configures a preset quietly. Does nothing if the tree is configured: ninja reconfigures when a
# CMakeLists.txt changes.
#
#   tools/configure.sh PRESET BUILD [CMAKE-ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
build=$2
shift 2

if [[ -f $build/build.ninja ]]; then
  exit 0
fi
mkdir -p "$build"
log=$build/configure.log
if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
  cat "$log" >&2
  printf '\nCMake failed. To install missing packages, run tools/setup.sh.\n' >&2
  exit 1
fi
sed -nE 's/^-- (No (Arrow|rdkafka|cpp-httplib|prometheus-cpp|chart library|nanobind))/\1/p' "$log"
printf 'configured %s\n' "$build"
