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

#include "base/system_error.h"
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

constexpr std::array kParts = {"-wal", "-shm", ""};

Error CannotReplace(const fs::path& path, const std::error_code& error) {
  return SystemError("cannot put a new journal in the place of " + path.string(), error.value());
}

// Under another name beside it, as well. A database is known by its name to the files beside it, so
// all go to the same number.
Status Keep(const fs::path& journal) {
  std::error_code error;
  for (int number = 1;; ++number) {
    const std::string to = fmt::format("{}.damaged-{}", journal.string(), number);
    const auto is_taken = [&](const char* part) { return fs::exists(to + part, error); };
    if (std::ranges::any_of(kParts, is_taken)) continue;
    for (const char* part : kParts) {
      const fs::path from = journal.string() + part;
      if (!fs::exists(from, error)) continue;
      fs::create_hard_link(from, to + part, error);
      if (error) fs::copy_file(from, to + part, error);  // a file system without such links
      if (error) return std::unexpected(CannotReplace(from, error));
    }
    return {};
  }
}

// The damaged one is there under its name until the new one is, whole.
Status PutInPlace(const fs::path& fresh, const fs::path& journal) {
  std::error_code error;
  const fs::path log = fresh.string() + "-wal";
  if (fs::exists(log, error) && fs::file_size(log, error) > 0) {
    return Fail(Error::Code::kUnavailable, "somebody else has opened " + fresh.string());
  }
  if (auto kept = Keep(journal); !kept) return kept;
  for (const char* part : {"-wal", "-shm"}) {
    fs::remove(journal.string() + part, error);
    if (error) return std::unexpected(CannotReplace(journal, error));
  }
  fs::rename(fresh, journal, error);
  if (error) return std::unexpected(CannotReplace(journal, error));
  return {};
}

struct Restored {
  Imported imported;
  std::vector<std::string> kept;
  std::vector<AttemptName> from_record;
};

// A journal in `fresh`, where there is none, of what was salvaged and of the records.
Result<Restored> Restore(const JobFolder& folder, const fs::path& fresh, const Salvaged& salvaged) {
  Restored restored;
  {
    auto journal = Journal::Open(fresh);
    if (!journal) return std::unexpected(journal.error());
    for (const auto& [key, value] : salvaged.notes) {
      // Attempts that the damaged journal has lost may have been behind it.
      if (key == kBarrier) continue;
      if (auto set = journal->Set(key, value); !set) return std::unexpected(set.error());
      restored.kept.push_back(key);
    }
    if (auto committed = journal->Commit(); !committed) return std::unexpected(committed.error());
  }
  // Some of these decide which cycles are taken from the records, from the beginning.
  auto journal = Journal::Open(fresh);
  if (!journal) return std::unexpected(journal.error());
  Status status = journal->RestoreSteps(salvaged.steps);
  // An attempt may be readable where its step is not.
  if (status) status = AdoptAll(folder, *journal);
  if (status) status = journal->RestoreAttempts(salvaged.attempts);
  if (!status) return std::unexpected(status.error());
  const std::int64_t before = journal->last_sequence();
  auto imported = ImportRecords(folder, *journal, Supervisors::kOrphans);
  if (!imported) return std::unexpected(imported.error());
  const auto all = journal->AttemptsAfter(0);
  if (!all) return std::unexpected(all.error());
  restored.imported = *std::move(imported);
  restored.imported.attempts = all->size();
  restored.imported.unknown += static_cast<std::uint64_t>(
      std::ranges::count(salvaged.attempts, Outcome::kUnknown, OutcomeOf));
  for (const auto& attempt : *all) {
    if (attempt.sequence > before) restored.from_record.push_back(attempt.result.name);
  }
  if (auto written = journal->Checkpoint(); !written) return std::unexpected(written.error());
  return restored;
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
  const auto salvaged = Salvage(folder.journal());
  if (!salvaged) return std::unexpected(salvaged.error());
  const fs::path fresh = folder.journal().string() + ".new";
  std::error_code error;
  // Of one that was killed before it was done.
  for (const char* part : kParts) {
    fs::remove(fresh.string() + part, error);
    if (error) return std::unexpected(CannotReplace(folder.journal(), error));
  }
  auto restored = Restore(folder, fresh, *salvaged);
  if (!restored) return std::unexpected(restored.error());
  if (auto placed = PutInPlace(fresh, folder.journal()); !placed) {
    return std::unexpected(placed.error());
  }
  auto journal = Journal::Open(folder.journal());
  if (!journal) return std::unexpected(journal.error());
  return Rebuilt{std::move(*journal), std::move(restored->imported), std::move(restored->kept),
                 std::move(restored->from_record)};
}

}  // namespace reveza::runner
