// The record of a supervisor: a log of attempts, cycles and results, written before the runner is
// notified, so that nothing is lost if the runner dies.
//
// File format: "RVZREC01", the boot id (16 bytes), then entries {u32 body size, u32 body checksum
// (XXH32, seed 0), body}; docs/journal-format.md describes the bodies. Each entry is a single
// write, so at most the last entry of a killed supervisor is torn.
// Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/error.h"
#include "common/base/unique_fd.h"
#include "reveza/jobs/supervisor/attempt.h"

namespace reveza::jobs {

using BootId = std::array<std::uint8_t, 16>;

// Returns the id of the current boot; all zero if unavailable.
BootId ReadBootId(const char* path = "/proc/sys/kernel/random/boot_id");

struct AttemptStarted {
  AttemptName name;
  WallTime at = 0;
  std::string label;
  std::string output;  // paths of its output files
  std::string errors;
};
auto Fields(MaybeConst<AttemptStarted> auto& started) {
  return std::tie(started.name, started.at, started.label, started.output, started.errors);
}

using RecordEntry = std::variant<AttemptStarted, CycleResult, AttemptResult>;

std::string PackEntry(const RecordEntry& entry);

class RecordWriter {
 public:
  // Creates and locks the file; fails if it exists. Children inherit the lock's descriptor, so the
  // lock is held as long as any of them lives.
  static Result<RecordWriter> Create(const std::string& path);

  // Appends an entry with a single write. After an error (e.g. a full disk) a torn entry is
  // truncated at once, or before the next Append().
  Status Append(const RecordEntry& entry);

 private:
  RecordWriter(UniqueFd file, UniqueFd lock) : file_(std::move(file)), lock_(std::move(lock)) {}

  Status TruncateTornEntry();

  UniqueFd file_;
  UniqueFd lock_;
  std::int64_t size_ = 0;  // up to the last complete entry
  bool torn_ = false;      // a torn entry follows
};

struct Record {
  BootId boot{};
  std::vector<RecordEntry> entries;
  std::uint64_t trailing_bytes = 0;  // after the last valid entry
};

// Return the entries before the first torn or damaged one. kIncompatible: not a record.
Result<Record> ReadRecord(const std::string& path);
Result<Record> ParseRecord(std::string_view bytes);

// Returns whether the supervisor or a process of its steps is alive. On an error this is unknown,
// and callers must not assume that they have exited.
Result<bool> IsHeld(const std::string& path);

}  // namespace reveza::jobs
