#!/usr/bin/env bash
# Prints what `fraudgen bench` says of both models: bench/fraud_behaviour.sh BUILD [ROWS]
#
# Needs the wheels of tools/requirements-demo.txt and requirements-ml.txt in build/python.
set -euo pipefail
build=$(realpath "$1")
rows=${2:-200000}
export FRAUDGEN_PYTHON=${FRAUDGEN_PYTHON:-$(realpath "$(dirname "$0")/../build/python")/bin/python3}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
printf '$ bench/fraud_behaviour.sh %s %s\n' "$1" "$rows"
"$build/bin/fraudgen" --version
for model in coherent classic; do
  "$build/bin/fraudgen" --quiet --rows "$rows" --model "$model" --format parquet --output "$model"
done
"$build/bin/fraudgen" bench coherent classic --threads 1
