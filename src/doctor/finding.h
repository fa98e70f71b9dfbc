// What a check says: what it saw, what the limit is, why that matters, what would mend it.
// Values only. Thread-safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reveza::doctor {

// Each has a page in docs/doctor/, named as IdName says.
enum class Id {
  kAddressSpace,
  kAllocatorSettings,
  kBlasRuntimes,
  kCheckFailed,
  kCgroupCpu,
  kCgroupMemory,
  kCgroupPids,
  kCommandFailed,
  kCpuset,
  kDataLimit,
  kGilBound,
  kGpuComputeMode,
  kGpuContexts,
  kGpuDriver,
  kGpuLink,
  kGpuMemory,
  kGpuMig,
  kGpuMps,
  kGpuPeers,
  kGpuPersistence,
  kGpuRuntime,
  kGpuTurns,
  kGpuUtilisation,
  kGpuVisible,
  kHugePages,
  kLaunchBlocking,
  kLockedMemory,
  kMapCount,
  kNotVisible,
  kOpenFiles,
  kOpenmpRuntimes,
  kOutOfMemoryKill,
  kOvercommit,
  kOversubscribed,
  kPartialCores,
  kPinnedMemory,
  kPressure,
  kProcessLimit,
  kStackLimit,
  kSwap,
  kThreadCeiling,
  kThreadLocalData,
  kThreadProbe,
  kThreadVariables,
  kUvmFaults,
  kCount,
};
inline constexpr auto kIds = static_cast<std::size_t>(Id::kCount);

// "address-space"; what `reveza doctor explain` takes.
std::string_view IdName(Id id);
std::optional<Id> IdByName(std::string_view name);

enum class Severity {
  kFine,     // looked at, nothing wrong
  kNote,     // worth knowing, or could not be seen
  kWarning,  // costs time, or will fail when more is asked for
  kFatal,    // fails, or has failed
};

enum class Sureness {
  kMeasured,  // tried out, or counted
  kRead,      // as the system says it
  kLikely,    // what the signs point at
};

std::string_view SeverityName(Severity severity);  // "fine", "note", "warning", "fatal"
std::string_view SurenessName(Sureness sure);      // "measured", "read", "likely"

struct Finding {
  Id id = Id::kCheckFailed;
  Severity severity = Severity::kFine;
  Sureness sure = Sureness::kRead;
  std::string observed;
  std::string limit;  // empty where there is none
  std::string why;
  std::string fix;  // the exact command or line, where there is one

  bool operator==(const Finding&) const = default;
};

nlohmann::json ToJson(const Finding& finding);
// Nothing when it is not what ToJson makes.
std::optional<Finding> FindingFromJson(const nlohmann::json& json);

// Of several with one id the worst stays, and says how many others there are. Worst first.
std::vector<Finding> Merged(std::vector<Finding> findings);

// 0 fine, 1 warnings, 2 fatal.
int ExitStatusOf(const std::vector<Finding>& findings);

}  // namespace reveza::doctor
