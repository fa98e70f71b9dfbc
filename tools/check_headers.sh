#!/usr/bin/env bash
# Builds what depends on CUDA's headers, and runs its tests, with an installed toolkit of the oldest
# supported version, which is made of the headers of tools/requirements-headers.txt and the compiler in
# use. The last line is
#
#   N passed, N failed
#
#   tools/check_headers.sh [FOLDER]
#
# FOLDER is the build tree (default build/oldest_cuda).
set -euo pipefail
cd "$(dirname "$0")/.."

build=$(realpath -m "${1:-build/oldest_cuda}")
headers=$PWD/build/headers
targets=(interpose_captures_test interpose_entries_test interpose_generator_test
  interpose_hook_effects_test interpose_hooks_test interpose_resolver_test interpose_wrappers_test
  fakecuda_driver_test fakecuda_nvml nvml_test reveza_calls_preload reveza_preload swap_test)

fail() {
  printf 'check_headers: %s\n' "$1" >&2
  exit 1
}

# Prints the folder of the header of a wheel.
header_of() {
  local version found
  version=$(sed -n "s/^$1==//p" tools/requirements-headers.txt | sort -V | head -n 1)
  found=("$headers/$1-$version"/nvidia/*/include)
  [[ -f ${found[0]}/$2 ]] || fail "no $1 $version in build/headers; run tools/setup.sh headers"
  printf '%s' "${found[0]}"
}

# Makes the toolkit; its nvcc is the one that the build would use without it.
make_toolkit() {
  local nvcc cuda nvml
  nvcc=$(tools/find_toolkit.sh)
  nvcc=${nvcc:-$(echo build/python/lib/python3*/site-packages/nvidia/cu13)}/bin/nvcc
  cuda=$(header_of nvidia-cuda-runtime-cu12 cuda.h)
  nvml=$(header_of nvidia-nvml-dev-cu12 nvml.h)
  rm -rf "$build/toolkit"
  mkdir -p "$build/toolkit/bin" "$build/toolkit/include"
  ln -s "$cuda"/* "$nvml/nvml.h" "$build/toolkit/include"
  printf '#!/bin/sh\nexec %q "$@"\n' "$(realpath "$nvcc")" >"$build/toolkit/bin/nvcc"
  chmod +x "$build/toolkit/bin/nvcc"
}

make_toolkit
log=$build/check.log
CUDA_HOME=$build/toolkit cmake --preset ci -B "$build" -DREVEZA_BUILD_FRAUDGEN=OFF \
  -DREVEZA_BUILD_PHI=OFF >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
grep -q "^REVEZA_CUDA_INCLUDE:PATH=$build/toolkit/include$" "$build/CMakeCache.txt" ||
  fail "CMake does not accept the toolkit; see $build/CMakeCache.txt"
ninja -C "$build" -j "${JOBS:-2}" "${targets[@]}" >"$log" 2>&1 || { tail -40 "$log" >&2; exit 1; }
tests=$(IFS='|'; printf '%s' "${targets[*]}")
exec tools/run_tests.sh "$build" "${JOBS:-2}" -R "^($tests)/"
