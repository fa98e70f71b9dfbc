#!/usr/bin/env bash
# Builds the wheels reveza, fraudgen and reveza-phi for glibc 2.28 or later into build/dist
# (tests/tools/wheels_test.py checks them). Names of wheels (reveza fraudgen phi) restrict it to these.
#
#   tools/build_wheels.sh JOBS [NAME...]
#
# The Python packages phi and fraudgen get a module for each Python of which there are an interpreter and
# headers: one each for 3.10 and 3.11, and one for 3.12 and all later ones. Looked for on the PATH and among those
# of pyenv and uv; REVEZA_PYTHONS names others.
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
# find_python NAME: prints the path of the first interpreter of that name that runs and has headers.
find_python() {
  local python headers
  for python in "$(command -v "$1" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/"$1" \
    "${UV_PYTHON_INSTALL_DIR:-$HOME/.local/share/uv/python}"/*/bin/"$1"; do
    headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null || true)
    if [[ -f $headers/Python.h ]]; then
      printf '%s\n' "$python"
      return
    fi
  done
}

interpreters=()
for name in ${REVEZA_PYTHONS:-python3.10 python3.11 python3.12 python3.13 python3.14}; do
  python=$(find_python "$name")
  [[ -z $python ]] || interpreters+=("$python")
done
tools/make_glibc_stubs.sh "$tools/bin/python" build/glibc

# The header of cpp-httplib that has everything, for `reveza web`; that of distributions needs a shared library.
httplib=build/httplib
httplib_url=http://deb.debian.org/debian/pool/main/c/cpp-httplib/cpp-httplib_0.18.7.orig.tar.xz
httplib_hash=c88f6495da71e778c82c22995b547a92ceb41cc4016f9028df67106a24b9210d
if [[ ! -f $httplib/LICENSE ]]; then
  rm -rf "$httplib.partial"
  mkdir -p "$httplib.partial"
  if python3 -c 'import sys, urllib.request; urllib.request.urlretrieve(*sys.argv[1:])' "$httplib_url" \
    "$httplib.partial/source" &&
    sha256sum --check --quiet <<<"$httplib_hash  $httplib.partial/source"; then
    tar --extract --file "$httplib.partial/source" --directory "$httplib.partial" --strip-components 1 \
      --wildcards '*/httplib.h' '*/LICENSE'
    rm "$httplib.partial/source"
    rm -rf "$httplib"
    mv "$httplib.partial" "$httplib"
  else
    printf 'build_wheels: could not fetch %s: the wheel reveza lacks `reveza web`\n' "$httplib_url" >&2
    httplib=
  fi
fi

# There may be other interpreters than the last time.
rm -rf build/wheels/build.ninja build/wheels/lib/python
# The same options as of the tests, so that ccache has the objects.
tools/configure.sh ci build/wheels -B build/wheels -DREVEZA_GLIBC="$PWD/build/glibc" \
  "-DREVEZA_HTTPLIB=${httplib:+$PWD/$httplib}" \
  "-DREVEZA_WITHOUT=arrow;httplib;rdkafka" "-DREVEZA_PYTHONS=$(IFS=';' && echo "${interpreters[*]:-none}")"
targets=("${names[@]/#reveza/wheel_programs}")
[[ " ${names[*]} " != *" phi "* ]] || targets+=(phi_python)
[[ " ${names[*]} " != *" fraudgen "* ]] || targets+=(fraudgen_python)
tools/build.sh build/wheels "$jobs" "${targets[@]}"

# The programs that use the libraries of pyarrow where it is installed too.
variants=()
for name in fraudgen phi; do
  [[ " ${names[*]} " != *" $name "* ]] || variants+=("$name")
done
rm -rf build/wheels-arrow/bin
if ((${#variants[@]})); then
  tools/configure.sh ci build/wheels-arrow -B build/wheels-arrow -DREVEZA_GLIBC="$PWD/build/glibc" \
    "-DREVEZA_WITHOUT=httplib;rdkafka" -DREVEZA_PYTHONS=none
  tools/build.sh build/wheels-arrow "$jobs" "${variants[@]}"
fi

platform=manylinux_2_28_$(uname -m)
rm -f build/dist/*.whl
"$tools/bin/python" tools/make_wheels.py build/wheels build/dist "$platform" "${names[@]}"
