#include "reveza/insight/doctor/activity.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <string_view>

#include "common/platform/process_table.h"
#include "reveza/insight/doctor/checks.h"

namespace reveza::doctor {
namespace {

using std::chrono::nanoseconds;

constexpr double kMinWaitsPerSecond = 20;
constexpr unsigned kMinSamples = 10;

std::uint64_t Grown(std::uint64_t first, std::uint64_t last) {
  return last > first ? last - first : 0;
}

bool IsPython(const ProcessView& process) {
  if (!process.maps) return false;
  return std::ranges::any_of(process.maps->libraries, [](const std::string& library) {
    const std::string_view name = std::string_view(library).substr(library.find_last_of('/') + 1);
    return name.starts_with("python3") || name.starts_with("libpython3");
  });
}

// Sampling takes one second per process.
constexpr std::size_t kMaxWatched = 8;

}  // namespace

void ActivitySampler::Add(const std::vector<platform::ThreadState>& threads, nanoseconds now) {
  if (samples_ == 0) begin_ = now;
  end_ = now;
  ++samples_;
  for (const platform::ThreadState& thread : threads) {
    if (thread.state == 'R') ++runnable_;
    threads_.try_emplace(thread.thread, Thread{thread, thread}).first->second.last = thread;
  }
}

std::optional<Activity> ActivitySampler::Result() const {
  const double seconds = std::chrono::duration<double>(end_ - begin_).count();
  if (samples_ < 2 || seconds <= 0) return std::nullopt;
  Activity activity;
  activity.samples = samples_;
  activity.runnable = static_cast<double>(runnable_) / samples_;
  std::uint64_t ticks = 0;
  for (const auto& [id, thread] : threads_) {
    const auto used = Grown(thread.first.ticks, thread.last.ticks);
    ticks += used;
    if (used > 0) ++activity.busy;
    if (!thread.first.waits || !thread.last.waits) continue;
    const auto waits = static_cast<double>(Grown(*thread.first.waits, *thread.last.waits));
    if (waits / seconds >= kMinWaitsPerSecond) ++activity.waiting;
  }
  activity.cpus =
      static_cast<double>(ticks) / static_cast<double>(platform::TicksPerSecond()) / seconds;
  return activity;
}

std::optional<Activity> WatchThreads(pid_t pid, const std::filesystem::path& root) {
  constexpr int kSamples = 50;
  constexpr int kPause = 20;  // ms
  ActivitySampler sampler;
  for (int i = 0; i < kSamples; ++i) {
    const auto threads = platform::ReadThreads(pid, true, 512, root);
    if (threads.empty()) break;
    sampler.Add(threads, std::chrono::steady_clock::now().time_since_epoch());
    poll(nullptr, 0, kPause);
  }
  return sampler.Result();
}

Finding DiagnoseGil(const std::string& name, const Activity& activity, double share) {
  // Threads that wake to try the lock count as runnable too, so the average is above one.
  const double few = std::max(1.6, 0.5 * activity.busy);
  const bool one = activity.runnable >= 0.6 && activity.runnable < few && activity.cpus < 1.4;
  const bool many = activity.waiting >= 2;
  Finding finding{.id = Id::kGilBound,
                  .confidence = Confidence::kMeasured,
                  .observed = fmt::format(
                      "{}: {:.1f} threads are runnable on average, {} keep blocking and waking, "
                      "and together they use {:.1f} of {:.3g} CPUs",
                      name, activity.runnable, activity.waiting, activity.cpus, share)};
  if (!one || !many || share < 1.9 || activity.samples < kMinSamples) return finding;
  finding.confidence = Confidence::kLikely;
  finding.limit = "one thread at a time: Python's global interpreter lock";
  return finding.Raise(
      Severity::kWarning, "more threads do not help: each waits until another releases the lock",
      "processes instead of threads (multiprocessing, reveza jobs run --workers auto), or batches: "
      "one operation on 100 items instead of 100 on one");
}

Finding DiagnoseOversubscription(const std::string& name, const Activity& activity, double share) {
  Finding finding{.id = Id::kOversubscribed,
                  .confidence = Confidence::kMeasured,
                  .observed = fmt::format("{}: {:.1f} threads are runnable on average", name,
                                          activity.runnable),
                  .limit = fmt::format("{:.3g} CPUs", share)};
  if (activity.samples < kMinSamples || share <= 0 || activity.runnable <= 2 * share + 0.5) {
    return finding;
  }
  return finding.Raise(
      Severity::kWarning,
      "they compete for CPUs, and threads that spin while waiting waste the time of others",
      fmt::format("OMP_NUM_THREADS={} divided by the number of workers, before the program starts; "
                  "reveza jobs "
                  "run sets it",
                  std::max(1, static_cast<int>(share))));
}

Findings CheckActivity(const Subject& subject) {
  Findings findings;
  if (subject.pid == 0 && !subject.seen) return findings;
  const double share = CpuShare(subject).value_or(0);
  std::size_t watched = 0;
  for (const ProcessView& process : Processes(subject)) {
    if (process.use.threads.value_or(1) < 2) continue;
    std::optional<Activity> activity = process.activity;
    if (!activity && !subject.seen && watched++ < kMaxWatched) {
      activity = WatchThreads(process.pid, subject.root);
    }
    if (!activity) continue;
    if (IsPython(process)) findings.push_back(DiagnoseGil(DisplayName(process), *activity, share));
    findings.push_back(DiagnoseOversubscription(DisplayName(process), *activity, share));
  }
  return findings;
}

}  // namespace reveza::doctor
