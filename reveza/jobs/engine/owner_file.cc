#include "reveza/jobs/engine/owner_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "common/platform/machine.h"
#include "common/platform/output_file.h"
#include "common/platform/process_table.h"
#include "common/platform/runtime_paths.h"
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

// Returns a name that processes of other machines do not have. The pods of one task have the same
// host name and, in process namespaces of their own, the same numbers.
std::string ThisHost() {
  const std::string pod = platform::ProcessEnvironment("POD_UID").value_or("");
  return pod.empty() ? platform::HostName() : platform::HostName() + ':' + pod;
}

bool IsUs(const OwnerFile::Owner& owner) {
  return owner.host == ThisHost() && owner.pid == getpid();
}

// Returns whether a process of this machine runs, or may. A dead one that nobody has waited for,
// as in containers without an init, does not.
bool MayRun(pid_t pid) {
  if (kill(pid, 0) != 0 && errno == ESRCH) return false;
  const auto text = platform::ReadText(platform::ProcessFolder(pid, "/") / "stat");
  const auto stat = text ? platform::ParseStat(*text) : std::nullopt;
  return !stat || stat->state != 'Z';
}

std::string OwnText() { return fmt::format("{} {}\n", ThisHost(), getpid()); }

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
  const fs::path part = file.string() + fmt::format(".{}.{}", ThisHost(), getpid());
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
  if (owner->host == ThisHost() && !MayRun(owner->pid)) return std::nullopt;
  const auto age = AgeOf(file);
  if (!age || *age > kTimeout) return std::nullopt;
  owner->age = *age;
  return owner;
}

Status OwnerFile::RefuseIfOwned(const fs::path& file, const std::string& what) {
  const auto owner = Find(file);
  if (!owner || IsUs(*owner)) return {};
  return Fail(Error::Code::kUnavailable,
              "{} is run by process {} on {}, as of {} s ago; wait until it ends, or remove {} if "
              "that machine is gone",
              what, owner->pid, owner->host, owner->age.count(), file.string());
}

// Replaces the file of an owner that is gone. One process at a time does: another could replace the
// new owner's file instead. Returns false if another process was faster.
Result<bool> OwnerFile::TakeOver(const fs::path& file, const std::string& what) {
  const fs::path guard = file.string() + ".takeover";
  std::error_code error;
  ASSIGN_OR_RETURN(const bool guards, CreateNew(guard));
  if (!guards) {
    if (!Find(guard)) fs::remove(guard, error);  // of a process that died while it did this
    return false;
  }
  Result<bool> taken = false;
  if (const Status gone = RefuseIfOwned(file, what); !gone) {
    taken = std::unexpected(gone.error());
  } else {
    fs::remove(file, error);
    taken = CreateNew(file);
  }
  fs::remove(guard, error);
  return taken;
}

Result<OwnerFile> OwnerFile::Claim(fs::path file, const std::string& what) {
  for (int tries = 0; tries < 3; ++tries) {
    ASSIGN_OR_RETURN(bool ours, CreateNew(file));
    if (!ours) {
      RETURN_IF_ERROR(RefuseIfOwned(file, what));
      ASSIGN_OR_RETURN(ours, TakeOver(file, what));
    }
    if (ours) return OwnerFile(std::move(file));
  }
  return Fail(Error::Code::kUnavailable, "{} is being taken over by another process; try again",
              what);
}

OwnerFile::OwnerFile(OwnerFile&& other) noexcept : file_(std::exchange(other.file_, {})) {}

OwnerFile::~OwnerFile() {
  if (file_.empty()) return;
  const auto owner = ReadOwner(file_);
  std::error_code ignored;
  if (owner && IsUs(*owner)) fs::remove(file_, ignored);
}

Status OwnerFile::Touch() const {
  if (!ReadOwner(file_)) {
    ASSIGN_OR_RETURN(const bool created, CreateNew(file_));
    if (created) return {};
  }
  const auto owner = ReadOwner(file_);
  if (!owner) return Fail(Error::Code::kInternal, "cannot read {}", file_.string());
  if (!IsUs(*owner)) {
    return Fail(Error::Code::kUnavailable,
                "process {} on {} has taken over, because this one was not heard of for {} s",
                owner->pid, owner->host, kTimeout.count());
  }
  if (utimensat(AT_FDCWD, file_.c_str(), nullptr, 0) != 0) {
    return std::unexpected(SystemError("cannot touch " + file_.string(), errno));
  }
  return {};
}

}  // namespace reveza::jobs
