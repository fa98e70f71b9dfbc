#!/usr/bin/env bash
# Assembles the files of the image from a built tree: our programs, and the C library that they were
# built with, since NVML is loaded at run time.
#
#   integrations/kubernetes/image.sh BUILD FOLDER
set -euo pipefail
if (($# != 2)); then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
build=$(realpath "$1")
mkdir -p "$2"
root=$(realpath "$2")
cd "$(dirname "$0")"

go=$(command -v go || echo /usr/local/go/bin/go)
mkdir -p "$root"/{opt/reveza/{bin,node},lib64,lib/x86_64-linux-gnu,etc,tmp,run/reveza,var/lib/reveza}
CGO_ENABLED=0 "$go" build -trimpath -ldflags='-s -w' -o "$root/opt/reveza/bin/" ./cmd/reveza-kubelet-plugin
CGO_ENABLED=0 "$go" build -trimpath -ldflags='-s -w' -o "$root/opt/reveza/node/" ./cmd/reveza-cdi-hook
install -s "$build/bin/reveza" "$build/bin/revezad" "$root/opt/reveza/bin/"
install -m 755 "$build/lib/libreveza.so" "$root/opt/reveza/node/"

# What our programs and NVML need of the C library.
for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1; do
  install "$(realpath "/lib/x86_64-linux-gnu/$library")" "$root/lib/x86_64-linux-gnu/$library"
done
install "$(realpath /lib64/ld-linux-x86-64.so.2)" "$root/lib64/ld-linux-x86-64.so.2"
echo 'root:x:0:0:root:/:/nologin' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
