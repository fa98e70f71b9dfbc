#!/usr/bin/env bash
# Builds the documentation: all Markdown pages as they are, and the Python packages' docstrings. A broken link, a page
# that is in no table of contents and an invalid docstring are errors. Pages fetch nothing.
#
#   tools/build_docs.sh OUTPUT [SOURCE]
set -euo pipefail

source=$(realpath "${2:-$(dirname "$0")/..}")
root=$(realpath "$(dirname "$0")/..")
python=$root/build/python/bin/python3
version=$(sed -n 's/^mermaid \([^ ]*\) .*/\1/p' "$root/tools/requirements-diagrams.txt")
export REVEZA_MERMAID=$root/build/charts/mermaid-$version
if [[ ! -d $REVEZA_MERMAID ]] || ! "$python" -c 'import furo, myst_parser, sphinx' 2>/dev/null; then
  printf 'build_docs: Sphinx or Mermaid is missing; run tools/setup.sh docs\n' >&2
  exit 1
fi
"$python" -m sphinx --builder html --quiet --fail-on-warning --jobs auto --conf-dir "$source/docs/site" \
  "$source" "$1" || {
  rm -rf "$1/.doctrees" # with them the next build would not repeat the warnings
  exit 1
}
printf '%s\n' "$1/index.html"
