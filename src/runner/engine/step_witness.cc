#include "runner/engine/step_witness.h"

#include <algorithm>
#include <utility>

#include "platform/machine.h"
#include "platform/process_limits.h"
#include "platform/process_maps.h"

namespace reveza::runner {
namespace {

constexpr unsigned kCountMappingsEach = 10;  // looks

double Share(std::optional<std::uint64_t> used, std::optional<std::uint64_t> limit) {
  if (!used || !limit || *limit == 0) return 0;
  return static_cast<double>(*used) / static_cast<double>(*limit);
}

// Of the limit that it is nearest to.
double Nearness(const doctor::ProcessView& view, const platform::KernelLimits& kernel) {
  double share = 0;
  if (view.limits) {
    share = std::max(Share(view.use.address_peak, view.limits->address_space.soft),
                     Share(view.use.data, view.limits->data.soft));
  }
  if (view.maps) share = std::max(share, Share(view.maps->count, kernel.max_map_count));
  return share;
}

}  // namespace

void StepWitness::Look(std::span<const pid_t> processes, const std::filesystem::path& root) {
  const platform::KernelLimits kernel = platform::ReadKernelLimits(root);
  const bool count_mappings = looks_++ % kCountMappingsEach == 0;
  for (const pid_t pid : processes) {
    const auto limits = platform::ReadProcessLimits(pid, root);
    if (!limits) continue;
    doctor::ProcessView view;
    view.pid = pid;
    view.limits = *limits;
    view.use = platform::ReadProcessUse(pid, root);
    if (count_mappings) view.maps = platform::ReadProcessMaps(pid, root);
    Take(*limits);
    if (view.use.threads) threads_ = std::max(threads_.value_or(0), *view.use.threads);
    const double nearness = Nearness(view, kernel);
    if (nearness <= nearness_) continue;
    nearness_ = nearness;
    nearest_ = std::move(view);
  }
}

void StepWitness::TakeLimits(std::string_view text) { Take(platform::ParseProcessLimits(text)); }

void StepWitness::Take(const platform::ProcessLimits& limits) {
  if (limits_) {
    doctor::Tighten(*limits_, limits);
  } else {
    limits_ = limits;
  }
}

void StepWitness::Tell(doctor::Death& death) const {
  death.limits = limits_;
  if (nearest_) death.use = nearest_->use;
  death.use.threads = threads_;
  if (nearest_ && nearest_->maps) death.maps = nearest_->maps->count;
}

}  // namespace reveza::runner
