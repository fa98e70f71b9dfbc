#!/usr/bin/env bash
# Runs Reveza's pods on a real node: builds kubelet, containerd and the images once, starts the node in
# namespaces of its own, and runs tests/node there. Nothing of it is left. Needs root; `tools/setup.sh
# kubernetes` installs what it needs. The last line is
#
#   N passed, N failed
#
#   integrations/kubernetes/node_test.sh BUILD [GO-TEST-ARGUMENT...]
set -euo pipefail
if (($# == 0)); then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
build=$(realpath "$1")
shift
here=$(dirname "$(realpath "$0")")
root=$(realpath "$here/../..")
parts=$root/build/kubernetes
cd "$here"
((EUID == 0)) || { echo 'the tests on a node need root' >&2; exit 1; }

export GOFLAGS='-mod=readonly -buildvcs=false' GOPROXY=off GOTOOLCHAIN=auto
go=$(command -v go || echo /usr/local/go/bin/go)
mkdir -p "$parts"

# image NAME TAG FOLDER...: an archive for containerd, with ${options[@]}.
options=()
image() {
  "$parts/image" "${options[@]}" "$1:$2" "${@:3}" >"$parts/images/${1##*/}-$2.tar"
}

# libraries FOLDER FILE...: copies what files need, the C library included.
libraries() {
  local folder=$1
  shift
  mkdir -p "$folder"
  ldd "$@" | sed -nE 's/.* => (\/[^ ]+) .*/\1/p; s/^[[:space:]]*(\/lib64[^ ]+) .*/\1/p' | sort -u |
    while read -r library; do install -D "$(realpath "$library")" "$folder/$(basename "$library")"; done
}

# older PROGRAM FILE...: whether a program must be built again.
older() {
  [[ ! -x $1 || -n $(find "${@:2}" -newer "$1" -print -quit) ]]
}

build_kubernetes() {
  local version=v1.36.3 package flags='-s -w'
  older "$parts/kubenode" go.mod tests/node/kubenode || return 0
  echo 'building Kubernetes, which takes minutes'
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=36 -X $package.gitTreeState=clean"
  done
  "$go" build -ldflags "$flags" -o "$parts/kubenode" ./tests/node/kubenode
}

build_containerd() {
  older "$parts/containerd" tests/node/containerd/go.mod || return 0
  echo 'building containerd'
  (cd tests/node/containerd && CGO_ENABLED=0 "$go" build -tags 'no_btrfs no_zfs no_devmapper' \
    -ldflags '-s -w -X github.com/containerd/containerd/v2/version.Version=2.2.9' -o "$parts/" tool)
}

build_programs() {
  CGO_ENABLED=0 "$go" build -ldflags='-s -w' -o "$parts/" ./tests/node/pause ./tests/node/image ./cmd/kubectl-reveza
  "$go" test -c -vet=off -o "$parts/node.test" ./tests/node
  (cd tests/chart && "$go" build -o "$parts/render" ./render)
}

build_images() {
  local folder=$parts/contents
  rm -rf "$folder" "$parts"/{images,driver,chart}
  mkdir -p "$folder"/{pause,clients/{clients,lib64,tmp},reveza} "$parts/images" "$parts/driver"
  cp -r chart/reveza "$parts/chart"

  # What NVIDIA's driver would be. The C library is the container's.
  cp -a "$build"/lib/fakecuda/*.so* "$parts/driver/"
  libraries "$folder/needed" "$build"/lib/fakecuda/*.so.1
  cp "$folder"/needed/{libstdc++,libgcc_s}.so.* "$parts/driver/"

  cp "$parts/pause" "$folder/pause/"
  options=(-entrypoint /pause)
  image reveza.local/pause 1 "$folder/pause"
  options=()

  # A program of an image with musl, as far as its header says.
  mkdir -p "$folder/musl"
  echo 'int main() { return 0; }' |
    c++ -x c++ - -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o "$folder/musl/program"
  options=(-entrypoint /program)
  image reveza.local/musl 1 "$folder/musl"
  options=()

  install -s "$build/tests/clients/worker" "$folder/clients/clients/"
  # Every glibc has what libreveza.so needs.
  libraries "$folder/clients/lib/x86_64-linux-gnu" "$build/tests/clients/worker" "$build/lib/libreveza.so"
  mv "$folder"/clients/lib/x86_64-linux-gnu/ld-linux-* "$folder/clients/lib64/"
  image reveza.local/clients 1 "$folder/clients"

  # Steps of jobs have the programs and libraries of the machine.
  mkdir -p "$folder"/steps/{bin,etc,lib,lib64,proc,tmp,usr}
  image reveza.local/steps 1 "$folder/steps"

  ./image.sh "$build" "$folder/reveza"
  options=(-env PATH=/opt/reveza/bin -env REVEZA_SOCKET=/run/reveza/revezad.sock) # as in Dockerfile
  image docker.io/library/reveza 0.1.0 "$folder/reveza"
  # The next release, which has another library.
  mkdir -p "$folder/next/opt/reveza/node"
  { cat "$folder/reveza/opt/reveza/node/libreveza.so" && echo; } >"$folder/next/opt/reveza/node/libreveza.so"
  chmod 755 "$folder/next/opt/reveza/node/libreveza.so"
  image docker.io/library/reveza 0.1.1 "$folder/reveza" "$folder/next"
}

build_kubernetes
build_containerd
build_programs
build_images
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
"$parts/node.test" -test.v -test.timeout=60m "$@" -parts "$parts" -build "$build" 2>&1 | tee "$log" || status=$?
passed=$(grep -c '^ \+--- PASS' "$log" || true)
failed=$(grep -c '^ \+--- FAIL' "$log" || true)
# It did not come as far as a test, or the set-up around tests failed.
if ((status != 0 && failed == 0 || passed + failed == 0)); then
  failed=$((failed + 1))
fi
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
