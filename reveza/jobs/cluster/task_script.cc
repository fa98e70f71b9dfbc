#include "reveza/jobs/cluster/task_script.h"

#include <fmt/format.h>

namespace reveza::jobs {
namespace {

constexpr const char* kTaskScript = R"(#!/bin/sh
umask 077
{begin}[ -w "${{XDG_RUNTIME_DIR:-}}" ] || unset XDG_RUNTIME_DIR
state=$(mktemp -d "${{TMPDIR:-/tmp}}/reveza.XXXXXX" 2>/dev/null || mktemp -d /tmp/reveza.XXXXXX) || exit 1
tries=0
status=255
while [ "$status" -gt 128 ] && [ "$tries" -lt 5 ]; do
  tries=$((tries + 1))
  {reveza} jobs run-task {array} "$task" "$state" &
  runner=$!
{started}  wait "$runner"
  status=$?
  while kill -0 "$runner" 2>/dev/null; do
    wait "$runner"
    status=$?
  done
{ended}  [ "$status" -eq 130 ] && break
done
rm -rf "$state"
exit "$status"
)";

}  // namespace

std::string ShellQuoted(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

ArrayScript TaskScript(const TaskScriptParts& parts) {
  return {kRunScript,
          fmt::format(fmt::runtime(kTaskScript), fmt::arg("begin", parts.begin),
                      fmt::arg("reveza", ShellQuoted(parts.reveza.string())),
                      fmt::arg("array", ShellQuoted(parts.array.string())),
                      fmt::arg("started", parts.started), fmt::arg("ended", parts.ended))};
}

}  // namespace reveza::jobs
