// A simulated machine for tests: its power can be cut and its wall clock set. Overrides fsync,
// fdatasync, clock_gettime and statfs for the whole program, including SQLite. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <random>
#include <string>

namespace reveza::testing {

// Which unsynced writes survive a power cut; synced ones always do.
enum class Survives {
  kNothing,  // no unsynced write
  kSome,     // random blocks
};

// Copies the folder as it would be after a power cut now.
void CutPower(const std::filesystem::path& from, const std::filesystem::path& to, Survives survives,
              std::mt19937& random);

// Sets a listener for synced files; empty: none.
void OnSynchronised(std::function<void(const std::string& path)> listener);

// Makes the next sync of a file with this suffix fail with EIO.
void RefuseToSynchronise(std::string suffix);

// Sets the offset of the wall clock in nanoseconds, also for supervisors of this program.
void SetClock(std::int64_t ahead);

// Sets the type that statfs reports for every folder; 0: the actual one.
void SetFileSystem(std::uint32_t type);

}  // namespace reveza::testing
