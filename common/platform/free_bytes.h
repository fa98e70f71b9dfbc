// The room on a disk. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace reveza::platform {

// Returns the bytes of a folder's file system that this user may still write; nullopt if they are
// unknown, or it has no size.
std::optional<std::uint64_t> FreeBytes(const std::string& folder);

}  // namespace reveza::platform
