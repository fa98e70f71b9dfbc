// Verifies step outputs after a power failure. The journal may then be newer than the outputs, as
// SQLite's log may reach the disk before they do. So after a reboot the outputs of attempts
// recorded since the last barrier are compared with their recorded size and hash. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "common/base/error.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

// Journal key: sequence of the last attempt whose outputs were synced.
inline constexpr const char* kBarrierKey = "barrier";

struct VerifyResult {
  std::uint64_t checked = 0;
  std::uint64_t lost = 0;  // requeued, outputs missing or changed
};

// Verifies the outputs of attempts recorded after the barrier in an earlier boot, requeues steps
// with lost outputs, and advances the barrier. Fails without requeueing when an output cannot be
// read (kPermission, kExhausted).
Result<VerifyResult> VerifyOutputs(Journal& journal, const std::filesystem::path& outputs,
                                   const BootId& now);

// Return and keep the outputs of an attempt, as paths without ".out" and ".err". The last attempt
// of a step writes to `files`; when the next one starts, KeepOutputs renames its outputs by
// appending its number. kPermission, kExhausted: they cannot be renamed.
std::filesystem::path OutputsOfAttempt(const std::filesystem::path& files, std::uint32_t attempt,
                                       bool is_last);
Status KeepOutputs(const std::filesystem::path& files, std::uint32_t attempt);

// Result of syncing outputs; on `error` the barrier has not moved.
struct SyncResult {
  std::optional<Error> error = {};
};

// Syncs all outputs recorded after the barrier to disk and advances it; older outputs then need no
// verification. Returns an error for journal failures only. Do not call again after a failed sync:
// the kernel reports lost writes only once.
Result<SyncResult> AdvanceBarrier(Journal& journal, const std::filesystem::path& outputs);

// Hashes the last megabyte of both outputs of an attempt (`files`.out and `files`.err); 0 if both
// are empty or missing. Fails as VerifyOutputs does.
Result<std::uint64_t> HashOutputs(const std::filesystem::path& files, const AttemptResult& result);

}  // namespace reveza::jobs
