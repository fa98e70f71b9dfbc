#include "reveza/jobs/engine/owner_file.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "common/platform/machine.h"
#include "common/platform/output_file.h"
#include "common/platform/process_table.h"
#include "common/platform/text_file.h"

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;

std::optional<OwnerFile::Owner> ReadOwner(const fs::path& file) {
  std::ifstream stream(file);
  OwnerFile::Owner owner;
  if (!(stream >> owner.host >> owner.pid)) return std::nullopt;
  return owner;
}

bool IsUs(const OwnerFile::Owner& owner) {
  return owner.host == platform::HostName() && owner.pid == getpid();
}

// Returns whether a process of this machine runs, or may. A dead one that nobody has waited for,
// as in containers without an init, does not.
bool MayRun(pid_t pid) {
  if (kill(pid, 0) != 0 && errno == ESRCH) return false;
  const auto text = platform::ReadText(platform::ProcessFolder(pid, "/") / "stat");
  const auto stat = text ? platform::ParseStat(*text) : std::nullopt;
  return !stat || stat->state != 'Z';
}

std::string OwnText() { return fmt::format("{} {}\n", platform::HostName(), getpid()); }

// Returns the time of the last modification by the clock of the file's server, as an age.
std::optional<std::chrono::seconds> AgeOf(const fs::path& file) {
  const fs::path probe = file.string() + fmt::format(".{}", getpid());
  std::error_code error;
  const auto modified = fs::last_write_time(file, error);
  if (error) return std::nullopt;
  std::ofstream(probe) << "x";
  const auto now = fs::last_write_time(probe, error);
  if (error) return std::nullopt;
  fs::remove(probe, error);
  return std::chrono::duration_cast<std::chrono::seconds>(now - modified);
}

// Creates the file unless it exists, so that of two processes one succeeds. Returns false if it
// exists. Without hard links (some network file systems) it is replaced instead.
Result<bool> CreateNew(const fs::path& file) {
  const fs::path part = file.string() + fmt::format(".{}.{}", platform::HostName(), getpid());
  {
    ASSIGN_OR_RETURN(auto written, platform::OutputFile::Create(part));
    RETURN_IF_ERROR(written.Append(OwnText()));
    RETURN_IF_ERROR(written.Finish());
  }
  const int failed = link(part.c_str(), file.c_str()) == 0 ? 0 : errno;
  std::error_code error;
  if (failed == 0 || failed == EEXIST) {
    fs::remove(part, error);
    return failed == 0;
  }
  fs::rename(part, file, error);
  if (error) return std::unexpected(SystemError("cannot write " + file.string(), error.value()));
  return true;
}

}  // namespace

std::optional<OwnerFile::Owner> OwnerFile::Find(const fs::path& file) {
  auto owner = ReadOwner(file);
  if (!owner) return std::nullopt;
  if (owner->host == platform::HostName() && !MayRun(owner->pid)) return std::nullopt;
  const auto age = AgeOf(file);
  if (!age || *age > kTimeout) return std::nullopt;
  owner->age = *age;
  return owner;
}

Result<OwnerFile> OwnerFile::Claim(fs::path file, const std::string& what) {
  for (int tries = 0; tries < 3; ++tries) {
    ASSIGN_OR_RETURN(const bool created, CreateNew(file));
    if (created) return OwnerFile(std::move(file));
    const auto owner = Find(file);
    if (owner && !IsUs(*owner)) {
      return Fail(Error::Code::kUnavailable,
                  "{} is run by process {} on {}, as of {} s ago; wait until it ends, or remove {} "
                  "if that machine is gone",
                  what, owner->pid, owner->host, owner->age.count(), file.string());
    }
    std::error_code error;
    fs::remove(file, error);
  }
  return Fail(Error::Code::kUnavailable, "{} is being taken over by another process", what);
}

OwnerFile::OwnerFile(OwnerFile&& other) noexcept : file_(std::exchange(other.file_, {})) {}

OwnerFile::~OwnerFile() {
  if (file_.empty()) return;
  const auto owner = ReadOwner(file_);
  std::error_code ignored;
  if (owner && IsUs(*owner)) fs::remove(file_, ignored);
}

Status OwnerFile::Touch() const {
  ASSIGN_OR_RETURN(auto file, platform::OutputFile::Create(file_));
  RETURN_IF_ERROR(file.Append(OwnText()));
  return file.Finish();
}

}  // namespace reveza::jobs
