#include "runner/journal/verify_outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>

#include "base/system_error.h"
#include "base/unique_fd.h"

namespace reveza::runner {
namespace {

namespace fs = std::filesystem;

Result<std::int64_t> Barrier(Journal& journal) {
  const auto text = journal.Get(kBarrier);
  if (!text) return std::unexpected(text.error());
  std::int64_t sequence = 0;
  if (*text) std::from_chars((*text)->data(), (*text)->data() + (*text)->size(), sequence);
  return sequence;
}

// All others are of whoever looks, or of a disk that is away: what is done is not run again for
// that.
bool IsGone(int error) { return error == ENOENT || error == ENOTDIR; }

std::unexpected<Error> CannotLook(const fs::path& file, int error) {
  return std::unexpected(SystemError("cannot look at the output " + file.string(), error));
}

Result<bool> HasSize(const fs::path& file, std::uint64_t size) {
  struct stat info{};
  if (stat(file.c_str(), &info) != 0) {
    if (!IsGone(errno)) return CannotLook(file, errno);
    // An empty output is removed by the supervisor.
    return size == 0;
  }
  return static_cast<std::uint64_t>(info.st_size) == size;
}

// What a runner has not looked at when it ended (it comes from a record) has no hash: nobody knows
// whether it is as it was.
Result<bool> AreAsTheyWere(const std::string& files, const AttemptEntry& attempt) {
  const auto output = HasSize(files + ".out", attempt.result.output_bytes);
  if (!output || !*output) return output;
  const auto error = HasSize(files + ".err", attempt.result.error_bytes);
  if (!error || !*error) return error;
  const auto hash = HashOfOutputs(files, attempt.result);
  if (!hash) return std::unexpected(hash.error());
  return *hash == attempt.extra.output_hash;
}

// What is not there needs no disk; who took it away knows.
Status Synchronize(const fs::path& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return {};
  // Some file systems have nothing to do for a folder, and say so.
  if (file && (fsync(file.get()) == 0 || errno == EINVAL || errno == ENOTSUP)) return {};
  return std::unexpected(SystemError("cannot make " + path.string() + " last", errno));
}

// 0 for an empty file or none.
Result<std::uint64_t> HashOf(const fs::path& file, std::uint64_t size) {
  constexpr std::uint64_t kMost = 1u << 20;
  if (size == 0) return 0;
  const UniqueFd descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor && !IsGone(errno)) return CannotLook(file, errno);
  if (!descriptor) return 0;
  std::string bytes(std::min(size, kMost), '\0');
  const ssize_t got =
      pread(descriptor.get(), bytes.data(), bytes.size(), static_cast<off_t>(size - bytes.size()));
  if (got < 0) return CannotLook(file, errno);
  return got > 0 ? XXH3_64bits(bytes.data(), static_cast<std::size_t>(got)) : 0;
}

}  // namespace

Result<std::uint64_t> HashOfOutputs(const fs::path& files, const AttemptResult& result) {
  const auto output = HashOf(files.string() + ".out", result.output_bytes);
  if (!output) return output;
  const auto error = HashOf(files.string() + ".err", result.error_bytes);
  if (!error) return error;
  const std::uint64_t hashes[] = {*output, *error};
  if (hashes[0] == 0 && hashes[1] == 0) return 0;
  return XXH3_64bits(hashes, sizeof(hashes));
}

Result<Verified> VerifyOutputs(Journal& journal, const fs::path& outputs, const BootId& now) {
  const auto barrier = Barrier(journal);
  if (!barrier) return std::unexpected(barrier.error());
  const auto attempts = journal.AttemptsAfter(*barrier);
  if (!attempts) return std::unexpected(attempts.error());
  Verified verified;
  std::int64_t last = *barrier;
  for (const auto& attempt : *attempts) {
    if (attempt.extra.boot == now) continue;
    last = std::max(last, attempt.sequence);
    if (attempt.result.outcome != Outcome::kSuccess) continue;
    const auto step = journal.Find(attempt.result.name.identity);
    if (!step) return std::unexpected(step.error());
    if (!*step || (*step)->state != StepState::kDone) continue;
    ++verified.looked_at;
    const std::string files = (outputs / (*step)->files).string();
    const auto same = AreAsTheyWere(files, attempt);
    if (!same) return std::unexpected(same.error());
    if (*same) continue;
    ++verified.lost;
    if (auto forgotten = journal.Forget(attempt.result.name.identity); !forgotten) {
      return std::unexpected(forgotten.error());
    }
  }
  if (last != *barrier) {
    if (auto set = journal.Set(kBarrier, std::to_string(last)); !set) {
      return std::unexpected(set.error());
    }
  }
  return verified;
}

Result<Lasting> SetBarrier(Journal& journal, const fs::path& outputs) {
  const auto barrier = Barrier(journal);
  if (!barrier) return std::unexpected(barrier.error());
  const auto attempts = journal.AttemptsAfter(*barrier);
  if (!attempts) return std::unexpected(attempts.error());
  if (attempts->empty()) return Lasting{};
  std::set<fs::path> folders = {outputs};
  for (const auto& attempt : *attempts) {
    const auto step = journal.Find(attempt.result.name.identity);
    if (!step) return std::unexpected(step.error());
    if (!*step) continue;
    const fs::path files = outputs / (*step)->files;
    Status done;
    if (attempt.result.output_bytes > 0) done = Synchronize(files.string() + ".out");
    if (done && attempt.result.error_bytes > 0) done = Synchronize(files.string() + ".err");
    if (!done) return Lasting{done.error()};
    folders.insert(files.parent_path());
  }
  for (const auto& folder : folders) {
    if (auto done = Synchronize(folder); !done) return Lasting{done.error()};
  }
  if (auto set = journal.Set(kBarrier, std::to_string(attempts->back().sequence)); !set) {
    return std::unexpected(set.error());
  }
  if (auto committed = journal.Commit(); !committed) return std::unexpected(committed.error());
  return Lasting{};
}

}  // namespace reveza::runner
