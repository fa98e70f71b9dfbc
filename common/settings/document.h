// A document tree parsed from TOML or JSON that keeps the source location of every key and value.
// Pure functions.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace reveza {

// Line and column count from 1; columns count characters, not bytes.
struct SourceLocation {
  std::size_t line = 1;
  std::size_t column = 1;

  auto operator<=>(const SourceLocation&) const = default;
};

struct Member;

struct Node {
  enum class Kind { kString, kInteger, kFloat, kBoolean, kArray, kTable, kOther };
  Kind kind = Kind::kOther;
  SourceLocation location;
  std::string text;             // of a scalar: 5, 0.25, true, 2026-11-22, or the string's contents
  std::vector<Node> items;      // of an array
  std::vector<Member> members;  // of a table, in file order
};

struct Member {
  std::string key;
  SourceLocation location;
  Node value;
};

// Parse a document; the root is a table. A byte order mark is skipped. kInvalidArgument messages
// begin with "name:line:column: ".
Result<Node> ParseToml(std::string_view text, std::string_view name);
Result<Node> ParseJson(std::string_view text, std::string_view name);

struct FileSetting {
  std::size_t line = 0;
  std::string key;  // table.key
  std::string value;
};

// Parses TOML whose values are single numbers, dates, booleans or strings. Returns them in file
// order; floats without an exponent. kInvalidArgument messages begin with "name:line: ".
Result<std::vector<FileSetting>> ParseSettings(std::string_view text, std::string_view name);
// Does the same with a parsed document.
Result<std::vector<FileSetting>> SettingsOf(const Node& root, std::string_view name);

inline constexpr std::string_view kNulByteError = "a NUL byte cannot be part of a value";

// Returns kInvalidArgument with the message "name:line:column: what".
std::unexpected<Error> ErrorAt(std::string_view name, const SourceLocation& location,
                               std::string_view what);

}  // namespace reveza
