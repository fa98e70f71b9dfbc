#include "reveza/jobs/engine/shard_export.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "common/platform/output_file.h"
#include "reveza/jobs/journal/journal_reader.h"
#include "reveza/jobs/journal/merge_journals.h"

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

struct Owner {
  std::string host;
  pid_t pid = 0;
};

std::optional<Owner> ReadOwner(const fs::path& file) {
  std::ifstream stream(file);
  Owner owner;
  if (!(stream >> owner.host >> owner.pid)) return std::nullopt;
  return owner;
}

Status WriteFile(const fs::path& path, std::string_view text) {
  ASSIGN_OR_RETURN(auto file, platform::OutputFile::Create(path));
  RETURN_IF_ERROR(file.Append(text));
  return file.Finish();
}

// Copies a file under a temporary name: readers see the old one or the whole new one.
Status CopyFile(const fs::path& from, const fs::path& to) {
  ASSIGN_OR_RETURN(auto file, platform::OutputFile::Create(to));
  std::ifstream source(from, std::ios::binary);
  std::vector<char> piece(kMiB);
  while (source.read(piece.data(), static_cast<std::streamsize>(piece.size())) ||
         source.gcount() > 0) {
    RETURN_IF_ERROR(file.Append({piece.data(), static_cast<std::size_t>(source.gcount())}));
  }
  if (!source.eof()) return Fail(Error::Code::kInternal, "cannot read {}", from.string());
  return file.Finish();
}

// Returns the time of the last modification by the clock of the file's server, as an age.
std::optional<fs::file_time_type::duration> AgeOf(const fs::path& file) {
  const fs::path probe = file.string() + fmt::format(".{}", getpid());
  std::error_code error;
  const auto modified = fs::last_write_time(file, error);
  if (error) return std::nullopt;
  std::ofstream(probe) << "x";
  const auto now = fs::last_write_time(probe, error);
  if (error) return std::nullopt;
  fs::remove(probe, error);
  return now - modified;
}

}  // namespace

Result<ShardExport> ShardExport::Claim(const fs::path& folder, const Shard& shard) {
  ShardExport claimed(folder, shard);
  std::error_code error;
  fs::create_directories(claimed.outputs(), error);
  if (error) {
    claimed.name_.clear();
    return Fail(Error::Code::kPermission,
                "--export: cannot create {}: {}; choose a writable folder", folder.string(),
                error.message());
  }
  Status done = claimed.CheckOwner();
  if (done) done = claimed.WriteOwner();
  if (done) return claimed;
  claimed.name_.clear();
  return std::unexpected(done.error());
}

ShardExport::ShardExport(ShardExport&& other) noexcept
    : folder_(std::move(other.folder_)),
      name_(std::exchange(other.name_, {})),
      next_(other.next_),
      copied_(other.copied_) {}

ShardExport::~ShardExport() {
  if (name_.empty()) return;
  const auto owner = ReadOwner(WithSuffix(".owner"));
  std::error_code ignored;
  if (owner && owner->host == HostName() && owner->pid == getpid()) {
    fs::remove(WithSuffix(".owner"), ignored);
  }
}

Result<std::optional<ShardExport>> PrepareExport(const RunRequest& request, Journal& journal) {
  if (request.export_folder.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(auto claimed,
                   ShardExport::Claim(request.export_folder, request.shard.value_or(Shard{})));
  std::error_code error;
  if (journal.last_sequence() == 0 && fs::exists(claimed.copy(), error)) {
    ASSIGN_OR_RETURN(auto earlier, JournalReader::Open(claimed.copy()));
    RETURN_IF_ERROR(MergeJournal(earlier, claimed.outputs(), journal));
  }
  return std::optional<ShardExport>(std::move(claimed));
}

Status ShardExport::CheckOwner() const {
  const fs::path file = WithSuffix(".owner");
  const auto owner = ReadOwner(file);
  if (!owner) return {};
  const bool is_here = owner->host == HostName();
  if (is_here && (owner->pid == getpid() || (kill(owner->pid, 0) != 0 && errno == ESRCH)))
    return {};
  const auto age = AgeOf(file);
  if (!age || *age > kOwnerTimeout) return {};
  return Fail(Error::Code::kUnavailable,
              "{} is run by process {} on {}, as of {} s ago; wait until it ends, or remove {} if "
              "that machine is gone",
              name_, owner->pid, owner->host,
              std::chrono::duration_cast<std::chrono::seconds>(*age).count(), file.string());
}

Status ShardExport::WriteOwner() const {
  return WriteFile(WithSuffix(".owner"), fmt::format("{} {}\n", HostName(), getpid()));
}

Status ShardExport::Write(const JobFolder& job, Journal& journal, Nanoseconds now) {
  next_ = now + kInterval;
  RETURN_IF_ERROR(WriteOwner());
  if (journal.last_sequence() == copied_ && !journal.dirty()) return {};
  // On the local disk first: SQLite writes in places, which shared file systems are slow at.
  const fs::path local = job.path() / "export.db";
  std::error_code ignored;
  fs::remove(local, ignored);
  RETURN_IF_ERROR(journal.CopyTo(local));
  Status copied = CopyFile(local, copy());
  if (copied && fs::exists(job.commands(), ignored)) {
    copied = CopyFile(job.commands(), folder_ / "commands.json");
  }
  fs::remove(local, ignored);
  if (copied) copied_ = journal.last_sequence();
  return copied;
}

}  // namespace reveza::jobs
