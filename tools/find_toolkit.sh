#!/usr/bin/env bash
# Prints the folder of an installed CUDA toolkit that the build can use, or nothing: it has all files
# required by the build, cuda.h is of a version that cuda/cuda.h completes, and nvcc accepts the
# compiler. Used by CMake and tools/setup.sh, so that both decide alike.
#
#   tools/find_toolkit.sh [COMPILER]
#
# Looks in CUDA_HOME, then in /usr/local/cuda.
set -euo pipefail
cd "$(dirname "$0")/.."

compiler=${1:-${CXX:-c++}}
oldest=$(sed -n 's/^#define REVEZA_CUDA_OLDEST //p' cuda/cuda.h)
newest=$(sed -n 's/^#define REVEZA_CUDA_NEWEST //p' cuda/cuda.h)

for home in "${CUDA_HOME:-}" /usr/local/cuda; do
  [[ -n $home && -x $home/bin/nvcc && -f $home/include/cuda.h && -f $home/include/nvml.h ]] || continue
  version=$(sed -n 's/^#define CUDA_VERSION //p' "$home/include/cuda.h")
  if ((version < oldest || version > newest)); then
    printf 'ignoring CUDA %d.%d in %s, whose headers are not supported\n' \
      $((version / 1000)) $((version % 1000 / 10)) "$home" >&2
  elif ! "$home/bin/nvcc" -ccbin "$compiler" -E -x cu /dev/null >/dev/null 2>&1; then
    printf 'ignoring the CUDA toolkit in %s, whose nvcc does not work with %s\n' "$home" "$compiler" >&2
  else
    printf '%s\n' "$home"
    break
  fi
done
