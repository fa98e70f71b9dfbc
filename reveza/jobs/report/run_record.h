// How the last run of a job went, kept in its journal for `list`, `show` and `why`. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

// Journal key of FormatRunRecord().
inline constexpr const char* kRunRecordKey = "run";

enum class RunEnd {
  kDone,         // all steps are done
  kFailed,       // some failed, or were skipped because of that
  kHeld,         // the outcome of some is unknown
  kHalted,       // as many failed as the request allows; others did not run
  kGoalMet,      // a step reported what the request asks for; others did not run
  kInterrupted,  // stopped or cancelled before the end
};
const char* ToText(RunEnd end);  // "done", "failed", "unknown", "halted", "goal met", "interrupted"

struct RunRecord {
  WallTime began = 0;
  WallTime ended = 0;           // 0: not yet, or it was killed
  std::optional<RunEnd> end{};  // nullopt: not yet, or it was killed
  std::string reason{};         // why it ended early; may be empty
  std::uint64_t skipped = 0;    // steps whose predecessors failed
  std::uint64_t waiting = 0;    // steps that were left

  bool operator==(const RunRecord&) const = default;
};

std::string FormatRunRecord(const RunRecord& record);
// Returns nullopt if the text is not a record, for example of a later version.
std::optional<RunRecord> ParseRunRecord(std::string_view text);

}  // namespace reveza::jobs
