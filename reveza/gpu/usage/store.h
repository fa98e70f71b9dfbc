// The database of usage: one row per job and hour.
//
// Not thread-safe; several processes may use one file.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/platform/runtime_paths.h"
#include "common/sqlite/sqlite.h"
#include "reveza/gpu/usage/counters.h"

namespace reveza::usage {

using Hour = std::chrono::sys_time<std::chrono::hours>;

struct HourlyUsage {
  Hour hour;
  Usage usage;
};

// What a job used over a time.
struct JobUsage {
  Usage usage;
  Hour first;
  Hour last;
};

// Returns usage.db in the state folder (runtime_paths.h), where the daemon of a user writes.
Result<std::filesystem::path> DefaultFile(const platform::Environment& environment);

class Store {
 public:
  // Rows older than this are deleted when the file is opened to write.
  static constexpr std::chrono::days kRetention{800};

  // Creates the file and its folder if necessary. kIncompatible: made by a newer version, or no
  // database.
  static Result<Store> Open(const std::filesystem::path& file);
  // kNotFound: nothing was ever recorded.
  static Result<Store> OpenToRead(const std::filesystem::path& file);

  // Adds all or none.
  Status Add(std::span<const HourlyUsage> usages);
  // Returns the sums of each job from `since` on, in the order of their GPU time.
  Result<std::vector<JobUsage>> Since(Hour since);

 private:
  explicit Store(sqlite::Database database) : database_(std::move(database)) {}

  sqlite::Database database_;
};

}  // namespace reveza::usage
