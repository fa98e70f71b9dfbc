#include "reveza/jobs/engine/failure_explanation.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "common/platform/machine.h"
#include "common/platform/process_limits.h"
#include "reveza/jobs/engine/worker_pool.h"

namespace reveza::jobs {
namespace {

// Returns the end of a file.
std::string LastLines(const std::string& path) {
  constexpr std::streamoff kMaxBytes = 4096;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  file.seekg(std::max<std::streamoff>(0, file.tellg() - std::streamoff{kMaxBytes}));
  std::string text(kMaxBytes, '\0');
  file.read(text.data(), kMaxBytes);
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// Explains a kill by the kernel from the counters of the step's cgroup.
std::string ExplainKill(const ActiveAttempt& active) {
  doctor::Termination death;
  death.command = active.label;
  death.signal = SIGKILL;
  death.kills_before = 0;
  death.kills_after = active.group_end.kills;
  const Bytes peak = active.group_end.peak.value_or(0);
  if (active.limit) death.memory = {*active.limit, peak, "its control group"};
  const auto finding = doctor::ExplainTermination(death);
  if (!finding) return "killed by the kernel for lack of memory";
  return fmt::format("{}; {}", finding->observed, active.limit ? finding->limit : finding->fix);
}

// Asks the doctor, with the step's last output (its own or that of a child) and the sampled limits.
// Empty if the doctor does not know the cause.
std::string ExplainFailure(const ActiveAttempt& active, const AttemptResult& result,
                           const std::string& files, TaskRefusals& refusals) {
  doctor::Termination death;
  death.command = active.label;
  (result.outcome == Outcome::kSignal ? death.signal : death.exit_status) = result.code;
  death.last_lines = LastLines(files + ".out") + "\n" + LastLines(files + ".err");
  active.evidence.FillIn(death);
  refusals.FillIn(death, active.since);
  const auto finding = doctor::ExplainTermination(death);
  if (!finding) return {};
  const char* sure = finding->confidence == doctor::Confidence::kLikely ? " (likely)" : "";
  const std::string limit = finding->limit.empty() ? "" : "; " + finding->limit + sure;
  return fmt::format("{}{}; {}", finding->observed, limit, finding->fix);
}

// Explains a failure whose output mentions a lack of GPU memory; empty if it does not. A step that
// was alone on the GPU had all of its memory, so it failed for good.
std::optional<Explanation> ExplainGpuOom(const ActiveAttempt& active, const AttemptResult& result,
                                         const std::string& files) {
  const auto line = FindGpuOomMessage(LastLines(files + ".err"));
  if (!line) return std::nullopt;
  const bool alone = active.need.gpu_exclusive || !active.gpu_shared;
  return Explanation{
      fmt::format("ran out of GPU memory{}, according to its own output (weak evidence): {}",
                  alone ? " although no other step of this job used the GPU" : "", *line),
      alone ? result.outcome : Outcome::kMemory, !alone};
}

constexpr unsigned kCountMappingsEvery = 10;  // samples

double Share(std::optional<std::uint64_t> used, std::optional<std::uint64_t> limit) {
  if (!used || !limit || *limit == 0) return 0;
  return static_cast<double>(*used) / static_cast<double>(*limit);
}

// Returns the highest usage relative to its limit.
double Closeness(const doctor::ProcessView& view, const platform::KernelLimits& kernel) {
  double share = 0;
  if (view.limits) {
    share = std::max(Share(view.use.address_peak, view.limits->address_space.soft),
                     Share(view.use.data, view.limits->data.soft));
  }
  if (view.maps) share = std::max(share, Share(view.maps->count, kernel.max_map_count));
  return share;
}

constexpr std::array<std::string_view, 7> kMessages = {
    "CUDA out of memory",                          // PyTorch
    "CUDA_ERROR_OUT_OF_MEMORY",                    // CUDA driver
    "cudaErrorMemoryAllocation",                   // CUDA runtime
    "CUDA error: out of memory",                   // PyTorch, of an explicit call
    "RESOURCE_EXHAUSTED: Out of",                  // JAX and TensorFlow
    "OutOfMemoryError: Out of memory allocating",  // CuPy
    "torch.OutOfMemoryError",
};
constexpr std::size_t kMaxLength = 200;

}  // namespace

TaskRefusals::TaskRefusals(const std::filesystem::path& root)
    : group_(platform::FindCgroup("pids", 0, root)) {
  if (group_) seen_ = platform::ReadTaskRefusals(*group_);
}

void TaskRefusals::FillIn(doctor::Termination& death, WallTime since) {
  const auto now = group_ ? platform::ReadTaskRefusals(*group_) : std::nullopt;
  if (!now || !seen_) return;
  if (*now > *seen_) {
    before_ = seen_;
    seen_ = now;
    grown_at_ = WallNow();
  }
  // Others that ran at that time may have been refused too.
  death.refusals_before = since <= grown_at_ ? before_ : seen_;
  death.refusals_after = now;
}

Explanation Explain(const ActiveAttempt& active, const AttemptResult& result,
                    const std::filesystem::path& files, TaskRefusals& refusals,
                    const std::filesystem::path& root) {
  if (active.terminated_for_memory && result.outcome == Outcome::kCancelled) {
    return {"terminated to free memory; it will be retried with a larger claim", Outcome::kMemory};
  }
  if (result.outcome == Outcome::kMemory) return {ExplainKill(active), result.outcome};
  const bool failed = result.outcome == Outcome::kFailure || result.outcome == Outcome::kSignal;
  if (failed && !active.ending) {
    std::string text = ExplainFailure(active, result, files.string(), refusals);
    if (!text.empty()) return {std::move(text), result.outcome};
    if (active.need.gpu_memory > 0) {
      if (auto explained = ExplainGpuOom(active, result, files.string())) return *explained;
    }
  }
  const Explanation nothing{{}, result.outcome};
  // A shell exits with 128 and the number of the signal that ended its command.
  const int killed = result.outcome == Outcome::kSignal ? SIGKILL : 128 + SIGKILL;
  if (!failed || result.code != killed || active.ending) return nothing;
  // Its own group would have counted the kill; the machine's counter includes other processes.
  if (!active.group.empty() || active.group_reported) return nothing;
  const auto kills = platform::OutOfMemoryKills(root);
  if (!kills || !active.kills_before || *kills <= *active.kills_before) return nothing;
  return {"killed by the kernel for lack of memory", Outcome::kMemory};
}

// A single process may exceed the samples of all; the group's peak includes page cache, so it is an
// upper bound.
Bytes PeakMemory(const ActiveAttempt& active, const AttemptResult& result) {
  const Bytes peak = std::max(active.peak.value_or(0), Bytes{result.largest_resident});
  const auto& end = active.group_end;
  if (!end.peak) return peak;
  // A step killed at its limit had its cache dropped before.
  constexpr Bytes kChargeBatch = kMiB;  // the kernel charges in batches
  const bool at_limit = end.kills > 0 && active.limit && *end.peak + kChargeBatch >= *active.limit;
  return at_limit ? *end.peak : std::min(peak, *end.peak);
}

void DeathEvidence::Sample(std::span<const pid_t> processes, const std::filesystem::path& root) {
  const platform::KernelLimits kernel = platform::ReadKernelLimits(root);
  const bool count_mappings = samples_++ % kCountMappingsEvery == 0;
  for (const pid_t pid : processes) {
    const auto limits = platform::ReadProcessLimits(pid, root);
    if (!limits) continue;
    doctor::ProcessView view;
    view.pid = pid;
    view.limits = *limits;
    view.use = platform::ReadProcessUse(pid, root);
    if (count_mappings) view.maps = platform::ReadProcessMaps(pid, root);
    Tighten(*limits);
    if (view.use.exempt_from_process_limit) {
      exempt_ = exempt_.value_or(true) && *view.use.exempt_from_process_limit;
    }
    if (view.use.threads) threads_ = std::max(threads_.value_or(0), *view.use.threads);
    const double closeness = Closeness(view, kernel);
    if (closeness <= closeness_) continue;
    closeness_ = closeness;
    closest_ = std::move(view);
  }
}

void DeathEvidence::AddLimits(std::string_view text) {
  Tighten(platform::ParseProcessLimits(text));
}

void DeathEvidence::Tighten(const platform::ProcessLimits& limits) {
  if (limits_) {
    doctor::TightenLimits(*limits_, limits);
  } else {
    limits_ = limits;
  }
}

void DeathEvidence::FillIn(doctor::Termination& death) const {
  death.limits = limits_;
  if (closest_) death.use = closest_->use;
  death.use.threads = threads_;
  death.use.exempt_from_process_limit = exempt_;
  if (closest_ && closest_->maps) death.maps = closest_->maps->count;
}

std::optional<std::string> FindGpuOomMessage(std::string_view last_lines) {
  while (!last_lines.empty()) {
    const std::size_t end = last_lines.find_last_of('\n');
    const std::size_t begin = end == std::string_view::npos ? 0 : end + 1;
    const std::string_view line = last_lines.substr(begin);
    if (std::ranges::any_of(kMessages,
                            [&](std::string_view message) { return line.contains(message); })) {
      return std::string(line.substr(0, kMaxLength));
    }
    last_lines = last_lines.substr(0, begin == 0 ? 0 : begin - 1);
  }
  return std::nullopt;
}

}  // namespace reveza::jobs
