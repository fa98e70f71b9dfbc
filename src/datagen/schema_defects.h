// The answer key of rows that are broken on purpose, as a table. Constant data, safe from any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "datagen/schema.h"

namespace reveza::datagen {

// The enumerators are the indices of their names, which are the values of a column.
enum class DefectKind : uint8_t { kLate, kDuplicate, kOutOfOrder, kNull, kSchema };
inline constexpr std::array<std::string_view, 5> kDefectKindNames = {
    "late", "duplicate", "outoforder", "null", "schema"};

// The tables that may be broken, of whichever model.
inline constexpr std::array<std::string_view, 2> kBreakableTables = {"transactions", "rides"};

extern const Table kDefects;

}  // namespace reveza::datagen
