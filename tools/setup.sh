#!/usr/bin/env bash
# Installs missing build and test dependencies. Idempotent.
#
#   tools/setup.sh [--quiet] [build|demo|test|docs|check|fuzz|bench|browser|headers|engines|kubernetes|ray|slurm|all]...  (default: build)
#
#   build   compiler and libraries, Arrow from its wheel, the chart libraries of pages from npm (into
#           build/charts), and NVIDIA's wheels if no CUDA toolkit is installed; wheels are installed in
#           a private Python environment (build/python)
#   demo    the wheel of DuckDB, for the demo of fraudgen
#   test    `demo`, `docs`, `headers`, and wheels of data readers, LightGBM and PyPhi; with Go, the servers of tests (built
#           into build/servers) and the modules of integrations/kubernetes (into Go's own cache);
#           Debian's package of Prometheus (unpacked into build/promtool, 170 MB); as
#           root, what browsers, kernels, shells, Debian packages and aarch64 are tested with, if available
#   docs    Sphinx and what draws diagrams, for `make docs`
#   check   additional packages for `make check`
#   fuzz    additional packages for `make fuzz`
#   bench   wheels of other generators for bench/fraudgen.sh; not part of `all`
#   browser Chromium, in which tests open pages (downloads 124 MB)
#   headers CUDA headers of other versions, into build/headers (6 MB)
#   engines Java, and wheels of Spark, Ray, mlcroissant and Snakemake (into build/engines, 1.2 GB), for `make test-engines`;
#           not part of `all`
#   kubernetes  runc, and with Go the modules of kubelet and containerd, for `make test-kubernetes`; not
#           part of `all`
#   ray     wheels of Ray with its job server (into build/ray, 400 MB), for `make test-ray`; not part of `all`
#   slurm   Slurm and munge, for `make test-slurm`; not part of `all`
#
# Package names are those of Debian 12 and 13 and Ubuntu 24.04. Installing packages requires root;
# for other users the script prints the command to run and exits with 1.
# --quiet prints only changes.
set -euo pipefail
cd "$(dirname "$0")/.."

build_packages=(g++ make cmake ninja-build ccache mold python3-dev python3-venv libfmt-dev libspdlog-dev
  libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libxxhash-dev libsqlite3-dev libgtest-dev
  libbenchmark-dev pkgconf librdkafka-dev libcpp-httplib-dev libncurses-dev
  prometheus-cpp-dev)
check_packages=(git clang-format-19 clang-tidy-19)
fuzz_packages=(clang-19 libclang-rt-19-dev)
browser_packages=(chromium)
kernel_packages=(user-mode-linux)
kubernetes_packages=(runc containernetworking-plugins iproute2 openssl)
ray_packages=(python3-venv iproute2)
slurm_packages=(g++ make libslurm-dev slurmctld slurmd slurm-client munge iproute2)
aarch64_packages=(g++-aarch64-linux-gnu qemu-user-static)
distribution_packages=(bash-completion zsh fish man-db groff-base lintian dpkg-dev debootstrap)
java_packages=(default-jre-headless)
environment=build/python
engines=build/engines
ray=build/ray
charts=build/charts
servers=build/servers
promtool=build/promtool
headers=build/headers
requirements=tools/requirements
quiet=no

fail() {
  printf 'setup: %s\n' "$1" >&2
  exit 1
}

report_ok() {
  [[ $quiet == yes ]] || printf 'ok  %s\n' "$1"
}

# Prints the upstream part of a Debian version: 12.2.0 for 4:12.2.0-3+b1.
upstream_version() {
  local version=${1#*:}
  version=${version%-*}
  printf '%s' "${version%%[+~]*}"
}

# find_missing_packages NAME...: sets `missing` to the packages that are not installed, and prints
# the others.
find_missing_packages() {
  local -A installed=()
  local name status version
  while read -r name status version; do
    [[ $status == ii ]] && installed[$name]=$version
  done < <(dpkg-query -W -f '${Package} ${db:Status-Abbrev} ${Version}\n' "$@" 2>/dev/null || true)
  missing=()
  for name in "$@"; do
    if [[ -n ${installed[$name]:-} ]]; then
      report_ok "$name $(upstream_version "${installed[$name]}")"
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
    fail "apt-get failed; its last lines are above"
  fi
  rm -f "$log"
}

need_packages() {
  command -v dpkg-query >/dev/null || fail "this system has no apt. Install the equivalents of these
Debian packages, then build with 'make SETUP=no': $*"
  find_missing_packages "$@"
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    printf 'missing: %s\nAs root, run:\n\n  apt-get update && apt-get install --yes --no-install-recommends %s\n\n' \
      "${missing[*]}" "${missing[*]}" >&2
    fail "then run this again"
  fi
  install_packages "${missing[@]}"
  local wanted=("${missing[@]}")
  find_missing_packages "${wanted[@]}"
  ((${#missing[@]} == 0)) || fail "still not installed: ${missing[*]}"
}

# wheels_installed REQUIREMENTS: checks for a folder NAME-VERSION.dist-info of each wheel.
wheels_installed() {
  local name version found
  while IFS='=' read -r name _ version; do
    [[ $name == [a-z]* ]] || continue
    found=("$environment"/lib/python3*/site-packages/"${name//-/_}-$version".dist-info)
    [[ -d ${found[0]} ]] || return 1
  done <"$1"
}

# Checks that the wheels contain the files required by the build.
cuda_complete() {
  local file found
  wheels_installed "$requirements.txt" || return 1
  for file in bin/nvcc include/cuda.h include/nvml.h lib/libcudart_static.a; do
    found=("$environment"/lib/python3*/site-packages/nvidia/cu13/"$file")
    [[ -f ${found[0]} ]] || return 1
  done
}

# Runs pip through the interpreter: pip's own script contains an absolute path, which breaks when
# the tree is moved.
install_wheels() {
  "$environment/bin/python3" -m pip install --quiet --disable-pip-version-check \
    --only-binary :all: --no-deps --requirement "$1"
}

need_environment() {
  [[ -x $environment/bin/python3 ]] || python3 -m venv "$environment"
}

need_cuda() {
  local home
  home=$(tools/find_toolkit.sh)
  if [[ -n $home ]]; then
    report_ok "CUDA toolkit in $home"
    return
  fi
  if ! cuda_complete; then
    printf 'installing NVIDIA'\''s compiler and headers into %s\n' "$environment"
    # Recreates the environment, which may be incomplete.
    rm -rf "$environment"
    need_environment || fail "could not create a Python environment in $environment"
    install_wheels "$requirements.txt" || fail "could not install $requirements.txt"
    cuda_complete || fail "the wheels of $requirements.txt lack a file required by the build"
  fi
  report_ok "CUDA $(sed -n 's/^nvidia-cuda-nvcc==//p' "$requirements.txt") wheels in $environment"
}

# need_wheels NAME REQUIREMENTS CONSEQUENCE: installs optional wheels. On failure prints the
# consequence and continues.
need_wheels() {
  if ! wheels_installed "$2"; then
    printf 'installing %s into %s\n' "$1" "$environment"
    if ! { need_environment && install_wheels "$2" && wheels_installed "$2"; }; then
      printf 'setup: could not install %s; without it %s\n' "$2" "$3" >&2
      return
    fi
  fi
  report_ok "$1: $(sed -n 's/^\([a-z][a-z0-9-]*\)==/\1 /p' "$2" | paste -sd , | sed 's/,/, /g')"
}

# need_headers CONSEQUENCE: each wheel has a folder of its own, since all contain the same files.
need_headers() {
  local name version folder
  while IFS='=' read -r name _ version; do
    [[ $name == [a-z]* ]] || continue
    folder=$headers/$name-$version
    if [[ ! -d $folder ]]; then
      printf 'installing %s %s into %s\n' "$name" "$version" "$headers"
      rm -rf "$folder.partial"
      if ! { need_environment && "$environment/bin/python3" -m pip install --quiet \
        --disable-pip-version-check --only-binary :all: --no-deps --target "$folder.partial" \
        "$name==$version" && mv "$folder.partial" "$folder"; }; then
        printf 'setup: could not install %s==%s; without it %s\n' "$name" "$version" "$1" >&2
        return
      fi
    fi
    report_ok "$name $version in $headers"
  done <"$requirements-headers.txt"
}

chart_folder() {
  printf '%s/%s-%s' "$charts" "${1##*/}" "$2"
}

# chart_complete FOLDER FILE SHA256
chart_complete() {
  [[ -f $1/LICENSE ]] && sha256sum --check --status <<<"$3  $1/${2##*/}" 2>/dev/null
}

# charts_complete LIST
charts_complete() {
  local name version file sum
  while read -r name version file sum; do
    [[ $name == [@a-z]* ]] || continue
    chart_complete "$(chart_folder "$name" "$version")" "$file" "$sum" || return 1
  done <"$1"
}

# fetch_charts FOLDER LIST: uses the installed npm, or one installed temporarily below FOLDER.
fetch_charts() {
  local name version file sum folder npm
  npm=$(command -v npm || true)
  if [[ -z $npm ]]; then
    python3 -m venv "$1/npm" && "$1/npm/bin/python3" -m pip install --quiet \
      --disable-pip-version-check --only-binary :all: --no-deps --requirement "$requirements-npm.txt" ||
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
    rm -rf "$1/pack"
    if ! chart_complete "$folder.partial" "$file" "$sum"; then
      printf '%s %s: wrong checksum, expected that of %s\n' "$name" "$version" "$2" >&2
      return 1
    fi
    # A package may have several files in the list.
    mkdir -p "$folder" && mv -f "$folder.partial"/* "$folder" && rmdir "$folder.partial" || return 1
  done <"$2"
}

# need_charts LIST CONSEQUENCE
need_charts() {
  local folder
  if ! charts_complete "$1"; then
    printf 'fetching the packages of %s into %s\n' "$1" "$charts"
    folder=$(mktemp -d)
    if ! fetch_charts "$folder" "$1" >"$folder/log" 2>&1; then
      tail -n 3 "$folder/log" >&2
      printf 'setup: could not fetch %s; without it %s\n' "$1" "$2" >&2
      rm -rf "$folder" "$charts"/*.partial
      return
    fi
    rm -rf "$folder"
  fi
  report_ok "from npm: $(sed -n 's/^\([@a-z][^ ]* [^ ]*\) .*/\1/p' "$1" | uniq | paste -sd , | sed 's/,/, /g')"
}

# want_packages HINT PACKAGE...: installs packages as root; otherwise, or if unavailable, prints what
# is skipped without them and continues.
want_packages() {
  local hint=$1
  shift
  find_missing_packages "$@"
  ((${#missing[@]})) || return 0
  if ((EUID != 0)) || ! (need_packages "$@"); then
    printf 'setup: %s is missing: %s\n' "${missing[*]}" "$hint" >&2
  fi
}

find_go() {
  command -v go || { [[ -x /usr/local/go/bin/go ]] && echo /usr/local/go/bin/go; } || true
}

# need_server NAME PACKAGE@VERSION CONSEQUENCE: builds a server once per version.
need_server() {
  local name=$1 version=${2##*@} go log
  local folder=$servers/$name-$version
  if [[ ! -x $folder/$name ]]; then
    go=$(find_go)
    if [[ -z $go ]]; then
      printf 'setup: no Go (1.21 or later) to build %s; without it %s\n' \
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
  report_ok "$name $version in $servers"
}

# need_promtool CONSEQUENCE: takes Prometheus and its checker out of Debian's package, which would start a server.
need_promtool() {
  local folder
  if [[ ! -x $promtool/prometheus ]] && ! command -v prometheus >/dev/null; then
    printf 'fetching Prometheus into %s\n' "$promtool"
    folder=$(mktemp -d)
    if ! (cd "$folder" && { apt-get download prometheus || { apt-get update && apt-get download prometheus; }; } &&
      dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool ./usr/bin/prometheus) \
      >"$folder/log" 2>&1; then
      tail -n 3 "$folder/log" >&2
      printf 'setup: could not fetch Prometheus; without it %s\n' "$1" >&2
      rm -rf "$folder"
      return
    fi
    mkdir -p "$promtool"
    mv "$folder"/usr/bin/* "$promtool"
    rm -rf "$folder"
  fi
  report_ok 'Prometheus'
}

need_servers() {
  local name package
  while read -r name package; do
    [[ $name == [a-z]* ]] || continue
    need_server "$name" "$package" "$1"
  done <"$requirements-go.txt"
}

# need_modules CONSEQUENCE FOLDER...: fetches the Go modules of folders of integrations/kubernetes, checked by
# their go.sum.
need_modules() {
  local consequence=$1 go folder packages
  shift
  go=$(find_go)
  if [[ -z $go ]]; then
    printf 'setup: no Go (1.21 or later) for integrations/kubernetes; without it %s\n' "$consequence" >&2
    return
  fi
  for folder in "$@"; do
    packages=./...
    [[ $folder != */containerd ]] || packages=tool
    if ! GOFLAGS=-mod=readonly GOPROXY=off GOTOOLCHAIN=auto "$go" -C "$folder" list -deps -test $packages >/dev/null 2>&1; then
      printf 'fetching the Go modules of %s\n' "$folder"
      if ! GOTOOLCHAIN=auto GOFLAGS=-modcacherw "$go" -C "$folder" mod download; then
        printf 'setup: could not fetch the Go modules of %s; without them %s\n' "$folder" "$consequence" >&2
        return
      fi
    fi
  done
  report_ok "Go modules of $*"
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
      build | demo | test | docs | check | fuzz | bench | browser | headers | engines | kubernetes | ray | slurm) parts+=("$part") ;;
      all) parts+=(build test check fuzz browser) ;;
      *) fail "unknown argument '$part'; tools/setup.sh --help lists them" ;;
    esac
  done
  ((${#parts[@]})) || parts=(build)
  for part in "${parts[@]}"; do
    [[ $part != demo && $part != test && $part != docs && $part != bench && $part != headers && $part != engines ]] || continue
    local -n group=${part}_packages
    packages+=("${group[@]}")
  done
  ((${#packages[@]} == 0)) || need_packages "${packages[@]}"
  if [[ " ${parts[*]} " == *" build "* ]]; then
    need_cuda
    need_wheels Arrow "$requirements-arrow.txt" 'fraudgen cannot write Parquet and Arrow files'
    need_wheels nanobind "$requirements-bindings.txt" 'the Python packages phi and fraudgen are not built'
    need_charts "$requirements-charts.txt" 'fraudgen report is unavailable'
    need_charts "$requirements-page.txt" 'reveza web is unavailable'
  fi
  if [[ " ${parts[*]} " == *" demo "* || " ${parts[*]} " == *" test "* ]]; then
    need_wheels DuckDB "$requirements-demo.txt" 'the demo of fraudgen runs no query'
  fi
  if [[ " ${parts[*]} " == *" docs "* || " ${parts[*]} " == *" test "* ]]; then
    need_wheels Sphinx "$requirements-docs.txt" 'the documentation is not built'
    need_charts "$requirements-diagrams.txt" 'the documentation is not built'
  fi
  if [[ " ${parts[*]} " == *" test "* ]]; then
    need_wheels 'Data readers' "$requirements-test.txt" 'some tests are skipped'
    need_wheels LightGBM "$requirements-ml.txt" 'fraudgen bench is not tested'
    need_wheels PyPhi "$requirements-pyphi.txt" 'tests of phi iit against it are skipped'
    need_headers 'the tables of driver calls are not checked against it'
    need_modules 'its tests are skipped' integrations/kubernetes integrations/kubernetes/tests/chart
    need_charts "$requirements-browser.txt" 'the accessibility of reveza web is not tested'
    want_packages 'what distributions need is not tested (as root: apt-get install)' \
      "${distribution_packages[@]}"
    want_packages 'the build for aarch64 is not tested (as root: apt-get install)' "${aarch64_packages[@]}"
    need_promtool 'the metrics are not checked and scraped by it'
    need_servers 'the tests that write to buckets are skipped'
    want_packages 'tests that boot a kernel are skipped (as root: apt-get install)' \
      "${kernel_packages[@]}"
    want_packages 'tests that open pages are skipped (as root: tools/setup.sh browser)' \
      "${browser_packages[@]}"
  fi
  if [[ " ${parts[*]} " == *" kubernetes "* ]]; then
    need_modules 'make test-kubernetes fails' integrations/kubernetes integrations/kubernetes/tests/chart \
      integrations/kubernetes/tests/node/containerd
  fi
  if [[ " ${parts[*]} " == *" engines "* ]]; then
    command -v java >/dev/null || want_packages 'tests on Spark are skipped (as root: apt-get install)' \
      "${java_packages[@]}"
    environment=$engines need_wheels 'Spark and Ray' "$requirements-engines.txt" 'make test-engines skips its tests'
  fi
  if [[ " ${parts[*]} " == *" ray "* ]]; then
    environment=$ray need_wheels Ray "$requirements-ray.txt" 'make test-ray fails'
  fi
  if [[ " ${parts[*]} " == *" headers "* ]]; then
    need_headers 'tools/check_headers.sh fails'
  fi
  if [[ " ${parts[*]} " == *" bench "* ]]; then
    need_wheels 'Other generators' "$requirements-bench.txt" 'bench/fraudgen.sh skips them'
  fi
}

main "$@"
