#include "runner/engine/repair_job.h"

#include <array>
#include <string_view>
#include <utility>

#include "runner/engine/added_steps.h"
#include "runner/engine/programs.h"
#include "runner/journal/import_records.h"

namespace reveza::runner {
namespace {

// For people, of names in the journal; what is not here needs no saying.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kWords = {{
    {"added", "added steps"},
    {"learned", "what steps need"},
    {"outputs", "where the outputs are"},
    {"programs", "the versions of programs"},
    {"tuning", "the numbers of workers that were tried"},
}};

}  // namespace

Result<Repaired> RepairJob(const JobFolder& folder) {
  auto rebuilt = RebuildJournal(folder);
  if (!rebuilt) return std::unexpected(rebuilt.error());
  Journal& journal = rebuilt->journal;
  Repaired repaired{rebuilt->imported.attempts, rebuilt->imported.unknown, {}, false};
  const bool file_is_damaged = IsAddedFileDamaged(folder);
  if (auto settled = SettleAdded(folder, journal); !settled) {
    return std::unexpected(settled.error());
  }
  if (auto forgotten = ForgetWhoMade(journal, rebuilt->from_record); !forgotten) {
    return std::unexpected(forgotten.error());
  }
  for (const auto& [key, words] : kWords) {
    const auto value = journal.Get(key);
    if (!value) return std::unexpected(value.error());
    if (*value) repaired.kept.emplace_back(words);
    if (key == "added" && !*value) repaired.added_lost = file_is_damaged;
  }
  if (auto committed = journal.Checkpoint(); !committed) return std::unexpected(committed.error());
  return repaired;
}

}  // namespace reveza::runner
