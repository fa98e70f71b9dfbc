// For tests: a machine whose power can be cut and whose clock can be set, without touching the real
// one. The program that links it has its own fsync, fdatasync, clock_gettime and statfs, which all
// of Reveza and SQLite in it then call. Thread-safety: none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <random>
#include <string>

namespace reveza::testing {

// What a disk has of files that were written to it: what was synchronised, and, of the rest,
// nobody knows how much.
enum class Survives {
  kNothing,  // of what was not synchronised
  kSome,     // pieces of it, by chance
};

// Copies the folder as it would be found after the power had failed now.
void CutPower(const std::filesystem::path& from, const std::filesystem::path& to, Survives survives,
              std::mt19937& random);

// Called when a file has been synchronised, with its path; empty: nobody is told.
void OnSynchronised(std::function<void(const std::string& path)> listener);

// The next time that a file of such an ending is synchronised, its disk refuses (EIO).
void RefuseToSynchronise(std::string ending);

// Nanoseconds that the clock of the day is ahead, here and in children that have the same main.
void SetClock(std::int64_t ahead);

// What statfs says of every folder; 0: the truth.
void SetFileSystem(std::uint32_t type);

}  // namespace reveza::testing
