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
constexpr const char* kEngine = "engine";
constexpr const char* kArrays = "arrays";  // journal key: the folder of arrays that may run
constexpr std::size_t kMaxTaskFile = std::size_t{1} << 30;

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
fs::path TaskPlace::revoked() const { return array / fmt::format("revoked-{}", shard.index); }

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
                  const ArrayScript& script) {
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
  RETURN_IF_ERROR(WriteText(part / script.name, script.text, 0700));
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

ClusterKind EngineOf(const fs::path& folder) {
  const auto text = ReadFile(folder / kEngine);
  if (!text) return ClusterKind::kSlurm;  // an earlier version had no other
  const auto* found = std::ranges::find(kClusters, *text, &ClusterNames::word);
  return found == kClusters.end() ? ClusterKind::kNone : found->kind;
}

Status NoteEngine(const fs::path& folder, ClusterKind kind) {
  return WriteText(folder / kEngine, std::string(NamesOf(kind).word), 0600);
}

std::unexpected<Error> MayRunElsewhere(const fs::path& folder) {
  const ClusterKind kind = EngineOf(folder);
  if (kind == ClusterKind::kNone) {
    return Fail(
        Error::Code::kUnavailable,
        "steps of this job may be running on an engine of a newer version of reveza: see {}",
        (folder / kEngine).string());
  }
  const auto& [is, word, name] = NamesOf(kind);
  return Fail(Error::Code::kUnavailable,
              "steps of this job may be running on {}: add --on {} --shared {} to continue them, "
              "and interrupt that twice to cancel them; remove {} if its {} is gone",
              name, word, folder.parent_path().string(), folder.string(), name);
}

Status NoteArrays(Journal& journal, const fs::path& folder) {
  return journal.Set(kArrays, folder.string());
}

Status CheckNoArrays(Journal& journal) {
  ASSIGN_OR_RETURN(const auto folder, journal.Get(kArrays));
  std::error_code error;
  if (!folder || folder->empty() || !fs::exists(*folder, error)) return {};
  return MayRunElsewhere(*folder);
}

bool WasSubmitted(const fs::path& array) {
  std::error_code ignored;
  return fs::exists(array / kSubmitted, ignored);
}

Status MarkSubmitted(const fs::path& array) { return WriteText(array / kSubmitted, "", 0600); }

Status TellTasks(const fs::path& array, std::string_view word) {
  const fs::path part = array / ".cancel";
  RETURN_IF_ERROR(WriteText(part, std::string(word), 0600));
  std::error_code error;
  fs::rename(part, array / kCancelFile, error);
  if (!error) return {};
  return Fail(Error::Code::kPermission, "cannot cancel tasks: cannot write {}",
              (array / kCancelFile).string());
}

Status RevokeTask(const TaskPlace& place) {
  std::error_code ignored;
  // In a folder that a user has deleted nothing starts.
  if (IsRevoked(place) || !fs::exists(place.array, ignored)) return {};
  return WriteText(place.revoked(), "", 0600);
}

bool IsRevoked(const TaskPlace& place) {
  std::error_code ignored;
  return fs::exists(place.revoked(), ignored);
}

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
