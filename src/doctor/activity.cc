#include "doctor/activity.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "platform/process_table.h"

namespace reveza::doctor {
namespace {

using std::chrono::nanoseconds;

constexpr double kOftenASecond = 20;
constexpr unsigned kEnoughSamples = 10;

std::uint64_t Grown(std::uint64_t first, std::uint64_t last) {
  return last > first ? last - first : 0;
}

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
    if (waits / seconds >= kOftenASecond) ++activity.waiting;
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

Finding JudgeLock(const std::string& called, const Activity& activity, double share) {
  // Those that wake to look for the lock wait for a CPU where others are busy: not quite one.
  const double few = std::max(1.6, 0.5 * activity.busy);
  const bool one = activity.runnable >= 0.6 && activity.runnable < few && activity.cpus < 1.4;
  const bool many = activity.waiting >= 2;
  const bool bound = one && many && share >= 1.9 && activity.samples >= kEnoughSamples;
  return {
      .id = Id::kGilBound,
      .severity = bound ? Severity::kWarning : Severity::kFine,
      .sure = bound ? Sureness::kLikely : Sureness::kMeasured,
      .observed = fmt::format("{}: {:.1f} threads want to run on average, {} wait and wake all "
                              "the time, and together they use {:.1f} of {:.3g} CPUs",
                              called, activity.runnable, activity.waiting, activity.cpus, share),
      .limit = bound ? "one thread at a time: Python's global interpreter lock" : "",
      .why = bound ? "more threads add nothing: each waits until another lets go of the lock" : "",
      .fix = bound ? "processes instead of threads (multiprocessing, reveza jobs run --workers "
                     "auto), or batches: one operation on 100 items instead of 100 on one"
                   : ""};
}

Finding JudgeLoad(const std::string& called, const Activity& activity, double share) {
  const bool over =
      activity.samples >= kEnoughSamples && share > 0 && activity.runnable > 2 * share + 0.5;
  return {.id = Id::kOversubscribed,
          .severity = over ? Severity::kWarning : Severity::kFine,
          .sure = Sureness::kMeasured,
          .observed =
              fmt::format("{}: {:.1f} threads want to run on average", called, activity.runnable),
          .limit = fmt::format("{:.3g} CPUs", share),
          .why = over ? "they take turns, and those that spin while they wait burn the time of "
                        "those that work"
                      : "",
          .fix = over ? fmt::format("OMP_NUM_THREADS={} divided by the number of workers, before "
                                    "the program starts; reveza jobs run sets it",
                                    std::max(1, static_cast<int>(share)))
                      : ""};
}

}  // namespace reveza::doctor
