// The journal's file: its tables, and the checksums of its rows. Private to the journal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "runner/journal/journal.h"
#include "runner/journal/sqlite.h"

namespace reveza::runner {

inline constexpr std::int64_t kJournalApplication = 0x52565A4A;  // "RVZJ"
inline constexpr std::int64_t kJournalVersion = 2;

// Makes the tables of an empty database; verifies one that has something in it.
Status PrepareFormat(Database& database, const std::filesystem::path& file);

std::int64_t SumOf(const StepEntry& step);
// Of a row of `meta`.
std::int64_t SumOfNote(std::string_view key, std::string_view value);
std::int64_t SumOf(const AttemptEntry& attempt);
std::int64_t SumOf(const CycleResult& cycle);

template <std::size_t N>
std::string_view AsText(const std::array<std::uint8_t, N>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace reveza::runner
