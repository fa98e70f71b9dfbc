// What the threads of the subject do: one at a time because of Python's lock, or too many at once.
#include <algorithm>
#include <string_view>

#include "doctor/checks.h"

namespace reveza::doctor {
namespace {

bool IsPython(const ProcessView& process) {
  if (!process.maps) return false;
  return std::ranges::any_of(process.maps->libraries, [](const std::string& library) {
    const std::string_view name = std::string_view(library).substr(library.find_last_of('/') + 1);
    return name.starts_with("python3") || name.starts_with("libpython3");
  });
}

// The busiest has most to say; each takes a second to watch.
constexpr std::size_t kMostWatched = 8;

}  // namespace

Findings CheckActivity(const Subject& subject) {
  Findings findings;
  if (subject.pid == 0 && !subject.seen) return findings;
  const double share = CpuShare(subject).value_or(0);
  std::size_t watched = 0;
  for (const ProcessView& process : Processes(subject)) {
    if (process.use.threads.value_or(1) < 2) continue;
    std::optional<Activity> activity = process.activity;
    if (!activity && !subject.seen && watched++ < kMostWatched) {
      activity = WatchThreads(process.pid, subject.root);
    }
    if (!activity) continue;
    if (IsPython(process)) findings.push_back(JudgeLock(Called(process), *activity, share));
    findings.push_back(JudgeLoad(Called(process), *activity, share));
  }
  return findings;
}

}  // namespace reveza::doctor
