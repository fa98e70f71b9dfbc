#include "reveza/jobs/journal/job_folder.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <system_error>

#include "common/base/nearest.h"
#include "common/platform/text_file.h"
#include "common/platform/unix_socket.h"

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxNameLength = 100;
constexpr std::string_view kPunctuation = "-_.+=@";  // besides letters and digits

Status MakeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return {};
  const auto code =
      error == std::errc::no_space_on_device ? Error::Code::kExhausted : Error::Code::kPermission;
  return Fail(code, "cannot create {}: {}; set REVEZA_STATE to a writable folder", path.string(),
              error.message());
}

}  // namespace

Status CheckJobName(const std::string& name) {
  const auto is_valid = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPunctuation.contains(c);
  };
  if (!name.empty() && name.size() <= kMaxNameLength && name[0] != '.' && name[0] != '-' &&
      std::ranges::all_of(name, is_valid)) {
    return {};
  }
  return InvalidArgument(
      "'{}' is not a valid job name: use at most {} letters, digits and {}, with a letter or digit "
      "first",
      name, kMaxNameLength, kPunctuation);
}

Result<JobFolder> JobFolder::Create(const fs::path& state, const std::string& id) {
  RETURN_IF_ERROR(CheckJobName(id));
  JobFolder folder(state / "jobs" / id, id);
  for (const auto& part : {folder.path(), folder.records(), folder.outputs()}) {
    RETURN_IF_ERROR(MakeFolder(part));
  }
  // Outputs may be confidential.
  chmod(folder.path().c_str(), 0700);
  return folder;
}

Result<JobFolder> JobFolder::Find(const fs::path& state, const std::string& id) {
  JobFolder folder(state / "jobs" / id, id);
  std::error_code error;
  if (CheckJobName(id) && fs::is_directory(folder.path(), error)) return folder;
  const auto all = List(state);
  const std::vector<std::string_view> names(all.begin(), all.end());
  const auto nearest = Nearest(id, names);
  return Fail(Error::Code::kNotFound, "no job '{}'{}", id,
              nearest ? fmt::format("; did you mean '{}'?", *nearest)
                      : std::string("; reveza jobs list shows all jobs"));
}

std::vector<std::string> JobFolder::List(const fs::path& state) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::path& path :
       platform::ListFolder(state / "jobs").value_or(std::vector<fs::path>{})) {
    if (fs::exists(path / "journal.db", error)) names.push_back(path.filename());
  }
  return names;
}

Result<UniqueFd> JobFolder::Lock() const {
  auto lock = platform::LockFile(path_ / "lock");
  if (lock || lock.error().code != Error::Code::kUnavailable) return lock;
  return Fail(Error::Code::kUnavailable,
              "job '{}' is being run by another process; watch it with reveza jobs follow {}", id_,
              id_);
}

Result<bool> JobFolder::IsLocked() const { return platform::IsLocked(path_ / "lock"); }

fs::path JobFolder::NewRecord() const {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) random = 0;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return records() / fmt::format("{:010x}-{:016x}.record", now.tv_sec, random);
}

}  // namespace reveza::jobs
