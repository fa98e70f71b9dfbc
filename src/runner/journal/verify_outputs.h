// After a power cut, what the journal says may be newer than what is on the disk: SQLite's log of
// the last seconds may have been written before the outputs were. So after a reboot the outputs of
// what was noted since the last barrier are compared with the size and hash that they had.
// Thread-safety: none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "runner/journal/journal.h"

namespace reveza::runner {

// In the journal: the sequence of the last attempt before the barrier.
inline constexpr const char* kBarrier = "barrier";

struct Verified {
  std::uint64_t looked_at = 0;
  std::uint64_t lost = 0;  // their steps wait again
};

// Looks at what was noted after the barrier in an earlier boot, and sets the barrier. An error also
// where an output cannot be looked at for a reason that somebody can mend (kPermission,
// kExhausted): its step does not run again for that.
Result<Verified> VerifyOutputs(Journal& journal, const std::filesystem::path& outputs,
                               const BootId& now);

// Whether outputs are where a power cut leaves them; else why not, and the barrier is where it was.
struct Lasting {
  std::optional<Error> refused = {};
};

// Makes all outputs that were noted after the barrier last, and sets it: what is before it needs
// no look after a power cut. An error is one of the journal. Once refused it is not to be asked
// again: a second call says nothing of what the first has lost.
Result<Lasting> SetBarrier(Journal& journal, const std::filesystem::path& outputs);

// Of the last megabyte of each of the two outputs of an attempt, `files` with ".out" and ".err"
// behind it; 0 where both are empty or gone. An error as VerifyOutputs has it.
Result<std::uint64_t> HashOfOutputs(const std::filesystem::path& files,
                                    const AttemptResult& result);

}  // namespace reveza::runner
