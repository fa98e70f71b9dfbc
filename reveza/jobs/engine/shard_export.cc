#include "reveza/jobs/engine/shard_export.h"

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

}  // namespace

Result<ShardExport> ShardExport::Claim(const fs::path& folder, const Shard& shard,
                                       Nanoseconds interval) {
  const std::string name = NameOf(shard);
  std::error_code error;
  fs::create_directories(folder / name, error);
  if (error) {
    return Fail(Error::Code::kPermission,
                "--export: cannot create {}: {}; choose a writable folder", folder.string(),
                error.message());
  }
  ASSIGN_OR_RETURN(auto owner, OwnerFile::Claim(OwnerOf(folder, shard), name));
  return ShardExport(folder, name, interval, std::move(owner));
}

fs::path ShardExport::OwnerOf(const fs::path& folder, const Shard& shard) {
  return folder / (NameOf(shard) + ".owner");
}

Result<std::optional<ShardExport>> PrepareExport(const RunRequest& request, Journal& journal) {
  if (request.export_folder.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(auto claimed,
                   ShardExport::Claim(request.export_folder, request.shard.value_or(Shard{}),
                                      request.export_interval));
  std::error_code error;
  if (journal.last_sequence() == 0 && fs::exists(claimed.copy(), error)) {
    ASSIGN_OR_RETURN(auto earlier, JournalReader::Open(claimed.copy()));
    RETURN_IF_ERROR(MergeJournal(earlier, claimed.outputs(), journal));
  }
  return std::optional<ShardExport>(std::move(claimed));
}

Status ShardExport::Write(const JobFolder& job, Journal& journal, Nanoseconds now) {
  next_ = now + interval_;
  RETURN_IF_ERROR(owner_.Touch());
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
