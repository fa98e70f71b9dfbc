#!/usr/bin/env bash
# Configures a tree for tools/tidy.py, without unity builds, and builds its generated files.
#
#   tools/tidy_tree.sh BUILD
set -euo pipefail
cd "$(dirname "$0")/.."

tools/configure.sh release "$1" -B "$1" -DREVEZA_UNITY=OFF
ninja -C "$1" --quiet generated | sed '/^ninja: /d'
