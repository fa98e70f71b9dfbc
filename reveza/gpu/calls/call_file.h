// The file that this process writes, in blocks that are mapped: what has been written stays
// written, however the process ends. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reveza/gpu/calls/format.h"

namespace reveza::calls {

// Returns whether calls are to be recorded. Opens the file the first time: that of
// REVEZA_CALLS_FILE if this is the first process that does, else one with the number of the
// process appended. Reports on stderr if it fails.
bool IsRecording();

// Records that no more can be written, with the reason on stderr.
void StopRecording(const char* what, int error);

// The records of one thread. Used by that thread only.
class ThreadRecords {
 public:
  // Returns that of the calling thread; null if nothing is recorded, or in a signal handler that
  // interrupted a recording.
  static ThreadRecords* Acquire();
  void Release() { busy_ = false; }

  // Where a record is composed.
  unsigned char* scratch() { return scratch_; }
  static constexpr std::size_t kScratchBytes = 128 << 10;
  // Appends the record composed in scratch(). `sequence` is above that of the one before.
  void Append(std::size_t bytes, std::uint64_t sequence);

 private:
  friend struct ThreadRecordsDeleter;
  bool NewBlock(std::size_t bytes);
  void Unmap();

  unsigned generation_ = 0;  // of the process: that of the parent after a fork is not ours
  std::uint32_t thread_ = 0;
  bool busy_ = false;
  BlockHeader* block_ = nullptr;
  std::size_t next_bytes_ = kPage;
  std::uint64_t last_sequence_ = 0;
  unsigned char scratch_[kScratchBytes];
};

// Returns the next number in the order of all calls of the process.
std::uint64_t NextSequence();

}  // namespace reveza::calls
