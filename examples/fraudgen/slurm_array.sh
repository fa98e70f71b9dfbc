#!/usr/bin/env bash
#SBATCH --job-name=fraudgen
#SBATCH --array=1-8
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=250M
#SBATCH --requeue
#
# Generates a data set with eight tasks in a directory shared by all nodes, or in a bucket:
#
#   sbatch slurm_array.sh /shared/data --size 1TB --format parquet
#   sbatch --array=1-100 slurm_array.sh s3://bucket/data --size 1TB --format parquet
#
# The files are the same as those of a single machine. A task that was interrupted, by a time limit
# or a node failure, resumes when it is requeued. Shards are numbered from 1 without gaps; to run
# one again, select it with --array and set SHARDS to their total number:
#
#   SHARDS=8 sbatch --array=3 slurm_array.sh /shared/data --size 1TB --format parquet
set -euo pipefail
output=$1
shift
exec fraudgen --output "$output" --quiet --threads "${SLURM_CPUS_PER_TASK:-1}" \
  --shard "$SLURM_ARRAY_TASK_ID/${SHARDS:-$SLURM_ARRAY_TASK_COUNT}" "$@"
