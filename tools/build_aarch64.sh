#!/usr/bin/env bash
# Cross-compiles `reveza` for 64-bit ARM on Debian 12 into build/aarch64, and packs its wheel into build/dist-aarch64.
# With `tests`, also builds what tests/tools/aarch64_test.py runs under QEMU.
#
#   tools/build_aarch64.sh JOBS [tests]
#
# Needs g++-aarch64-linux-gnu, and root once: debootstrap fetches the packages of
# Debian for arm64 into build/roots/aarch64, and unpacks them without running any of their programs. Exits with 77
# where these are missing.
set -euo pipefail
cd "$(dirname "$0")/.."

for needed in aarch64-linux-gnu-g++ debootstrap; do
  if ! command -v "$needed" >/dev/null; then
    printf 'build_aarch64: no %s; tools/setup.sh test installs it\n' "$needed" >&2
    exit 77
  fi
done
jobs=$1
targets=(programs)
if [[ ${2:-} == tests ]]; then
  mapfile -t -O 1 targets < <(awk '$1 ~ /_test$/ {print $1}' tests/tools/aarch64_tests.txt)
fi
root=$PWD/build/roots/aarch64
libraries=(libc6-dev libfmt-dev libspdlog-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libxxhash-dev
  libsqlite3-dev libncurses-dev libgtest-dev)
programs=(python3 binutils procps git)  # of tests

if [[ ! -d $root ]]; then
  ((EUID == 0)) || { printf 'build_aarch64: only root can make %s\n' "$root" >&2 && exit 77; }
  rm -rf "$root.partial"
  mkdir -p "$root.partial"
  include=$(IFS=, && printf '%s' "${libraries[*]},${programs[*]}")
  if ! debootstrap --foreign --arch=arm64 --variant=minbase --include="$include" bookworm "$root.partial" \
    >"$root.log" 2>&1; then
    tail -n 5 "$root.log" >&2
    exit 77
  fi
  # The second stage would run programs of arm64 as root. Nothing here needs a configured system.
  for package in "$root.partial"/var/cache/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$root.partial"
  done
  rm -r "$root.partial"/var/cache/apt/archives
  mv "$root.partial" "$root"
fi

tools=build/wheel-tools
if ! cmp -s tools/requirements-wheels.txt "$tools/installed"; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --no-deps --require-hashes -r tools/requirements-wheels.txt
  cp tools/requirements-wheels.txt "$tools/installed"
fi
tools/make_glibc_stubs.sh "$tools/bin/python" build/glibc-aarch64 aarch64

tools/configure.sh ci build/aarch64 -B build/aarch64 -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake" \
  "-DREVEZA_ROOT=$root" -DREVEZA_GLIBC="$PWD/build/glibc-aarch64" -DREVEZA_BUILD_FRAUDGEN=OFF -DREVEZA_BUILD_PHI=OFF \
  "-DREVEZA_WITHOUT=arrow;httplib;nanobind;rdkafka"
tools/build.sh build/aarch64 "$jobs" "${targets[@]}"
rm -f build/dist-aarch64/*.whl
"$tools/bin/python" tools/make_wheels.py build/aarch64 build/dist-aarch64 manylinux_2_28_aarch64 reveza
