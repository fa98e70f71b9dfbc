// The values of settings as people write them. Each refusal says what would be right. Pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "datagen/blocks.h"
#include "datagen/civil_time.h"
#include "datagen/defects/defect_rates.h"

namespace reveza::datagen {

Result<uint64_t> ParseCount(std::string_view text, uint64_t least, uint64_t most);
// true or false
Result<bool> ParseFlag(std::string_view text);
// As base/units.h has it, but not nothing.
Result<Bytes> ParseSize(std::string_view text);
// 0.02 or 2%.
Result<Share> ParseShare(std::string_view text);
// easy, medium, hard or a number from 0 to 1 with three places; in thousandths.
Result<uint32_t> ParseDifficulty(std::string_view text);
// late=0.01,duplicate: kinds and, where it is not the usual one, the share of rows of each. Or
// none.
Result<DefectRates> ParseDefects(std::string_view text);
// One of several words, by its place among them.
Result<std::size_t> ParseWord(std::string_view text, std::span<const std::string_view> words);

std::string ShowShare(Share share);
// As ParseSize reads it, in the largest unit that has no fraction: "10GB", "1234B".
std::string ShowSize(Bytes bytes);
std::string ShowDifficulty(uint32_t thousandths);
// Empty if there are none.
std::string ShowDefects(const DefectRates& rates);
// Empty if there is none.
std::string ShowDate(const std::optional<CivilDate>& date);

}  // namespace reveza::datagen
