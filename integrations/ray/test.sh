#!/usr/bin/env bash
# Runs `reveza jobs run --on ray` in a Ray of a head and two nodes on this machine, in namespaces of its own. Nothing of it
# is left. Needs root; `tools/setup.sh ray` installs Ray. The last line is
#
#   N passed, N failed
#
#   integrations/ray/test.sh BUILD [TEST...]
set -euo pipefail
if (($# == 0)); then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
build=$(realpath "$1")
shift
here=$(dirname "$(realpath "$0")")
ray=$here/../../build/ray/bin/ray
((EUID == 0)) || { echo 'the tests of Ray need root' >&2; exit 1; }
[[ -x $ray ]] || { echo 'no Ray in build/ray: run tools/setup.sh ray' >&2; exit 1; }
# Short, since sockets of Ray are in it.
folder=$(mktemp -d /tmp/rr.XXXX)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
log=$folder/log
status=0
mkdir "$folder/c"
# The end of the first process of its namespace ends all others; this one waits for those that lost their parents.
PYTHONPATH=$here/../testing unshare --mount --pid --net --uts --ipc --fork --kill-child --mount-proc \
  bash -c '"$@"; exit $?' first \
  python3 -B "$here/tests/ray_test.py" "$build" "$(realpath "$ray")" "$folder/c" "$@" 2>&1 | tee -a "$log" || status=$?
passed=$(grep -cE '(^|\.\.\. )ok$' "$log" || true)
failed=$(grep -cE '(^|\.\.\. )(FAIL|ERROR)$' "$log" || true)
# It did not come as far as a test, or the set-up failed.
if ((status != 0 && failed == 0 || passed + failed == 0)); then
  failed=$((failed + 1))
fi
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
