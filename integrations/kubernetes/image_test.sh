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

if ((EUID == 0)); then
  chroot "$root" /opt/reveza/bin/revezad --socket /run/reveza/s --group 10787 --usage-file off --linger 1s 2>/dev/null ||
    fail 'revezad does not take the number of a group'
fi

# A real runtime refuses a container whose image has a static program only, and says why.
if ((EUID != 0)) || ! command -v runc >/dev/null; then
  echo 'no runc, or not root: the hook is not tried with it'
  exit 0
fi
bundle=$(mktemp -d)
trap 'runc --root "$bundle/state" delete -f reveza-image-test 2>/dev/null || true; rm -rf "$root" "$bundle"' EXIT
mkdir -p "$bundle/rootfs"
cp "$root/opt/reveza/node/reveza-cdi-hook" "$bundle/rootfs/program"
runc spec --bundle "$bundle"
python3 - "$bundle/config.json" "$root/opt/reveza/node/reveza-cdi-hook" <<'END'
import json
import sys

path, hook = sys.argv[1:]
with open(path) as file:
    config = json.load(file)
config["process"].update(terminal=False, args=["/program"])
config["hooks"] = {"createRuntime": [{"path": hook, "args": ["reveza-cdi-hook"]}]}
del config["hostname"], config["linux"]["resources"]
config["linux"]["namespaces"] = [{"type": "mount"}, {"type": "pid"}]
with open(path, "w") as file:
    json.dump(config, file)
END
run() { runc --root "$bundle/state" run --bundle "$bundle" reveza-image-test </dev/null 2>&1 || true; }
run | grep -q 'linked statically' || fail 'runc starts a static program of an image without glibc'
mkdir "$bundle/rootfs/lib64"
cp "$root/lib64/ld-linux-x86-64.so.2" "$bundle/rootfs/lib64/"
run | grep -q 'state of the container' || fail 'runc does not start a program of an image with glibc'
