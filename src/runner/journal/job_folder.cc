#include "runner/journal/job_folder.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/nearest.h"
#include "platform/list_folder.h"
#include "platform/unix_socket.h"

namespace reveza::runner {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 100;
constexpr std::string_view kAlso = "-_.+=@";  // beside letters and digits

Status MakeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return {};
  const auto code =
      error == std::errc::no_space_on_device ? Error::Code::kExhausted : Error::Code::kPermission;
  return Fail(code, fmt::format("cannot make the folder {}: {}; name one of your own with "
                                "REVEZA_STATE",
                                path.string(), error.message()));
}

}  // namespace

Result<fs::path> StateHome(const platform::Environment& environment) {
  if (const auto own = environment("REVEZA_STATE")) return fs::absolute(*own);
  if (const auto state = environment("XDG_STATE_HOME")) return fs::path(*state) / "reveza";
  if (const auto home = environment("HOME")) return fs::path(*home) / ".local/state/reveza";
  return Fail(Error::Code::kNotFound,
              "nobody says where jobs are to be kept: set REVEZA_STATE or HOME");
}

Status CheckJobName(const std::string& name) {
  const auto good = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kAlso.contains(c);
  };
  if (!name.empty() && name.size() <= kLongestName && name[0] != '.' && name[0] != '-' &&
      std::ranges::all_of(name, good)) {
    return {};
  }
  return Fail(Error::Code::kInvalidArgument,
              fmt::format("'{}' is no name for a job: at most {} letters, digits and {}, with a "
                          "letter or digit first",
                          name, kLongestName, kAlso));
}

Result<JobFolder> JobFolder::Make(const fs::path& state, const std::string& id) {
  if (auto named = CheckJobName(id); !named) return std::unexpected(named.error());
  JobFolder folder(state / "jobs" / id, id);
  for (const auto& part : {folder.path(), folder.records(), folder.outputs()}) {
    if (auto made = MakeFolder(part); !made) return std::unexpected(made.error());
  }
  // What steps print is nobody else's business.
  chmod(folder.path().c_str(), 0700);
  return folder;
}

Result<JobFolder> JobFolder::Find(const fs::path& state, const std::string& id) {
  JobFolder folder(state / "jobs" / id, id);
  std::error_code error;
  if (CheckJobName(id) && fs::is_directory(folder.path(), error)) return folder;
  const auto all = All(state);
  const std::vector<std::string_view> names(all.begin(), all.end());
  const auto nearest = Nearest(id, names);
  return Fail(Error::Code::kNotFound,
              fmt::format("there is no job '{}'{}", id,
                          nearest ? fmt::format("; did you mean '{}'?", *nearest)
                                  : std::string("; reveza jobs list shows those that there are")));
}

std::vector<std::string> JobFolder::All(const fs::path& state) {
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
  return Fail(
      Error::Code::kUnavailable,
      fmt::format("another runner works on job '{}'; reveza jobs follow {} shows it", id_, id_));
}

Result<bool> JobFolder::IsLocked() const { return platform::IsLocked(path_ / "lock"); }

fs::path JobFolder::NewRecord() const {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) random = 0;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return records() / fmt::format("{:010x}-{:016x}.record", now.tv_sec, random);
}

}  // namespace reveza::runner
