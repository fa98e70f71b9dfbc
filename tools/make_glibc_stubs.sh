#!/usr/bin/env bash
# Makes what programs for older distributions are linked against: an interface of glibc 2.28 without
# code (symbols and versions only), and its start files. Zig, from tools/requirements-wheels.txt, has
# these of each version.
#
#   tools/make_glibc_stubs.sh PYTHON FOLDER [ARCHITECTURE]
set -euo pipefail

python=$1
folder=$2
architecture=${3:-x86_64}
version=2.28
libraries=(libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libutil.so.1 libresolv.so.2)
needed='libpthread.so.0 libdl.so.2 librt.so.1 libm.so.6'
if [[ $architecture == aarch64 ]]; then
  # The dynamic linker has the canary of protected stacks.
  libraries+=(libld.so.2)
  needed+=' libld.so.2'
fi

if [[ -f $folder/libc.so ]]; then
  exit 0
fi
partial=$folder.partial
rm -rf "$folder" "$partial"
mkdir -p "$partial/work"
export ZIG_GLOBAL_CACHE_DIR=$PWD/$partial/work/cache ZIG_LOCAL_CACHE_DIR=$PWD/$partial/work/cache
printf 'int main(void) { return 0; }\n' >"$partial/work/main.c"
for pie in -pie -no-pie; do
  "$python" -m ziglang cc -O2 "$pie" -target "$architecture-linux-gnu.$version" \
    "$partial/work/main.c" -o "$partial/work/main"
done
find "$partial/work/cache" \( -name '*crt1.o' -o -name libc_nonshared.a \) \
  -exec cp {} "$partial/" \;
for library in "${libraries[@]}"; do
  find "$partial/work/cache" -name "$library" -exec cp {} "$partial/" \;
  ln -s "$library" "$partial/${library%.so.*}.so"
done
rm -r "$partial/work" "$partial/libc.so"
# What later versions have in libc.so.6 is in libraries of its own here.
printf 'GROUP ( libc.so.6 libc_nonshared.a AS_NEEDED ( %s ) )\n' "$needed" >"$partial/libc.so"
for file in crt1.o Scrt1.o libc_nonshared.a "${libraries[@]}"; do
  if [[ ! -f $partial/$file ]]; then
    printf 'make_glibc_stubs: Zig made no %s\n' "$file" >&2
    exit 1
  fi
done
mv "$partial" "$folder"
