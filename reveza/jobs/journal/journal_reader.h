// Reads a journal for display, in time that depends on what is shown: unlike Journal::Open(), it
// verifies only the rows that it returns. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/sqlite/sqlite.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

struct NumberedStep {
  std::size_t number = 0;  // in the list, from 1
  StepEntry entry;
};

class JournalReader {
 public:
  // kNotFound: there is no journal. kIncompatible: it is not one, or of another version.
  static Result<JournalReader> Open(const std::filesystem::path& file);

  // Returns how many listed steps are in each state. States are not verified.
  Result<std::map<StepState, std::uint64_t>> CountStates();
  // Returns the listed steps that have failed or whose outcome is unknown, in order.
  Result<std::vector<NumberedStep>> UnsuccessfulSteps();
  // Finds a listed step by number or label; nullopt if there is none.
  Result<std::optional<NumberedStep>> FindStep(std::string_view number_or_label);
  // Finds a step, listed or not.
  Result<std::optional<StepEntry>> FindStep(const Identity& identity);
  // Returns the last attempt of a step; nullopt if it has none.
  Result<std::optional<AttemptEntry>> LastAttempt(const Identity& identity);
  // Returns the highest recorded cycle of a step; 0 if it has none.
  Result<std::uint64_t> LastCycle(const Identity& identity);
  // Visits all listed steps, in order.
  Status ForEachStep(const std::function<void(const StepEntry&)>& visit);
  // Visits all attempts, in the order of recording.
  Status ForEachAttempt(const std::function<void(const AttemptEntry&)>& visit);
  // Visits the recorded cycles of listed steps, in no particular order.
  Status ForEachCycle(const std::function<void(const CycleResult&)>& visit);
  // Returns when the last recorded attempt ended; nullopt if there is none.
  Result<std::optional<WallTime>> LastEnd();
  // Loads what Journal::Set() stored.
  Result<std::optional<std::string>> Get(std::string_view key);

 private:
  explicit JournalReader(Database database) : database_(std::move(database)) {}

  Database database_;
  std::optional<Statement> find_;  // prepared once: it may be asked for each step of a job
};

}  // namespace reveza::jobs
