// Whether the disk of the outputs has room. Thread-safe.
#pragma once

#include <string>

namespace reveza::jobs {

// Returns whether the file system has free blocks; true if that is unknown.
bool HasFreeBlocks(const std::string& folder);

// Returns whether writes to these files, in one folder, may have failed just now: the disk is full,
// or the user's quota.
bool MayHaveLostOutput(const std::string& output, const std::string& errors);

}  // namespace reveza::jobs
