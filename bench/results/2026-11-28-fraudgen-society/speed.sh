#!/usr/bin/env bash
# Rows per processor second of two programs, in turn, on one thread; the best of five rounds each.
#
#   speed.sh BEFORE AFTER FOLDER
set -euo pipefail

rows=4000000
printf 'load before: %s\n' "$(cut -d' ' -f1-3 /proc/loadavg)"
for format in parquet jsonl; do
  for round in 1 2 3 4 5; do
    for program in "$1" "$2"; do
      rm -rf "$3/data"
      /usr/bin/time -o "$3/time" -f '%U %S %M' "$program" --rows "$rows" --seed 1 --threads 1 --format "$format" \
        --output "$3/data" --quiet
      read -r user system memory <"$3/time"
      printf '%s %s round %s: %s k rows per processor second, %s kB of memory, %s bytes\n' "$format" "$program" "$round" \
        "$(awk "BEGIN { printf \"%.0f\", $rows / 1000 / ($user + $system) }")" "$memory" "$(du -sb "$3/data" | cut -f1)"
    done
  done
done
printf 'load after: %s\n' "$(cut -d' ' -f1-3 /proc/loadavg)"
