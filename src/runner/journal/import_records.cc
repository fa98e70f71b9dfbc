#include "runner/journal/import_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "platform/list_folder.h"
#include "runner/journal/salvage.h"
#include "runner/journal/verify_outputs.h"
#include "runner/supervisor/record.h"

namespace reveza::runner {
namespace {

namespace fs = std::filesystem;

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

// By their names, which begin with the time.
Result<std::vector<fs::path>> RecordsOf(const JobFolder& folder) {
  auto records = platform::ListFolder(folder.records());
  if (!records) {
    // One that is there and cannot be read may hold what was done.
    if (records.error().code == Error::Code::kNotFound) return std::vector<fs::path>{};
    return records;
  }
  std::erase_if(*records, [](const fs::path& path) { return path.extension() != ".record"; });
  return records;
}

AttemptExtra SeenBy(const BootId& boot) {
  AttemptExtra extra;
  extra.boot = boot;
  return extra;
}

Status AdoptIfNew(Journal& journal, const AttemptStarted& started) {
  const auto known = journal.Find(started.name.identity);
  if (!known) return std::unexpected(known.error());
  return *known ? Status{} : journal.Adopt(started);
}

Status NoteUnknown(Journal& journal, const AttemptStarted& started, const BootId& boot,
                   Imported& imported) {
  AttemptResult result;
  result.name = started.name;
  result.outcome = Outcome::kUnknown;
  result.began = started.at;
  result.ended = started.at;
  const auto noted = journal.Note(result, SeenBy(boot));
  if (!noted) return std::unexpected(noted.error());
  imported.attempts += *noted ? 1 : 0;
  imported.unknown += *noted ? 1 : 0;
  return {};
}

// A supervisor whose runner is gone, and that runs nothing, may still have a start to read: whoever
// looked at its record now would start the same step a second time. It reads that, or ends, at
// once.
Status AwaitIdleSupervisor(const fs::path& record) {
  constexpr auto kStep = std::chrono::milliseconds(2);
  constexpr int kMost = 15'000;
  for (int i = 0; i < kMost; ++i) {
    const auto held = IsHeld(record.string());
    if (!held) return std::unexpected(held.error());
    if (!*held) return {};
    const auto read = ReadRecord(record.string());
    if (read && !read->entries.empty() &&
        !std::holds_alternative<AttemptResult>(read->entries.back())) {
      return {};
    }
    std::this_thread::sleep_for(kStep);
  }
  return Fail(Error::Code::kUnavailable,
              fmt::format("a supervisor of the runner before neither works nor ends; who holds {} "
                          "is to be ended",
                          record.string()));
}

// Before anything is moved away: who cannot read the records now could only rebuild a part.
Status CheckRecords(const JobFolder& folder) {
  const auto records = RecordsOf(folder);
  if (!records) return std::unexpected(records.error());
  for (const auto& path : *records) {
    const auto record = ReadRecord(path.string());
    if (!record && record.error().code != Error::Code::kIncompatible) {
      return std::unexpected(record.error());
    }
  }
  return {};
}

// The steps that records name, and that the journal does not know.
Status AdoptAll(const JobFolder& folder, Journal& journal) {
  const auto records = RecordsOf(folder);
  if (!records) return std::unexpected(records.error());
  for (const auto& path : *records) {
    const auto record = ReadRecord(path.string());
    if (!record && record.error().code == Error::Code::kIncompatible) continue;
    if (!record) return std::unexpected(record.error());
    for (const auto& entry : record->entries) {
      const auto* started = std::get_if<AttemptStarted>(&entry);
      if (started == nullptr) continue;
      if (auto adopted = AdoptIfNew(journal, *started); !adopted) return adopted;
    }
  }
  return {};
}

Outcome OutcomeOf(const AttemptEntry& attempt) { return attempt.result.outcome; }

// A database is known by its name to the files beside it, so all go to the same number.
Result<fs::path> MoveAway(const fs::path& journal) {
  constexpr std::array kParts = {"-wal", "-shm", ""};
  std::error_code error;
  for (int number = 1;; ++number) {
    const std::string to = fmt::format("{}.damaged-{}", journal.string(), number);
    const auto is_taken = [&](const char* part) { return fs::exists(to + part, error); };
    if (std::ranges::any_of(kParts, is_taken)) continue;
    for (const char* part : kParts) {
      const fs::path from = journal.string() + part;
      if (!fs::exists(from, error)) continue;
      fs::rename(from, to + part, error);
      if (error) {
        return Fail(Error::Code::kPermission,
                    fmt::format("cannot move {} away: {}", from.string(), error.message()));
      }
    }
    return fs::path(to);
  }
}

}  // namespace

Status ImportRecord(const fs::path& path, Journal& journal, Imported& imported) {
  // Asked before it is read: whoever lets go in between has written all by then.
  const auto held = IsHeld(path.string());
  if (!held) return std::unexpected(held.error());
  const auto record = ReadRecord(path.string());
  if (!record) {
    // The supervisor was killed before it had written the head: it has started nothing.
    std::error_code error;
    constexpr std::uintmax_t kHeadSize = 24;
    if (fs::file_size(path, error) < kHeadSize && !error) return {};
    if (*held || record.error().code != Error::Code::kIncompatible) {
      return std::unexpected(record.error());
    }
    // A power cut may leave a file of zeros. What it said nobody knows; it is kept beside the
    // others.
    fs::rename(path, path.string() + ".damaged", error);
    ++imported.unknown;
    return {};
  }
  std::optional<AttemptStarted> open;
  Status status;
  const Overloaded handle{[&](const AttemptStarted& started) {
                            status = AdoptIfNew(journal, started);
                            open = started;
                          },
                          [&](const CycleResult& cycle) {
                            const auto noted = journal.Note(cycle);
                            if (!noted) status = std::unexpected(noted.error());
                          },
                          [&](const AttemptResult& result) {
                            const auto noted = journal.Note(result, SeenBy(record->boot));
                            if (!noted) status = std::unexpected(noted.error());
                            imported.attempts += noted.value_or(false) ? 1 : 0;
                            open.reset();
                          }};
  for (const auto& entry : record->entries) {
    std::visit(handle, entry);
    if (!status) return status;
  }
  if (!open) return {};
  if (!*held) return NoteUnknown(journal, *open, record->boot, imported);
  imported.live.push_back({open->name, open->at, path});
  return {};
}

Result<Imported> ImportRecords(const JobFolder& folder, Journal& journal, Supervisors supervisors) {
  Imported imported;
  const auto records = RecordsOf(folder);
  if (!records) return std::unexpected(records.error());
  for (const auto& record : *records) {
    if (supervisors == Supervisors::kOrphans) {
      if (auto settled = AwaitIdleSupervisor(record); !settled) {
        return std::unexpected(settled.error());
      }
    }
    if (auto done = ImportRecord(record, journal, imported); !done) {
      return std::unexpected(done.error());
    }
  }
  if (auto committed = journal.Commit(); !committed) return std::unexpected(committed.error());
  return imported;
}

Result<Rebuilt> RebuildJournal(const JobFolder& folder) {
  if (auto readable = CheckRecords(folder); !readable) return std::unexpected(readable.error());
  const auto damaged = MoveAway(folder.journal());
  if (!damaged) return std::unexpected(damaged.error());
  const Salvaged salvaged = Salvage(*damaged);
  std::vector<std::string> kept;
  {
    auto journal = Journal::Open(folder.journal());
    if (!journal) return std::unexpected(journal.error());
    for (const auto& [key, value] : salvaged.notes) {
      // Attempts that the damaged journal has lost may have been behind it.
      if (key == kBarrier) continue;
      if (auto set = journal->Set(key, value); !set) return std::unexpected(set.error());
      kept.push_back(key);
    }
    if (auto committed = journal->Commit(); !committed) return std::unexpected(committed.error());
  }
  // Some of these decide which cycles are taken from the records, from the beginning.
  auto journal = Journal::Open(folder.journal());
  if (!journal) return std::unexpected(journal.error());
  Status restored = journal->RestoreSteps(salvaged.steps);
  // An attempt may be readable where its step is not.
  if (restored) restored = AdoptAll(folder, *journal);
  if (restored) restored = journal->RestoreAttempts(salvaged.attempts);
  if (!restored) return std::unexpected(restored.error());
  const std::int64_t before = journal->last_sequence();
  auto imported = ImportRecords(folder, *journal, Supervisors::kOrphans);
  if (!imported) return std::unexpected(imported.error());
  const auto all = journal->AttemptsAfter(0);
  if (!all) return std::unexpected(all.error());
  imported->attempts = all->size();
  imported->unknown += static_cast<std::uint64_t>(
      std::ranges::count(salvaged.attempts, Outcome::kUnknown, OutcomeOf));
  Rebuilt rebuilt{std::move(*journal), std::move(*imported), std::move(kept), {}};
  for (const auto& attempt : *all) {
    if (attempt.sequence > before) rebuilt.from_record.push_back(attempt.result.name);
  }
  return rebuilt;
}

}  // namespace reveza::runner
