#!/usr/bin/env bash
# Removes what `make install` installed last from a build tree, below DESTDIR if set, and the folders
# that this leaves empty. Of /usr and /usr/local only folders of Reveza's own are removed.
#
#   tools/uninstall.sh BUILD
set -euo pipefail

manifest=$1/install_manifest.txt
if [[ ! -f $manifest ]]; then
  printf 'uninstall: %s is missing; run make install first, or name the build tree\n' "$manifest" >&2
  exit 1
fi

is_shared() {
  [[ $1 == "${DESTDIR:-}"/usr/* && $1 != */reveza && $1 != */reveza/* ]]
}

mapfile -t files <"$manifest"
folders=()
for file in "${files[@]}"; do
  [[ -n $file ]] || continue
  path=${DESTDIR:-}$file
  rm -f "$path"
  folders+=("${path%/*}")
done
# What Python has compiled.
for folder in "${folders[@]}"; do
  if [[ $folder == */lib/reveza/python/* ]]; then rm -rf "$folder/__pycache__"; fi
done
for folder in "${folders[@]}"; do
  while [[ $folder != "${DESTDIR:-}" && -n $folder ]] && ! is_shared "$folder"; do
    # It may hold files of others, or be gone already.
    [[ ! -d $folder ]] || rmdir "$folder" 2>/dev/null || break
    folder=${folder%/*}
  done
done
rm -f "$manifest"
