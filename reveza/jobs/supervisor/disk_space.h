// Whether the disk of the outputs has room. Thread-safe.
#pragma once

#include <string>

namespace reveza::jobs {

// Returns whether the file system has free blocks; true if that is unknown.
bool HasFreeBlocks(const std::string& folder);

// Returns whether writes to files in this folder may have failed just now: the disk is full, or the
// user's quota. `wrote`: something is in the files.
bool MayHaveLostOutput(const std::string& folder, bool wrote);

}  // namespace reveza::jobs
