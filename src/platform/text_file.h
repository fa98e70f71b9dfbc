// Small files of /proc and /sys as numbers. Nothing where there is none, never 0.
// Thread-safety: pure functions of the files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reveza::platform {

// The whole file; nothing also where reading it fails on the way.
std::optional<std::string> ReadText(const std::filesystem::path& path);

// The number with which the text begins; "max" and "unlimited" are none, and so nothing.
std::optional<std::uint64_t> ToNumber(std::string_view text);
std::optional<std::uint64_t> ReadNumber(const std::filesystem::path& path);

// The number behind `key` and blanks, where a line begins with them.
std::optional<std::uint64_t> NumberOfKey(std::string_view text, std::string_view key);

// The lines of a text, without their ends.
std::vector<std::string_view> Lines(std::string_view text);
// Its words, as blanks part them.
std::vector<std::string_view> Words(std::string_view text);

// <root>/proc/<pid>; 0 is this process.
std::filesystem::path ProcessFolder(pid_t pid, const std::filesystem::path& root);

}  // namespace reveza::platform
