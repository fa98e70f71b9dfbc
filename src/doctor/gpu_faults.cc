// Whether managed memory goes back and forth between host and GPU, by the signs there are.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "doctor/gpus.h"

namespace reveza::doctor {
namespace {

constexpr double kManyFaults = 0.1;
constexpr double kFull = 0.95;
constexpr double kMuchTraffic = 1e9;  // bytes a second, each way
// CUDA maps some of it in every program; less than this is no managed memory of the program's.
constexpr Bytes kOfItsOwn = 256 * kMiB;

constexpr const char* kWhy =
    "managed memory goes back and forth page by page, up to a hundred times slower than a copy";
constexpr const char* kFix =
    "cudaMemPrefetchAsync and cudaMemAdvise, or less memory than the card has: a smaller batch, or "
    "fewer programs at once (reveza run -- COMMAND swaps whole programs instead of pages)";

Bytes LargestCard(const GpusSeen& seen) {
  Bytes largest = 0;
  for (const auto& gpu : seen.readings) largest = std::max(largest, gpu.total.value_or(0));
  return largest;
}

const Managed* Largest(const GpusSeen& seen) {
  const auto found = std::ranges::max_element(seen.managed, {}, &Managed::mapped);
  return found != seen.managed.end() && found->mapped >= kOfItsOwn ? &*found : nullptr;
}

// A full card over whose link much goes both ways at once: nothing, or those bytes a second.
std::optional<double> TrafficOfAFullCard(const GpusSeen& seen) {
  for (const auto& gpu : seen.readings) {
    if (!gpu.total || !gpu.used || *gpu.total == 0) continue;
    if (static_cast<double>(*gpu.used) < kFull * static_cast<double>(*gpu.total)) continue;
    const auto activity =
        std::ranges::find(seen.activities, gpu.uuid, &platform::GpuActivityReading::uuid);
    if (activity == seen.activities.end() || !activity->link_in || !activity->link_out) continue;
    const double both = std::min(*activity->link_in, *activity->link_out);
    if (both >= kMuchTraffic) return both;
  }
  return std::nullopt;
}

std::string ThreadsText(const GpusSeen& seen) {
  if (!seen.fault_cpus) {
    return "the driver's threads for page faults of the GPU cannot be seen from here";
  }
  return fmt::format("the driver's threads for page faults of the GPU use {:.0f} % of a CPU",
                     100 * *seen.fault_cpus);
}

}  // namespace

Findings JudgeFaults(const GpusSeen& seen) {
  if (seen.set_up.gpus.empty()) return {};
  Finding finding{.id = Id::kUvmFaults,
                  .severity = Severity::kFine,
                  .sure = Sureness::kRead,
                  .observed = ThreadsText(seen),
                  .limit = "",
                  .why = "",
                  .fix = ""};
  const Managed* const largest = Largest(seen);
  if (largest != nullptr) {
    finding.observed +=
        fmt::format("; {} has {} of managed memory", largest->called, FormatBytes(largest->mapped));
  }
  const Bytes card = LargestCard(seen);
  const auto traffic = TrafficOfAFullCard(seen);
  if (seen.fault_cpus && *seen.fault_cpus >= kManyFaults) {
    finding.severity = Severity::kWarning;
    finding.sure = Sureness::kMeasured;
    finding.limit = "10 % of a CPU";
  } else if (!seen.fault_cpus && largest != nullptr && traffic) {
    finding.severity = Severity::kWarning;
    finding.sure = Sureness::kLikely;
    finding.observed += fmt::format("; its card is full, and {} a second go each way over the link",
                                    FormatBytes(static_cast<Bytes>(*traffic)));
    finding.limit = "1 GB/s each way on a full card";
  } else if (largest != nullptr && card > 0 && largest->mapped > card) {
    finding.severity = Severity::kWarning;
    finding.sure = Sureness::kLikely;
    finding.limit = fmt::format("{}: the largest card", FormatBytes(card));
  } else if (!seen.fault_cpus) {
    finding.severity = Severity::kNote;
  }
  if (finding.severity == Severity::kWarning) {
    finding.why = kWhy;
    finding.fix = kFix;
  } else if (finding.severity == Severity::kNote) {
    finding.why = "whether managed memory goes back and forth is not known";
    finding.fix = "run the doctor outside the container";
  }
  return {finding};
}

}  // namespace reveza::doctor
