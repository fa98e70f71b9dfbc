#include "reveza/jobs/journal/verify_outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "common/base/error.h"
#include "common/base/parse_number.h"
#include "common/base/unique_fd.h"

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;

Result<std::int64_t> Barrier(Journal& journal) {
  ASSIGN_OR_RETURN(const auto text, journal.Get(kBarrierKey));
  return ParseNumber<std::int64_t>(text.value_or("")).value_or(0);
}

// Other errors may be temporary and must not cause a rerun.
bool IsMissing(int error) { return error == ENOENT || error == ENOTDIR; }

std::unexpected<Error> CannotReadOutput(const fs::path& file, int error) {
  return std::unexpected(SystemError("cannot read the output " + file.string(), error));
}

Result<bool> HasSize(const fs::path& file, std::uint64_t size) {
  struct stat info{};
  if (stat(file.c_str(), &info) != 0) {
    if (!IsMissing(errno)) return CannotReadOutput(file, errno);
    // The supervisor removes empty outputs.
    return size == 0;
  }
  return static_cast<std::uint64_t>(info.st_size) == size;
}

// Attempts imported from records have no hash, so their outputs never compare equal.
Result<bool> AreUnchanged(const std::string& files, const AttemptEntry& attempt) {
  const auto output = HasSize(files + ".out", attempt.result.output_bytes);
  if (!output || !*output) return output;
  const auto error = HasSize(files + ".err", attempt.result.error_bytes);
  if (!error || !*error) return error;
  ASSIGN_OR_RETURN(const auto hash, HashOutputs(files, attempt.result));
  return hash == attempt.extra.output_hash;
}

// Syncs a file or folder; a missing one needs no sync.
Status SyncPath(const fs::path& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return {};
  // Some file systems do not support fsync on folders.
  if (file && (fsync(file.get()) == 0 || errno == EINVAL || errno == ENOTSUP)) return {};
  return std::unexpected(SystemError("cannot sync " + path.string(), errno));
}

// Returns 0 for an empty or missing file.
Result<std::uint64_t> HashOf(const fs::path& file, std::uint64_t size) {
  constexpr std::uint64_t kMaxBytes = 1u << 20;
  if (size == 0) return 0;
  const UniqueFd descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor && !IsMissing(errno)) return CannotReadOutput(file, errno);
  if (!descriptor) return 0;
  std::string bytes(std::min(size, kMaxBytes), '\0');
  const ssize_t got =
      pread(descriptor.get(), bytes.data(), bytes.size(), static_cast<off_t>(size - bytes.size()));
  if (got < 0) return CannotReadOutput(file, errno);
  return got > 0 ? XXH3_64bits(bytes.data(), static_cast<std::size_t>(got)) : 0;
}

fs::path NumberedOutputs(const fs::path& files, std::uint32_t attempt) {
  return files.string() + "." + std::to_string(attempt);
}

}  // namespace

fs::path OutputsOfAttempt(const fs::path& files, std::uint32_t attempt, bool is_last) {
  const fs::path numbered = NumberedOutputs(files, attempt);
  std::error_code error;
  const auto exists = [&](const char* extension) {
    return fs::exists(numbered.string() + extension, error);
  };
  return is_last && !exists(".out") && !exists(".err") ? files : numbered;
}

Status KeepOutputs(const fs::path& files, std::uint32_t attempt) {
  const fs::path numbered = NumberedOutputs(files, attempt);
  for (const char* extension : {".out", ".err"}) {
    std::error_code error;
    fs::rename(files.string() + extension, numbered.string() + extension, error);
    if (!error || IsMissing(error.value())) continue;
    return std::unexpected(SystemError("cannot keep the output " + files.string(), error.value()));
  }
  return {};
}

Result<std::uint64_t> HashOutputs(const fs::path& files, const AttemptResult& result) {
  const auto output = HashOf(files.string() + ".out", result.output_bytes);
  if (!output) return output;
  const auto error = HashOf(files.string() + ".err", result.error_bytes);
  if (!error) return error;
  const std::uint64_t hashes[] = {*output, *error};
  if (hashes[0] == 0 && hashes[1] == 0) return 0;
  return XXH3_64bits(hashes, sizeof(hashes));
}

Result<VerifyResult> VerifyOutputs(Journal& journal, const fs::path& outputs, const BootId& now) {
  ASSIGN_OR_RETURN(const auto barrier, Barrier(journal));
  ASSIGN_OR_RETURN(const auto attempts, journal.AttemptsAfter(barrier));
  VerifyResult verified;
  std::int64_t last = barrier;
  for (const auto& attempt : attempts) {
    if (attempt.extra.boot == now) continue;
    last = std::max(last, attempt.sequence);
    if (attempt.result.outcome != Outcome::kSuccess) continue;
    ASSIGN_OR_RETURN(const auto step, journal.Find(attempt.result.name.identity));
    if (!step || step->state != StepState::kDone) continue;
    ++verified.checked;
    const auto number = attempt.result.name.attempt;
    const std::string files =
        OutputsOfAttempt(outputs / step->files, number, number == step->attempts).string();
    ASSIGN_OR_RETURN(const auto same, AreUnchanged(files, attempt));
    if (same) continue;
    ++verified.lost;
    RETURN_IF_ERROR(journal.Requeue(attempt.result.name.identity));
  }
  if (last != barrier) {
    RETURN_IF_ERROR(journal.Set(kBarrierKey, std::to_string(last)));
  }
  return verified;
}

Result<SyncResult> AdvanceBarrier(Journal& journal, const fs::path& outputs) {
  ASSIGN_OR_RETURN(const auto barrier, Barrier(journal));
  ASSIGN_OR_RETURN(const auto attempts, journal.AttemptsAfter(barrier));
  if (attempts.empty()) return SyncResult{};
  std::set<fs::path> folders = {outputs};
  for (const auto& attempt : attempts) {
    // Most steps of a brief program print nothing.
    if (attempt.result.output_bytes == 0 && attempt.result.error_bytes == 0) continue;
    ASSIGN_OR_RETURN(const auto step, journal.Find(attempt.result.name.identity));
    if (!step) continue;
    const auto number = attempt.result.name.attempt;
    const fs::path files =
        OutputsOfAttempt(outputs / step->files, number, number == step->attempts);
    Status done;
    if (attempt.result.output_bytes > 0) done = SyncPath(files.string() + ".out");
    if (done && attempt.result.error_bytes > 0) done = SyncPath(files.string() + ".err");
    if (!done) return SyncResult{done.error()};
    folders.insert(files.parent_path());
  }
  for (const auto& folder : folders) {
    if (auto done = SyncPath(folder); !done) return SyncResult{done.error()};
  }
  RETURN_IF_ERROR(journal.Set(kBarrierKey, std::to_string(attempts.back().sequence)));
  RETURN_IF_ERROR(journal.Commit());
  return SyncResult{};
}

}  // namespace reveza::jobs
