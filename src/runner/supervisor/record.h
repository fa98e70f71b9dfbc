// A supervisor's own record: what it started and what came of it, appended before anybody is told.
// The runner may die; what happened is known from here.
//
// A file: 8 bytes "RVZREC01", the boot id of 16 bytes, then entries of {u32 size of the body, u32
// checksum of the body (XXH32, seed 0), body}; docs/journal-format.md has the bodies. One entry is
// one write, so a supervisor that is killed leaves whole entries, and at most its last one is cut.
//
// Part of the supervisor: libc, xxHash's header and header-only C++ only. Thread-safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "runner/supervisor/attempt.h"

namespace reveza::runner {

using BootId = std::array<std::uint8_t, 16>;

// Of this boot; all zero where the system does not say.
BootId ReadBootId(const char* path = "/proc/sys/kernel/random/boot_id");

struct AttemptStarted {
  AttemptName name;
  WallTime at = 0;
  std::string label;
  std::string output;  // the files that it writes to
  std::string errors;
};

using RecordEntry = std::variant<AttemptStarted, CycleResult, AttemptResult>;

std::string PackEntry(const RecordEntry& entry);

class RecordWriter {
 public:
  // Creates the file, which must not be there, and locks it: the lock is on a descriptor that
  // children inherit, so it is held for as long as one of them lives.
  static Result<RecordWriter> Create(const std::string& path);

  // One write. An error (a full disk) leaves what was there; a torn entry is cut off again, now or
  // before the next one.
  Status Append(const RecordEntry& entry);

  int lock_descriptor() const { return lock_.get(); }

 private:
  RecordWriter(UniqueFd file, UniqueFd lock) : file_(std::move(file)), lock_(std::move(lock)) {}

  Status CutOff();

  UniqueFd file_;
  UniqueFd lock_;
  std::int64_t size_ = 0;  // of whole entries
  bool torn_ = false;      // half an entry is behind them
};

struct Record {
  BootId boot{};
  std::vector<RecordEntry> entries;
  std::uint64_t cut_bytes = 0;  // behind the last whole entry
};

// Everything up to the first entry that is cut or damaged. An error where it is no record at all.
Result<Record> ReadRecord(const std::string& path);
Result<Record> ParseRecord(std::string_view bytes);

// Whether a supervisor, or a step that it has started, still lives. An error where that cannot be
// seen now: then nobody may take them for ended.
Result<bool> IsHeld(const std::string& path);

}  // namespace reveza::runner
