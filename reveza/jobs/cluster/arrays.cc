#include "reveza/jobs/cluster/arrays.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>

#include "common/base/parse_number.h"
#include "common/base/read_file.h"
#include "common/platform/text_file.h"
#include "reveza/jobs/engine/owner_file.h"
#include "reveza/jobs/engine/shard_export.h"
#include "reveza/jobs/journal/import_records.h"
#include "reveza/jobs/journal/journal_reader.h"
#include "reveza/jobs/journal/merge_journals.h"

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "array-";
constexpr const char* kSubmitted = "submitted";
constexpr const char* kArrays = "arrays";  // journal key: the folder of arrays that may run
constexpr std::size_t kMaxTaskFile = std::size_t{1} << 30;

// A killed runner leaves steps that go on; the next one waits for them, and starts none of them
// again. Signals of the engine are for the runner, whose end is waited for.
constexpr const char* kScript = R"(#!/bin/sh
umask 077
[ -w "${{XDG_RUNTIME_DIR:-}}" ] || unset XDG_RUNTIME_DIR
state=$(mktemp -d "${{TMPDIR:-/tmp}}/reveza.XXXXXX" 2>/dev/null || mktemp -d /tmp/reveza.XXXXXX) || exit 1
trap 'kill -INT "$runner" 2>/dev/null' INT
trap : TERM
tries=0
status=255
while [ "$status" -gt 128 ] && [ "$tries" -lt 5 ]; do
  tries=$((tries + 1))
  {} jobs run-task {} "$SLURM_ARRAY_TASK_ID" "$state" &
  runner=$!
  wait "$runner"
  status=$?
  while kill -0 "$runner" 2>/dev/null; do
    wait "$runner"
    status=$?
  done
  [ "$status" -eq 130 ] && break
done
rm -rf "$state"
exit "$status"
)";

std::string Quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Status WriteText(const fs::path& path, const std::string& text, mode_t mode) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file && chmod(path.c_str(), mode) == 0) return {};
  return Fail(Error::Code::kPermission, "--shared: cannot write {}; choose a writable folder",
              path.string());
}

Result<std::vector<fs::path>> RecordsOf(const TaskPlace& place) {
  auto records = platform::ListFolder(place.records());
  if (!records && records.error().code == Error::Code::kNotFound) return std::vector<fs::path>{};
  if (!records) return records;
  std::erase_if(*records, [](const fs::path& path) { return path.extension() != ".record"; });
  return records;
}

}  // namespace

fs::path TaskPlace::file() const { return array / fmt::format("task-{}.json", shard.index); }
fs::path TaskPlace::log() const { return array / fmt::format("log-{}.txt", shard.index); }
fs::path TaskPlace::copy() const { return array / (NameOf(shard) + ".db"); }
fs::path TaskPlace::outputs() const { return array / NameOf(shard); }
fs::path TaskPlace::records() const { return outputs() / "records"; }

fs::path OutputsOfStep(const TaskPlace& place, std::size_t position) {
  // As the journal of the task names them.
  const std::size_t id = position + 1;
  return place.outputs() / fmt::format("{:03}/{}", id / 1000, id);
}

Result<std::vector<std::uint32_t>> ListArrays(const fs::path& folder) {
  ASSIGN_OR_RETURN(const auto entries, platform::ListFolder(folder));
  std::vector<std::uint32_t> numbers;
  for (const fs::path& entry : entries) {
    const std::string name = entry.filename();
    if (!name.starts_with(kPrefix)) continue;
    if (const auto number = ParseNumber<std::uint32_t>(name.substr(kPrefix.size()))) {
      numbers.push_back(*number);
    }
  }
  std::ranges::sort(numbers);
  return numbers;
}

fs::path ArrayFolder(const fs::path& folder, std::uint32_t number) {
  return folder / fmt::format("{}{}", kPrefix, number);
}

Status WriteArray(const fs::path& folder, std::uint32_t number, const std::vector<TaskFile>& tasks,
                  const fs::path& reveza) {
  const fs::path array = ArrayFolder(folder, number);
  const fs::path part = folder / fmt::format(".{}{}.partial", kPrefix, number);
  std::error_code error;
  fs::remove_all(part, error);
  fs::create_directories(part, error);
  if (error) {
    return Fail(Error::Code::kPermission, "--shared: cannot create {}: {}", part.string(),
                error.message());
  }
  chmod(part.c_str(), 0700);
  // Task files may have values of variables that are confidential.
  const auto count = static_cast<std::uint32_t>(tasks.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const TaskPlace place{part, {i + 1, count}};
    RETURN_IF_ERROR(WriteText(place.file(), FormatTask(tasks[i]), 0600));
  }
  const std::string script =
      fmt::format(fmt::runtime(kScript), Quoted(reveza.string()), Quoted(array.string()));
  RETURN_IF_ERROR(WriteText(part / "run.sh", script, 0700));
  fs::rename(part, array, error);
  if (error) {
    return Fail(Error::Code::kPermission, "--shared: cannot create {}: {}", array.string(),
                error.message());
  }
  return {};
}

Result<std::vector<TaskFile>> ReadArray(const fs::path& array) {
  std::vector<TaskFile> tasks;
  std::error_code ignored;
  for (std::uint32_t index = 1;; ++index) {
    const TaskPlace place{array, {index, index}};
    if (!fs::exists(place.file(), ignored)) return tasks;
    ASSIGN_OR_RETURN(const auto text, ReadFile(place.file(), kMaxTaskFile));
    auto task = ParseTask(text);
    if (!task) {
      return Fail(task.error().code, "{}: {}", place.file().string(), task.error().message);
    }
    tasks.push_back(*std::move(task));
  }
}

Status NoteArrays(Journal& journal, const fs::path& folder) {
  return journal.Set(kArrays, folder.string());
}

Status CheckNoArrays(Journal& journal) {
  ASSIGN_OR_RETURN(const auto folder, journal.Get(kArrays));
  std::error_code error;
  if (!folder || folder->empty() || !fs::exists(*folder, error)) return {};
  return Fail(Error::Code::kUnavailable,
              "steps of this job may be running on Slurm: add --on slurm --shared {} to continue "
              "them, and interrupt that twice to cancel them; remove {} if its Slurm is gone",
              fs::path(*folder).parent_path().string(), *folder);
}

bool WasSubmitted(const fs::path& array) {
  std::error_code ignored;
  return fs::exists(array / kSubmitted, ignored);
}

Status MarkSubmitted(const fs::path& array) { return WriteText(array / kSubmitted, "", 0600); }

Result<bool> HasLiveProcess(const TaskPlace& place) {
  if (OwnerFile::Find(ShardExport::OwnerOf(place.array, place.shard))) return true;
  ASSIGN_OR_RETURN(const auto records, RecordsOf(place));
  for (const fs::path& record : records) {
    ASSIGN_OR_RETURN(const bool held, IsHeld(record.string()));
    if (held) return true;
  }
  return false;
}

Status ImportCopy(const TaskPlace& place, Journal& journal,
                  std::optional<fs::file_time_type>& seen) {
  std::error_code error;
  const auto written = fs::last_write_time(place.copy(), error);
  if (error || seen == written) return {};
  ASSIGN_OR_RETURN(auto reader, JournalReader::Open(place.copy()));
  const auto merged = MergeJournal(reader, place.outputs(), journal);
  if (!merged) return std::unexpected(merged.error());
  seen = written;
  return {};
}

Status ImportRest(const TaskPlace& place, Journal& journal) {
  ASSIGN_OR_RETURN(const auto records, RecordsOf(place));
  ImportResult imported;
  for (const fs::path& record : records) {
    RETURN_IF_ERROR(ImportRecord(record, journal, imported));
  }
  return journal.Commit();
}

}  // namespace reveza::jobs
