// Detects network file systems, on which synchronisation by shared memory (SQLite's WAL) is unsafe.
// Pure functions of the system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace reveza::platform {

// Returns the name of the network file system of `path`, such as "NFS"; nullopt if it is local or
// unknown.
std::optional<std::string_view> NetworkFileSystem(const std::filesystem::path& path);

// Like NetworkFileSystem(), for `f_type` of statfs(2); the numbers are in linux/magic.h or in the
// source of each file system.
std::optional<std::string_view> NetworkFileSystemOf(std::uint32_t type);

}  // namespace reveza::platform
