#include "runner/import_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <system_error>
#include <thread>
#include <variant>

#include "runner/record.h"

namespace reveza::runner {
namespace {

namespace fs = std::filesystem;

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

std::vector<fs::path> RecordsOf(const JobFolder& folder) {
  std::vector<fs::path> records;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.records(), error)) {
    if (entry.path().extension() == ".record") records.push_back(entry.path());
  }
  // By their names, which begin with the time.
  std::ranges::sort(records);
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
    if (!IsHeld(record.string())) return {};
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

}  // namespace

Status ImportRecord(const fs::path& path, Journal& journal, Imported& imported) {
  // Asked before it is read: whoever lets go in between has written all by then.
  const bool held = IsHeld(path.string());
  const auto record = ReadRecord(path.string());
  if (!record) {
    // The supervisor was killed before it had written the head: it has started nothing.
    std::error_code error;
    constexpr std::uintmax_t kHeadSize = 24;
    if (fs::file_size(path, error) < kHeadSize && !error) return {};
    return std::unexpected(record.error());
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
  if (!held) return NoteUnknown(journal, *open, record->boot, imported);
  imported.live.push_back({open->name, open->at, path});
  return {};
}

Result<Imported> ImportRecords(const JobFolder& folder, Journal& journal, Supervisors supervisors) {
  Imported imported;
  for (const auto& record : RecordsOf(folder)) {
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

Result<Journal> RebuildJournal(const JobFolder& folder, Imported& imported) {
  std::error_code error;
  for (const char* part : {"-wal", "-shm", ""}) {
    const fs::path from = folder.journal().string() + part;
    if (!fs::exists(from, error)) continue;
    for (int number = 1;; ++number) {
      const fs::path to = fmt::format("{}.damaged-{}{}", folder.journal().string(), number, part);
      if (fs::exists(to, error)) continue;
      fs::rename(from, to, error);
      break;
    }
    if (error) {
      return Fail(Error::Code::kPermission,
                  fmt::format("cannot move {} away: {}", from.string(), error.message()));
    }
  }
  auto journal = Journal::Open(folder.journal());
  if (!journal) return journal;
  auto all = ImportRecords(folder, *journal, Supervisors::kOrphans);
  if (!all) return std::unexpected(all.error());
  imported = std::move(*all);
  return journal;
}

}  // namespace reveza::runner
