#!/usr/bin/env bash
# Assembles the files of the image and starts its programs with nothing else around them. Exits with 77
# if Go, its modules or a namespace are missing.
#
#   integrations/kubernetes/image_test.sh BUILD
set -euo pipefail
here=$(dirname "$(realpath "$0")")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

export GOFLAGS=-mod=readonly GOPROXY=off GOTOOLCHAIN=auto
go=$(command -v go || echo /usr/local/go/bin/go)
if ! (cd "$here" && "$go" list -deps ./cmd/... >/dev/null 2>&1) || ! unshare -r true 2>/dev/null; then
  echo 'skipped: no Go, no modules, or no user namespaces'
  exit 77
fi
"$here/image.sh" "$1" "$root"

fail() {
  printf 'FAILED: %s\n' "$1" >&2
  exit 1
}
inside() { unshare -r chroot "$root" "$@"; }
inside /opt/reveza/bin/reveza --version >/dev/null || fail 'reveza does not start'
inside /opt/reveza/bin/revezad --version >/dev/null || fail 'revezad does not start'
status=0
inside /opt/reveza/bin/reveza-kubelet-plugin -mode=neither 2>"$root/errors" || status=$?
((status == 2)) && grep -q 'mode' "$root/errors" || fail 'the plugin accepts a wrong mode'
status=0
inside /opt/reveza/node/reveza-cdi-hook </dev/null 2>/dev/null || status=$?
((status == 1)) || fail 'the hook accepts a container without a state'
needed=$(readelf -d "$root/opt/reveza/node/libreveza.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | xargs)
[[ $needed =~ ^(libc.so.6|libdl.so.2|libpthread.so.0| )+$ ]] ||
  fail "libreveza.so needs $needed: containers have the C library only"
