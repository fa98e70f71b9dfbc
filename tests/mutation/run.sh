#!/usr/bin/env bash
# Switches off one rule at a time in a copy of the tree, and looks which test notices.
#
#   tests/mutation/run.sh [--list] [--write] [--copy FOLDER] [--jobs N] [PATTERN...]
#
# PATTERN takes the mutants whose name contains it. --write keeps what it found in results.md;
# --copy uses (and leaves) a folder of one's own. The last line is
#
#   N passed, N failed
set -euo pipefail
exec python3 -B "$(dirname "$0")/run.py" "$@"
