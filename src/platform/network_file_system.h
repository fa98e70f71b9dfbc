// Whether a folder is on a file system that other machines may write to as well. What keeps several
// processes apart by memory that they share (SQLite's log) is not safe there.
// Thread-safety: pure functions of the system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace reveza::platform {

// "NFS"; nothing: it is on a disk of this machine, in its memory, or cannot be asked.
std::optional<std::string_view> NetworkFileSystem(const std::filesystem::path& path);

// The same of `f_type` of statfs(2), whose numbers are in linux/magic.h or in the source of each.
std::optional<std::string_view> NetworkFileSystemOf(std::uint32_t type);

}  // namespace reveza::platform
