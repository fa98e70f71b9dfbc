// Whether the disk of the outputs has room. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/platform/free_bytes.h"

namespace reveza::jobs {

// Knows the free space of the folder that it was asked about last. A reading of much space is good
// for a moment, in which nothing can fill it: many steps are briefer than that.
class DiskSpace {
 public:
  static constexpr std::int64_t kMaxAge = 20'000'000;             // ns
  static constexpr std::uint64_t kMuch = std::uint64_t{1} << 30;  // bytes

  using Read = std::function<std::optional<std::uint64_t>(const std::string& folder)>;
  explicit DiskSpace(Read read = platform::FreeBytes) : read_(std::move(read)) {}

  // Returns whether the file system has free blocks; true if that is unknown. `now`: monotonic.
  bool HasRoom(const std::string& folder, std::int64_t now);

 private:
  Read read_;
  std::string folder_;
  std::optional<std::int64_t> much_at_;  // when there was much space
};

// Returns whether a write to files in this folder would fail for lack of space although the file
// system has free blocks: at the user's quota.
bool IsAtQuota(const std::string& folder);

}  // namespace reveza::jobs
