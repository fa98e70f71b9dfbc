// What comes into a journal from elsewhere: from records, and from a journal that was damaged.
#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <string>
#include <utility>

#include "runner/journal/journal.h"
#include "runner/journal/journal_format.h"

namespace reveza::runner {

Status Journal::Adopt(const AttemptStarted& started) {
  if (auto begun = Begin(); !begun) return begun;
  const auto last = database_.Number("SELECT coalesce(max(id), 0) FROM step");
  if (!last) return std::unexpected(last.error());
  StepEntry step;
  step.identity = started.name.identity;
  step.label = started.label;
  const std::filesystem::path output(started.output);
  step.files = (output.parent_path().filename() / output.stem()).string();
  // The number that its outputs are called by, so that no other step is ever given them.
  const std::string number = output.stem();
  std::from_chars(number.data(), number.data() + number.size(), step.id);
  const auto taken =
      database_.Number(fmt::format("SELECT count(*) FROM step WHERE id = {}", step.id));
  if (!taken) return std::unexpected(taken.error());
  if (step.id <= 0 || *taken != 0) step.id = *last + 1;
  return InsertUnlisted(step);
}

Status Journal::InsertUnlisted(const StepEntry& step) {
  auto& insert = statements_.insert_step;
  insert.Bind(1, step.id).BindBlob(2, AsText(step.identity)).BindNull(3);
  insert.Bind(4, std::int64_t{0}).Bind(5, std::int64_t{0});
  insert.Bind(6, std::string_view(step.label)).Bind(7, std::string_view(step.files));
  insert.Bind(8, SumOf(step));
  return insert.Run();
}

Status Journal::RestoreSteps(const std::vector<StepEntry>& steps) {
  if (auto begun = Begin(); !begun) return begun;
  for (StepEntry step : steps) {
    step.state = StepState::kWaiting;
    step.attempts = 0;
    if (auto inserted = InsertUnlisted(step); !inserted) return inserted;
  }
  return Commit();
}

Status Journal::RestoreAttempts(const std::vector<AttemptEntry>& attempts) {
  if (auto begun = Begin(); !begun) return begun;
  for (const auto& attempt : attempts) {
    const auto known = Find(attempt.result.name.identity);
    if (!known) return std::unexpected(known.error());
    if (!*known) continue;
    if (auto inserted = Insert(attempt); !inserted) return std::unexpected(inserted.error());
  }
  return Commit();
}

}  // namespace reveza::runner
