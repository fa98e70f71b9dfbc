#!/usr/bin/env bash
# Runs a test with the interpreter that has Spark, Ray and Snakemake. Exits with 77 if there is none.
#
#   run_with_engines.sh TEST ARGUMENT...
set -euo pipefail
python=$(dirname "$0")/../../build/engines/bin/python3
if [[ ! -x $python ]]; then
  echo 'skipped: no Spark, Ray and Snakemake; tools/setup.sh engines installs them'
  exit 77
fi
exec "$python" -B "$@"
