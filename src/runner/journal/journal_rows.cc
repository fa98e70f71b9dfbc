#include "runner/journal/journal_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "runner/journal/journal_format.h"

namespace reveza::runner {
namespace {

template <typename T>
T FromBlob(std::string_view blob) {
  T value{};
  std::copy_n(blob.begin(), std::min(blob.size(), value.size()), value.begin());
  return value;
}

std::unexpected<Error> Damaged(std::string_view what) {
  return Fail(Error::Code::kIncompatible,
              fmt::format("a row of the journal ({}) is not what its checksum says", what));
}

template <typename Read>
Status CheckAll(Database& database, const char* select, Read read) {
  auto rows = database.Prepare(select);
  if (!rows) return std::unexpected(rows.error());
  for (;;) {
    const auto row = rows->Step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    if (const auto value = read(*rows); !value) return std::unexpected(value.error());
  }
}

}  // namespace

Result<StepEntry> ReadStep(const Statement& row) {
  StepEntry step;
  step.id = row.Integer(0);
  step.identity = FromBlob<Identity>(row.Blob(1));
  step.state = static_cast<StepState>(row.Integer(2));
  step.attempts = static_cast<std::uint32_t>(row.Integer(3));
  step.label = row.Text(4);
  step.files = row.Text(5);
  if (SumOf(step) != row.Integer(6)) return Damaged(fmt::format("step {}", step.id));
  return step;
}

Result<AttemptEntry> ReadAttempt(const Statement& row) {
  AttemptEntry entry;
  auto& result = entry.result;
  result.name.identity = FromBlob<Identity>(row.Blob(0));
  result.name.attempt = static_cast<std::uint32_t>(row.Integer(1));
  result.outcome = static_cast<Outcome>(row.Integer(2));
  result.code = static_cast<std::int32_t>(row.Integer(3));
  result.pid = static_cast<std::int32_t>(row.Integer(4));
  result.began = row.Integer(5);
  result.ended = row.Integer(6);
  result.paused = row.Integer(7);
  result.user_time = row.Integer(8);
  result.system_time = row.Integer(9);
  result.largest_resident = static_cast<std::uint64_t>(row.Integer(10));
  result.output_bytes = static_cast<std::uint64_t>(row.Integer(11));
  result.error_bytes = static_cast<std::uint64_t>(row.Integer(12));
  if (!row.IsNull(13)) entry.extra.peak = static_cast<Bytes>(row.Integer(13));
  entry.extra.output_hash = static_cast<std::uint64_t>(row.Integer(14));
  entry.extra.boot = FromBlob<BootId>(row.Blob(15));
  entry.sequence = row.Integer(16);
  if (SumOf(entry) != row.Integer(17)) return Damaged(fmt::format("attempt {}", entry.sequence));
  return entry;
}

Result<CycleResult> ReadCycle(const Statement& row) {
  CycleResult cycle;
  cycle.name.identity = FromBlob<Identity>(row.Blob(0));
  cycle.number = static_cast<std::uint64_t>(row.Integer(1));
  cycle.name.attempt = static_cast<std::uint32_t>(row.Integer(2));
  cycle.at = row.Integer(3);
  cycle.metrics = row.Text(4);
  if (SumOf(cycle) != row.Integer(5)) return Damaged(fmt::format("cycle {}", cycle.number));
  return cycle;
}

Result<Note> ReadNote(const Statement& row) {
  Note note{std::string(row.Text(0)), std::string(row.Blob(1))};
  if (SumOfNote(note.key, note.value) != row.Integer(2)) return Damaged(note.key);
  return note;
}

Status CheckRows(Database& database) {
  if (auto checked = CheckAll(database, kNoteColumns, ReadNote); !checked) return checked;
  if (auto checked = CheckAll(database, kStepColumns, ReadStep); !checked) return checked;
  if (auto checked = CheckAll(database, kAttemptColumns, ReadAttempt); !checked) return checked;
  return CheckAll(database, kCycleColumns, ReadCycle);
}

}  // namespace reveza::runner
