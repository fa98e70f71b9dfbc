// Reads and parses small files, such as those of /proc and /sys, and lists folders. Unavailable
// values are nullopt, never 0. Needs only the C and C++ libraries, so that the static supervisor
// can use it. Pure functions of the files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"

namespace reveza::platform {

// Returns the whole file, or the rest of an open one; nullopt if reading fails at any point.
std::optional<std::string> ReadText(const std::filesystem::path& path);
std::optional<std::string> ReadText(int file);

// Writes a value to a file of the kernel, in one write. Returns 0 or errno.
int WriteKernelFile(const std::filesystem::path& path, std::string_view value);

// Returns the number at the beginning of the text; nullopt for "max" and "unlimited".
std::optional<std::uint64_t> ToNumber(std::string_view text);
std::optional<std::uint64_t> ReadNumber(const std::filesystem::path& path);

// Returns the number after `key` at the beginning of a line, separated by blanks.
std::optional<std::uint64_t> NumberOfKey(std::string_view text, std::string_view key);
// Converts it from KiB.
std::optional<Bytes> KibibytesOfKey(std::string_view text, std::string_view key);

// Splits a text into lines without line ends.
std::vector<std::string_view> Lines(std::string_view text);
// Removes and returns the first word, separated by blanks or line ends; "" at the end.
std::string_view NextWord(std::string_view& text);
// Splits a text at blanks.
std::vector<std::string_view> Words(std::string_view text);

// Parses a kernel list of CPUs such as "0-3,8" to ascending distinct numbers. nullopt for an
// invalid list.
std::optional<std::vector<unsigned>> ParseCpuList(std::string_view text);
// Counts its CPUs. nullopt for an invalid or empty list.
std::optional<unsigned> CountCpus(std::string_view text);

// Returns <root>/proc/<pid>; 0 is this process.
std::filesystem::path ProcessFolder(pid_t pid, const std::filesystem::path& root);

// Returns the paths of all entries, sorted by name. kNotFound if the folder does not exist; any
// other error if it cannot be read.
Result<std::vector<std::filesystem::path>> ListFolder(const std::filesystem::path& folder);

}  // namespace reveza::platform
