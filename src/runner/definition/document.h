// A file of keys and values, TOML or JSON, with the place of everything in it.
// Thread-safety: pure functions of their arguments.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace reveza::runner {

// Both from 1; columns are characters.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;

  auto operator<=>(const Place&) const = default;
};

struct Member;

struct Node {
  enum class Kind { kText, kWhole, kNumber, kBoolean, kList, kTable, kOther };
  Kind kind = Kind::kOther;
  Place place;
  std::string text;             // of a single value: 5, 0.25, true, or the text itself
  std::vector<Node> items;      // of a list
  std::vector<Member> members;  // of a table, in the order of the file
};

struct Member {
  std::string key;
  Place place;
  Node value;
};

// The table that the whole text is. kInvalidArgument: "name:line:column: " and what is wrong.
Result<Node> ParseToml(std::string_view text, std::string_view name);
Result<Node> ParseJson(std::string_view text, std::string_view name);

// Why a text with a zero byte in it is refused.
inline constexpr std::string_view kZeroInText = "a zero byte cannot be part of a command";

// An error at a place of the file `name`.
std::unexpected<Error> WrongAt(std::string_view name, const Place& place, std::string_view what);

}  // namespace reveza::runner
