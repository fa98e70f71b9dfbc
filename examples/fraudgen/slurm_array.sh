#!/usr/bin/env bash
#SBATCH --job-name=fraudgen
#SBATCH --array=1-8
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=250M
#SBATCH --requeue
#
# One data set by eight tasks, each a part of it, into one folder that all nodes see (or a bucket):
#
#   sbatch slurm_array.sh /shared/data --size 1TB --format parquet
#   sbatch --array=1-100 slurm_array.sh s3://bucket/data --size 1TB --format parquet
#
# The files are those that one machine would write. A task that was ended, by a time limit or a node
# that died, goes on where it was when it is queued again. Parts are counted from 1 without gaps, so
# to give one a second time, let --array name it and SHARDS say of how many:
#
#   SHARDS=8 sbatch --array=3 slurm_array.sh /shared/data --size 1TB --format parquet
set -euo pipefail
output=$1
shift
exec fraudgen --output "$output" --quiet --threads "${SLURM_CPUS_PER_TASK:-1}" \
  --shard "$SLURM_ARRAY_TASK_ID/${SHARDS:-$SLURM_ARRAY_TASK_COUNT}" "$@"
