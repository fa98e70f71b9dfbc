// How much host memory this machine, and this container, can still give.
//
// The readers take the root of the file system, so that tests give them a tree of their own.
// Thread-safety: pure functions of the files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/bytes.h"

namespace reveza::platform {

// MemAvailable of /proc/meminfo. Nothing when it cannot be read.
std::optional<Bytes> AvailableMemory(const std::filesystem::path& root = "/");

// What the memory cgroup of this process and those above it still allow: the least of
// limit - usage, page cache that can be dropped not counted as used. Version 1 and 2. Nothing when
// there is no limit.
std::optional<Bytes> CgroupHeadroom(const std::filesystem::path& root = "/");

// The smaller of the two, of those that are known.
std::optional<Bytes> MemoryHeadroom(const std::filesystem::path& root = "/");

// How many processes the kernel has killed for memory since boot (/proc/vmstat; its own cgroups'
// limits included). Nothing where it does not count.
std::optional<std::uint64_t> OutOfMemoryKills(const std::filesystem::path& root = "/");

}  // namespace reveza::platform
