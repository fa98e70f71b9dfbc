// Parses and formats the values of settings. kInvalidArgument names the valid values. Pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "fraudgen/model/blocks.h"
#include "fraudgen/model/defects/defect_plan.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen {

Result<uint64_t> ParseCount(std::string_view text, uint64_t min, uint64_t max);
// Parses true or false.
Result<bool> ParseFlag(std::string_view text);
// Parses a size as ParseBytes in base/units.h does, but rejects 0.
Result<Bytes> ParseSize(std::string_view text);
// Parses 0.02 or 2%.
Result<Share> ParseShare(std::string_view text);
// Parses easy, medium, hard or a number from 0 to 1 with up to three places. Returns thousandths.
Result<uint32_t> ParseDifficulty(std::string_view text);
// Parses a list of kinds with optional shares (late=0.01,duplicate), or none.
Result<DefectRates> ParseDefects(std::string_view text);
// Returns the index of `text` in `words`.
Result<std::size_t> ParseWord(std::string_view text, std::span<const std::string_view> words);

std::string ShowShare(Share share);
// Formats for ParseSize, in the largest unit without a fraction: "10GB", "1234B".
std::string ShowSize(Bytes bytes);
std::string ShowDifficulty(uint32_t thousandths);
// Returns "" if there are none.
std::string ShowDefects(const DefectRates& rates);
// Returns "" for nullopt.
std::string ShowDate(const std::optional<CivilDate>& date);

}  // namespace reveza::fraudgen
