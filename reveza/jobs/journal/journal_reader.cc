#include "reveza/jobs/journal/journal_reader.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "common/base/parse_number.h"
#include "reveza/jobs/journal/journal_format.h"

namespace reveza::jobs {
namespace {

// Adds the place in the list behind the columns of a step and its checksum.
constexpr const char* kNumberedSteps =
    "SELECT id, identity, state, attempts, label, files, sum, position FROM step ";
constexpr int kPositionColumn = 7;

Result<std::vector<NumberedStep>> ReadSteps(Statement& rows) {
  std::vector<NumberedStep> steps;
  for (;;) {
    ASSIGN_OR_RETURN(const auto more, rows.Step());
    if (!more) return steps;
    const auto position = static_cast<std::size_t>(rows.Integer(kPositionColumn));
    ASSIGN_OR_RETURN(auto entry, ReadRow<StepEntry>(rows));
    steps.push_back({position + 1, std::move(entry)});
  }
}

}  // namespace

Result<JournalReader> JournalReader::Open(const std::filesystem::path& file) {
  std::error_code error;
  // SQLite would create it.
  if (!std::filesystem::exists(file, error)) {
    return Fail(Error::Code::kNotFound, "{} does not exist", file.string());
  }
  auto database = Database::Open(file.string());
  if (!database) {
    return Fail(database.error().code, "cannot open {}: {}", file.string(),
                database.error().message);
  }
  RETURN_IF_ERROR(CheckFormat(*database, file));
  return JournalReader(std::move(*database));
}

Result<std::map<StepState, std::uint64_t>> JournalReader::CountStates() {
  ASSIGN_OR_RETURN(
      auto rows, database_.Prepare(
                     "SELECT state, count(*) FROM step WHERE position IS NOT NULL GROUP BY state"));
  std::map<StepState, std::uint64_t> counts;
  for (;;) {
    ASSIGN_OR_RETURN(const auto more, rows.Step());
    if (!more) return counts;
    counts[static_cast<StepState>(rows.Integer(0))] = static_cast<std::uint64_t>(rows.Integer(1));
  }
}

Result<std::vector<NumberedStep>> JournalReader::UnsuccessfulSteps() {
  ASSIGN_OR_RETURN(auto rows,
                   database_.Prepare(fmt::format(
                       "{}WHERE position IS NOT NULL AND state NOT IN ({}, {}) ORDER BY position",
                       kNumberedSteps, static_cast<int>(StepState::kWaiting),
                       static_cast<int>(StepState::kDone))));
  return ReadSteps(rows);
}

Result<std::optional<NumberedStep>> JournalReader::FindStep(std::string_view number_or_label) {
  ASSIGN_OR_RETURN(auto rows,
                   database_.Prepare(std::string(kNumberedSteps) +
                                     "WHERE position IS NOT NULL AND (position = ? OR label = ?) "
                                     "ORDER BY position"));
  const auto number = ParseNumber<std::int64_t>(number_or_label);
  rows.Bind(1, number.value_or(0) - 1).Bind(2, number_or_label);
  ASSIGN_OR_RETURN(auto steps, ReadSteps(rows));
  if (steps.empty()) return std::nullopt;
  return std::optional<NumberedStep>(std::move(steps.front()));
}

Result<std::optional<StepEntry>> JournalReader::FindStep(const Identity& identity) {
  if (!find_) {
    ASSIGN_OR_RETURN(find_, database_.Prepare(std::string(kStepColumns) + "WHERE identity = ?"));
  }
  find_->BindBlob(1, AsStringView(identity));
  ASSIGN_OR_RETURN(const auto more, find_->Step());
  if (!more) return std::nullopt;
  auto step = ReadRow<StepEntry>(*find_);
  find_->Reset();
  if (!step) return std::unexpected(step.error());
  return std::optional<StepEntry>(*std::move(step));
}

Result<std::optional<AttemptEntry>> JournalReader::LastAttempt(const Identity& identity) {
  ASSIGN_OR_RETURN(auto rows,
                   database_.Prepare(std::string(kAttemptColumns) +
                                     "WHERE identity = ? ORDER BY attempt DESC LIMIT 1"));
  rows.BindBlob(1, AsStringView(identity));
  ASSIGN_OR_RETURN(const auto more, rows.Step());
  if (!more) return std::nullopt;
  ASSIGN_OR_RETURN(const auto attempt, ReadRow<AttemptEntry>(rows));
  return std::optional<AttemptEntry>(attempt);
}

Result<std::uint64_t> JournalReader::LastCycle(const Identity& identity) {
  ASSIGN_OR_RETURN(auto rows,
                   database_.Prepare("SELECT max(number) FROM cycle WHERE identity = ?"));
  rows.BindBlob(1, AsStringView(identity));
  ASSIGN_OR_RETURN(const auto more, rows.Step());
  return more ? static_cast<std::uint64_t>(rows.Integer(0)) : 0;
}

Status JournalReader::ForEachStep(const std::function<void(const StepEntry&)>& visit) {
  ASSIGN_OR_RETURN(auto rows, database_.Prepare(std::string(kStepColumns) +
                                                "WHERE position IS NOT NULL ORDER BY position"));
  return ForEachRow<StepEntry>(rows, visit);
}

Status JournalReader::ForEachAttempt(const std::function<void(const AttemptEntry&)>& visit) {
  ASSIGN_OR_RETURN(auto rows,
                   database_.Prepare(std::string(kAttemptColumns) + "ORDER BY sequence"));
  return ForEachRow<AttemptEntry>(rows, visit);
}

Status JournalReader::ForEachCycle(const std::function<void(const CycleResult&)>& visit) {
  ASSIGN_OR_RETURN(auto rows,
                   database_.Prepare(std::string(kCycleColumns) +
                                     "WHERE identity IN "
                                     "(SELECT identity FROM step WHERE position IS NOT NULL)"));
  return ForEachRow<CycleResult>(rows, visit);
}

Result<std::optional<WallTime>> JournalReader::LastEnd() {
  // Sequences have an index, the ends of attempts have none.
  ASSIGN_OR_RETURN(auto rows,
                   database_.Prepare("SELECT ended FROM attempt ORDER BY sequence DESC LIMIT 1"));
  ASSIGN_OR_RETURN(const auto more, rows.Step());
  if (!more) return std::nullopt;
  return std::optional<WallTime>(rows.Integer(0));
}

Result<std::optional<std::string>> JournalReader::Get(std::string_view key) {
  ASSIGN_OR_RETURN(auto rows, database_.Prepare(std::string(kMetaColumns) + "WHERE key = ?"));
  rows.Bind(1, key);
  ASSIGN_OR_RETURN(const auto more, rows.Step());
  if (!more) return std::nullopt;
  ASSIGN_OR_RETURN(auto row, ReadRow<MetaRow>(rows));
  return std::optional<std::string>(std::move(row.value));
}

}  // namespace reveza::jobs
