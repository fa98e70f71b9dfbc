#!/usr/bin/env bash
# Runs Reveza's plugin in a Slurm of one node, with a card of fakecuda and two users, and `reveza jobs run --on slurm`
# in one of two nodes: munge, slurmctld and slurmd of Debian, in namespaces of their own. Nothing of it is left. Needs
# root; `tools/setup.sh slurm` installs what it needs. The last line is
#
#   N passed, N failed
#
#   integrations/slurm/node_test.sh BUILD [TEST...]
set -euo pipefail
if (($# == 0)); then
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2
  exit 2
fi
build=$(realpath "$1")
shift
here=$(dirname "$(realpath "$0")")
((EUID == 0)) || { echo 'the tests of Slurm need root' >&2; exit 1; }
folder=$(mktemp -d /tmp/reveza-slurm.XXXXXX)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
export PYTHONPATH=$here/../testing
log=$folder/log
status=0
for part in slurm cluster; do
  # Tests that are named are in one of the files.
  if (($#)) && ! grep -q "class ${1%%.*}\b" "$here/tests/${part}_test.py"; then
    continue
  fi
  node=$folder/$part
  mkdir -m 755 "$node"
  make -s -C "$here" OUTPUT="$node"
  # The end of the first process of its namespace ends all others; this one waits for those that lost their parents.
  unshare --mount --pid --net --uts --ipc --fork --kill-child --mount-proc bash -c '"$@"; exit $?' first \
    python3 -B "$here/tests/${part}_test.py" "$build" "$node" "$@" 2>&1 | tee -a "$log" || status=$?
done
passed=$(grep -cE '(^|\.\.\. )ok$' "$log" || true)
failed=$(grep -cE '(^|\.\.\. )(FAIL|ERROR)$' "$log" || true)
# It did not come as far as a test, or the set-up failed.
if ((status != 0 && failed == 0 || passed + failed == 0)); then
  failed=$((failed + 1))
fi
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
