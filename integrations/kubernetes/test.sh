#!/usr/bin/env bash
# Runs the Go tests of this room, without network. Exits with 77 if Go or its modules are missing
# (tools/setup.sh test fetches them).
#
#   integrations/kubernetes/test.sh unit|kubelet|cluster|chart
set -euo pipefail
cd "$(dirname "$0")"

export GOFLAGS=-mod=readonly GOPROXY=off GOTOOLCHAIN=auto
go=$(command -v go || true)
[[ -n $go || ! -x /usr/local/go/bin/go ]] || go=/usr/local/go/bin/go
if [[ -z $go ]]; then
  echo 'skipped: no Go'
  exit 77
fi

case ${1:-} in
  unit) packages=(./cmd/... ./internal/...) ;;
  kubelet) packages=(./tests/kubelet) ;;
  cluster) packages=(./tests/cluster) ;;
  chart)
    packages=(.)
    cd tests/chart
    ;;
  *)
    echo 'usage: integrations/kubernetes/test.sh unit|kubelet|cluster|chart' >&2
    exit 2
    ;;
esac

if ! missing=$("$go" list -deps -test "${packages[@]}" 2>&1 >/dev/null); then
  printf '%s\nskipped: modules are missing; tools/setup.sh test fetches them\n' "$missing"
  exit 77
fi
if [[ $1 == unit ]]; then
  unformatted=$("$("$go" env GOROOT)/bin/gofmt" -l .)
  if [[ -n $unformatted ]]; then
    printf 'not formatted by gofmt: %s\n' "$unformatted" >&2
    exit 1
  fi
  "$go" vet "${packages[@]}"
fi
"$go" test -vet=off -count=1 "${packages[@]}"
