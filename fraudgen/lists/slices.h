// Lists sorted by group, such as the cities of a state or the merchants of a category, with the
// slice of each group computed at compile time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace reveza::fraudgen::lists {

struct Slice {
  uint16_t first = 0;
  uint16_t count = 0;
};

// Returns the slice of each group. `belongs(row, group)` says whether a row is in a group. Fails to
// compile if a group is empty or the rows are not sorted by group.
template <std::size_t kGroups, typename Rows, typename Belongs>
consteval std::array<Slice, kGroups> SlicesOf(const Rows& rows, const Belongs& belongs) {
  std::array<Slice, kGroups> slices{};
  std::size_t row = 0;
  for (std::size_t group = 0; group < kGroups; ++group) {
    slices[group].first = static_cast<uint16_t>(row);
    while (row < rows.size() && belongs(rows[row], group)) ++row;
    slices[group].count = static_cast<uint16_t>(row - slices[group].first);
    if (slices[group].count == 0) throw "empty group";
  }
  if (row != rows.size()) throw "rows not sorted by group";
  return slices;
}

// Returns one member of every row, such as the categories of a column.
template <typename Value, typename Rows, typename Member>
consteval auto MemberOf(const Rows& rows, Member member) {
  std::array<Value, std::tuple_size_v<Rows>> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = rows[i].*member;
  return values;
}

// Returns the index among `names` of one member of every row.
template <typename Names, typename Rows, typename Member>
consteval auto IndexesIn(const Names& names, const Rows& rows, Member member) {
  std::array<uint16_t, std::tuple_size_v<Rows>> indexes{};
  for (std::size_t i = 0; i < indexes.size(); ++i) {
    while (names[indexes[i]] != rows[i].*member) ++indexes[i];
  }
  return indexes;
}

template <typename Rows>
constexpr auto Part(const Rows& rows, Slice slice) {
  return std::span(rows).subspan(slice.first, slice.count);
}

}  // namespace reveza::fraudgen::lists
