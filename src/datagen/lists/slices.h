// Lists whose rows belong to groups and stand in the order of the groups: the cities of a state,
// the merchants of a category. Where each group begins is found by the compiler.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace reveza::datagen::lists {

struct Slice {
  uint16_t first = 0;
  uint16_t count = 0;
};

// `belongs(row, group)`: whether the row is one of the group's. Does not compile if a group has no
// row, or if a row is where it does not belong.
template <std::size_t kGroups, typename Rows, typename Belongs>
consteval std::array<Slice, kGroups> SlicesOf(const Rows& rows, const Belongs& belongs) {
  std::array<Slice, kGroups> slices{};
  std::size_t row = 0;
  for (std::size_t group = 0; group < kGroups; ++group) {
    slices[group].first = static_cast<uint16_t>(row);
    while (row < rows.size() && belongs(rows[row], group)) ++row;
    slices[group].count = static_cast<uint16_t>(row - slices[group].first);
    if (slices[group].count == 0) throw "a group without rows";
  }
  if (row != rows.size()) throw "a row out of the order of the groups";
  return slices;
}

// One member of every row, as a list of its own: what a column of the schema may be.
template <typename Value, typename Rows, typename Member>
consteval auto MemberOf(const Rows& rows, Member member) {
  std::array<Value, std::tuple_size_v<Rows>> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = rows[i].*member;
  return values;
}

template <typename Rows>
constexpr auto Part(const Rows& rows, Slice slice) {
  return std::span(rows).subspan(slice.first, slice.count);
}

}  // namespace reveza::datagen::lists
