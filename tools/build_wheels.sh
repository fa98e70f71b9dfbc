#!/usr/bin/env bash
# Builds the wheels reveza, fraudgen and reveza-phi for glibc 2.28 or later into build/dist
# (tests/tools/wheels_test.py checks them). Names of wheels (reveza fraudgen phi) restrict it to these.
#
#   tools/build_wheels.sh JOBS [NAME...]
set -euo pipefail
cd "$(dirname "$0")/.."

jobs=$1
shift
names=("$@")
((${#names[@]})) || names=(reveza fraudgen phi)

tools=build/wheel-tools
if ! cmp -s tools/requirements-wheels.txt "$tools/installed"; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --no-deps --require-hashes -r tools/requirements-wheels.txt
  cp tools/requirements-wheels.txt "$tools/installed"
fi
tools/make_glibc_stubs.sh "$tools/bin/python" build/glibc

# The same options as of the tests, so that ccache has the objects.
tools/configure.sh ci build/wheels -B build/wheels -DREVEZA_GLIBC="$PWD/build/glibc" \
  "-DREVEZA_WITHOUT=arrow;httplib;rdkafka"
tools/build.sh build/wheels "$jobs" "${names[@]/#reveza/programs}"

platform=manylinux_2_28_$(uname -m)
rm -f build/dist/*.whl
"$tools/bin/python" tools/make_wheels.py build/wheels build/dist "$platform" "${names[@]}"
