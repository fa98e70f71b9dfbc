#!/usr/bin/env bash
# Installs what building Reveza needs and this machine has not. Run it as often as you like.
#
#   tools/setup.sh [--quiet] [build|demo|test|check|fuzz|bench|browser|all]...     (default: build)
#
#   build   compiler, libraries, Arrow from its wheel, the chart library of reports from npm (into
#           build/charts), and where no CUDA toolkit is installed NVIDIA's wheels; wheels go into a
#           private Python environment in the build tree (build/python)
#   demo    what the demo of fraud data asks its question with, as a wheel
#   test    that too; more readers of data and PyPhi, as wheels, that some of the tests ask what they
#           see; where there is Go, the servers that tests talk to, built into build/servers; for
#           root, the browser too, and a kernel that runs as a program, where it can be had
#   check   what `make check` needs besides
#   fuzz    what `make fuzz` needs besides
#   bench   the wheels of other generators, that bench/fraudgen.sh measures beside ours; not in `all`
#   browser Chromium, in which a test opens reports: 124 MB to fetch
#
# Debian 12 and 13 and Ubuntu 24.04 have all of it under the same names. Only root can install
# packages: anybody else is told the one command to run, and the exit status is 1.
# --quiet prints only what had to be done.
set -euo pipefail
cd "$(dirname "$0")/.."

build_packages=(g++ make cmake ninja-build ccache mold python3-venv libfmt-dev libspdlog-dev
  libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libxxhash-dev libsqlite3-dev libgtest-dev
  libbenchmark-dev pkgconf librdkafka-dev libcpp-httplib-dev libncurses-dev
  prometheus-cpp-dev)
check_packages=(git clang-format-19 clang-tidy-19)
fuzz_packages=(clang-19 libclang-rt-19-dev)
browser_packages=(chromium)
kernel_packages=(user-mode-linux)
environment=build/python
requirements=tools/requirements.txt
arrow_requirements=tools/requirements-arrow.txt
demo_requirements=tools/requirements-demo.txt
test_requirements=tools/requirements-test.txt
pyphi_requirements=tools/requirements-pyphi.txt
bench_requirements=tools/requirements-bench.txt
npm_requirements=tools/requirements-npm.txt
charts=build/charts
chart_requirements=tools/requirements-charts.txt
servers=build/servers
server_requirements=tools/requirements-go.txt
quiet=no

fail() {
  printf 'setup: %s\n' "$1" >&2
  exit 1
}

say() {
  [[ $quiet == yes ]] || printf 'ok  %s\n' "$1"
}

# 4:12.2.0-3+b1 is 12.2.0 to a reader.
upstream_version() {
  local version=${1#*:}
  version=${version%-*}
  printf '%s' "${version%%[+~]*}"
}

# Sets `missing` to those of the packages that are not installed, and says what there is.
look_at_packages() {
  local -A installed=()
  local name status version
  while read -r name status version; do
    [[ $status == ii ]] && installed[$name]=$version
  done < <(dpkg-query -W -f '${Package} ${db:Status-Abbrev} ${Version}\n' "$@" 2>/dev/null || true)
  missing=()
  for name in "$@"; do
    if [[ -n ${installed[$name]:-} ]]; then
      say "$name $(upstream_version "${installed[$name]}")"
    else
      missing+=("$name")
    fi
  done
}

install_packages() {
  local log
  log=$(mktemp)
  printf 'installing %s\n' "$*"
  export DEBIAN_FRONTEND=noninteractive
  if ! { apt-get update && apt-get install --yes --no-install-recommends "$@"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "could not install these packages; the lines above are apt-get's"
  fi
  rm -f "$log"
}

need_packages() {
  command -v dpkg-query >/dev/null || fail "this system has no apt. Install what these Debian packages
are called here, then build with 'make SETUP=no': $*"
  look_at_packages "$@"
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    printf 'missing: %s\nAs root, run:\n\n  apt-get update && apt-get install --yes --no-install-recommends %s\n\n' \
      "${missing[*]}" "${missing[*]}" >&2
    fail "then run this again"
  fi
  install_packages "${missing[@]}"
  local wanted=("${missing[@]}")
  look_at_packages "${wanted[@]}"
  ((${#missing[@]} == 0)) || fail "still not installed: ${missing[*]}"
}

# The folder of an installed toolkit that has all that the build looks for, or nothing.
installed_toolkit() {
  local home
  for home in "${CUDA_HOME:-}" /usr/local/cuda; do
    if [[ -n $home && -x $home/bin/nvcc && -f $home/include/cuda.h && -f $home/include/nvml.h ]]; then
      printf '%s' "$home"
      return
    fi
  done
}

# Each wheel leaves a folder NAME-VERSION.dist-info.
wheels_installed() {
  local name version found
  while IFS='=' read -r name _ version; do
    [[ $name == [a-z]* ]] || continue
    found=("$environment"/lib/python3*/site-packages/"${name//-/_}-$version".dist-info)
    [[ -d ${found[0]} ]] || return 1
  done <"$1"
}

# The build looks for these four files.
cuda_complete() {
  local file found
  wheels_installed "$requirements" || return 1
  for file in bin/nvcc include/cuda.h include/nvml.h lib/libcudart_static.a; do
    found=("$environment"/lib/python3*/site-packages/nvidia/cu13/"$file")
    [[ -f ${found[0]} ]] || return 1
  done
}

# Through the interpreter, for pip's own script names the place where it was installed first.
install_wheels() {
  "$environment/bin/python3" -m pip install --quiet --disable-pip-version-check \
    --only-binary :all: --no-deps --requirement "$1"
}

need_environment() {
  [[ -x $environment/bin/python3 ]] || python3 -m venv "$environment"
}

need_cuda() {
  local home
  home=$(installed_toolkit)
  if [[ -n $home ]]; then
    say "CUDA toolkit in $home"
    return
  fi
  if ! cuda_complete; then
    printf 'installing NVIDIA'\''s compiler and headers into %s\n' "$environment"
    # Made anew: a half-installed environment is quicker to replace than to repair.
    rm -rf "$environment"
    need_environment || fail "could not make a Python environment in $environment"
    install_wheels "$requirements" || fail "could not install $requirements"
    cuda_complete || fail "the wheels of $requirements lack a file that the build needs"
  fi
  say "CUDA $(sed -n 's/^nvidia-cuda-nvcc==//p' "$requirements") wheels in $environment"
}

# need_wheels WHAT REQUIREMENTS WITHOUT: what can be done without is no reason to stop.
need_wheels() {
  if ! wheels_installed "$2"; then
    printf 'installing %s into %s\n' "$1" "$environment"
    if ! { need_environment && install_wheels "$2" && wheels_installed "$2"; }; then
      printf 'setup: could not install %s; without it %s\n' "$2" "$3" >&2
      return
    fi
  fi
  say "$1: $(sed -n 's/^\([a-z][a-z0-9-]*\)==/\1 /p' "$2" | paste -sd , | sed 's/,/, /g')"
}

chart_folder() {
  printf '%s/%s-%s' "$charts" "${1##*/}" "$2"
}

# chart_complete FOLDER FILE SHA256
chart_complete() {
  [[ -f $1/LICENSE ]] && sha256sum --check --status <<<"$3  $1/${2##*/}" 2>/dev/null
}

charts_complete() {
  local name version file sum
  while read -r name version file sum; do
    [[ $name == [@a-z]* ]] || continue
    chart_complete "$(chart_folder "$name" "$version")" "$file" "$sum" || return 1
  done <"$chart_requirements"
}

# fetch_charts FOLDER: with this machine's npm, or with one that is installed below FOLDER for the
# moment.
fetch_charts() {
  local name version file sum folder npm
  npm=$(command -v npm || true)
  if [[ -z $npm ]]; then
    python3 -m venv "$1/npm" && "$1/npm/bin/python3" -m pip install --quiet \
      --disable-pip-version-check --only-binary :all: --no-deps --requirement "$npm_requirements" ||
      return 1
    npm=$1/npm/bin/npm
  fi
  while read -r name version file sum; do
    [[ $name == [@a-z]* ]] || continue
    folder=$(chart_folder "$name" "$version")
    mkdir -p "$1/pack" "$folder.partial"
    (cd "$1/pack" && PATH=${npm%/*}:$PATH "$npm" pack --silent --fetch-retries=1 "$name@$version") || return 1
    tar -xzf "$1"/pack/*.tgz -C "$1/pack" || return 1
    mv "$1/pack/package/$file" "$1/pack/package/LICENSE" "$folder.partial" || return 1
    rm -rf "$1/pack" "$folder"
    if ! chart_complete "$folder.partial" "$file" "$sum"; then
      printf '%s %s is not what %s names\n' "$name" "$version" "$chart_requirements" >&2
      return 1
    fi
    mv "$folder.partial" "$folder" || return 1
  done <"$chart_requirements"
}

# need_charts WITHOUT
need_charts() {
  local folder
  if ! charts_complete; then
    printf 'fetching the chart library of reports into %s\n' "$charts"
    folder=$(mktemp -d)
    if ! fetch_charts "$folder" >"$folder/log" 2>&1; then
      tail -n 3 "$folder/log" >&2
      printf 'setup: could not fetch %s; without it %s\n' "$chart_requirements" "$1" >&2
      rm -rf "$folder" "$charts"/*.partial
      return
    fi
    rm -rf "$folder"
  fi
  say "charts: $(sed -n 's/^\([@a-z][^ ]* [^ ]*\) .*/\1/p' "$chart_requirements" | paste -sd , | sed 's/,/, /g')"
}

# Only root can, so nobody else is kept from the other tests.
want_browser() {
  look_at_packages "${browser_packages[@]}"
  ((${#missing[@]})) || return 0
  if ((EUID == 0)); then
    need_packages "${browser_packages[@]}"
  else
    printf 'setup: no %s; without it no test opens reports (as root: tools/setup.sh browser)\n' \
      "${missing[*]}" >&2
  fi
}

# The same. Not every system has it, so that it cannot be had is no reason to stop either.
want_kernel() {
  look_at_packages "${kernel_packages[@]}"
  ((${#missing[@]})) || return 0
  if ((EUID != 0)) || ! (need_packages "${kernel_packages[@]}"); then
    printf 'setup: no %s; without it no test has a kernel of its own (as root: apt-get install)\n' \
      "${missing[*]}" >&2
  fi
}

# need_server NAME PACKAGE@VERSION WITHOUT: it is built once, for the version is part of its folder.
need_server() {
  local name=$1 version=${2##*@} go log
  local folder=$servers/$name-$version
  if [[ ! -x $folder/$name ]]; then
    go=$(command -v go || true)
    [[ -n $go || ! -x /usr/local/go/bin/go ]] || go=/usr/local/go/bin/go
    if [[ -z $go ]]; then
      printf 'setup: no Go to build %s with (1.21 or later fetches the one that it needs); without it %s\n' \
        "$name" "$3" >&2
      return
    fi
    printf 'building %s %s into %s\n' "$name" "$version" "$servers"
    log=$(mktemp)
    rm -rf "$folder.partial"
    mkdir -p "$folder.partial"
    if ! GOBIN=$PWD/$folder.partial GOTOOLCHAIN=auto GOFLAGS='-trimpath -modcacherw' \
      "$go" install -ldflags='-s -w' "$2" >"$log" 2>&1; then
      tail -n 3 "$log" >&2
      printf 'setup: could not build %s; without it %s\n' "$name" "$3" >&2
      rm -rf "$log" "$folder.partial"
      return
    fi
    rm -rf "$log" "$folder"
    mv "$folder.partial" "$folder"
  fi
  say "$name $version in $servers"
}

need_servers() {
  local name package
  while read -r name package; do
    [[ $name == [a-z]* ]] || continue
    need_server "$name" "$package" "$1"
  done <"$server_requirements"
}

main() {
  local parts=() part packages=()
  for part in "$@"; do
    case $part in
      --quiet) quiet=yes ;;
      --help | -h)
        sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' tools/setup.sh
        exit 0
        ;;
      build | demo | test | check | fuzz | bench | browser) parts+=("$part") ;;
      all) parts+=(build test check fuzz browser) ;;
      *) fail "unknown argument '$part'; tools/setup.sh --help lists them" ;;
    esac
  done
  ((${#parts[@]})) || parts=(build)
  for part in "${parts[@]}"; do
    [[ $part != demo && $part != test && $part != bench ]] || continue
    local -n group=${part}_packages
    packages+=("${group[@]}")
  done
  ((${#packages[@]} == 0)) || need_packages "${packages[@]}"
  if [[ " ${parts[*]} " == *" build "* ]]; then
    need_cuda
    need_wheels Arrow "$arrow_requirements" 'fraudgen writes neither Parquet nor Arrow files'
    need_charts 'fraudgen report writes no pages'
  fi
  if [[ " ${parts[*]} " == *" demo "* || " ${parts[*]} " == *" test "* ]]; then
    need_wheels DuckDB "$demo_requirements" 'the demo of fraud data gets no answer'
  fi
  if [[ " ${parts[*]} " == *" test "* ]]; then
    need_wheels 'Readers of data' "$test_requirements" 'some tests are skipped'
    need_wheels PyPhi "$pyphi_requirements" 'phi iit is not compared with it'
    need_servers 'the tests that write to buckets are skipped'
    want_kernel
    want_browser
  fi
  if [[ " ${parts[*]} " == *" bench "* ]]; then
    need_wheels 'Other generators' "$bench_requirements" 'bench/fraudgen.sh leaves them out'
  fi
}

main "$@"
