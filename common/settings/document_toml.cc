// toml++ 3.3 fails an assertion on some invalid input, and continues with an inconsistent state
// when assertions are disabled. In this file its assertions and errors throw, in every build.
// Renaming the library's namespace avoids ODR violations with other translation units that use it.
#undef NDEBUG
namespace reveza {
struct TomlAssertionFailed {};
[[noreturn]] static void ThrowAssertionFailed() { throw TomlAssertionFailed(); }
}  // namespace reveza
#define TOML_ASSERT(expression) \
  (static_cast<bool>(expression) ? static_cast<void>(0) : reveza::ThrowAssertionFailed())
#define TOML_EXCEPTIONS 1
#define TOML_HEADER_ONLY 1
#define toml toml_that_throws
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/settings/document.h"
#include "common/settings/toml_check.h"

namespace reveza {
namespace {

constexpr unsigned kMaxTomlDepth = 32;

SourceLocation LocationOf(const toml::source_position& position) {
  return {.line = position.line, .column = position.column};
}

Result<Node> Convert(const toml::node& from, std::string_view name, unsigned depth) {
  Node node;
  node.location = LocationOf(from.source().begin);
  if (depth > kMaxTomlDepth) return ErrorAt(name, node.location, "nested too deeply");
  if (const auto* text = from.as_string()) {
    node.kind = Node::Kind::kString;
    node.text = text->get();
    if (node.text.contains('\0')) return ErrorAt(name, node.location, kNulByteError);
  } else if (const auto* whole = from.as_integer()) {
    node.kind = Node::Kind::kInteger;
    node.text = fmt::format("{}", whole->get());
  } else if (const auto* number = from.as_floating_point()) {
    node.kind = Node::Kind::kFloat;
    node.text = fmt::format("{}", number->get());
  } else if (const auto* boolean = from.as_boolean()) {
    node.kind = Node::Kind::kBoolean;
    node.text = boolean->get() ? "true" : "false";
  } else if (const auto* list = from.as_array()) {
    node.kind = Node::Kind::kArray;
    node.items.reserve(list->size());
    for (const toml::node& item : *list) {
      auto converted = Convert(item, name, depth + 1);
      if (!converted) return converted;
      node.items.push_back(*std::move(converted));
    }
  } else if (const auto* table = from.as_table()) {
    node.kind = Node::Kind::kTable;
    for (const auto& [key, value] : *table) {
      auto converted = Convert(value, name, depth + 1);
      if (!converted) return converted;
      node.members.push_back({.key = std::string(key.str()),
                              .location = LocationOf(key.source().begin),
                              .value = *std::move(converted)});
    }
    // The library sorts keys by name; restore file order.
    std::ranges::sort(node.members, {}, &Member::location);
  } else if (const auto* date = from.as_date()) {
    node.text =
        fmt::format("{:04}-{:02}-{:02}", date->get().year, date->get().month, date->get().day);
  }
  return node;
}

// Returns whether the library fails an assertion on the text.
bool FailsAssertion(std::string_view text) {
  try {
    static_cast<void>(toml::parse(text));
  } catch (const TomlAssertionFailed&) {
    return true;
  } catch (const toml::parse_error&) {
    return false;
  }
  return false;
}

// Returns the first line whose inclusion fails an assertion. The parser reads front to back, so all
// longer prefixes fail too, and binary search applies.
std::size_t FirstFailingLine(std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1)) {
    ends.push_back(at + 1);
  }
  const auto first = std::ranges::partition_point(
      ends, [&](std::size_t end) { return !FailsAssertion(text.substr(0, end)); });
  return static_cast<std::size_t>(first - ends.begin()) + 1;
}

// Returns the shortest text of a number that has no exponent.
std::string WithoutExponent(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  std::array<char, 400> buffer{};  // 1.8e308 has 309 digits
  const auto [end, error] =
      std::to_chars(buffer.begin(), buffer.end(), value, std::chars_format::fixed);
  return error == std::errc() ? std::string(buffer.begin(), end) : text;
}

Status Flatten(const Node& table, const std::string& prefix, std::string_view name,
               std::vector<FileSetting>& settings) {
  for (const Member& member : table.members) {
    const Node& value = member.value;
    const std::string key = prefix + member.key;
    const bool is_control =
        std::ranges::any_of(value.text, [](char c) { return static_cast<unsigned char>(c) < ' '; });
    if (value.kind == Node::Kind::kTable) {
      RETURN_IF_ERROR(Flatten(value, key + ".", name, settings));
    } else if (value.text.empty() && value.kind != Node::Kind::kString) {
      return InvalidArgument(
          "{}:{}: {} must be a single value: a number, a date, true, false or a \"quoted string\"",
          name, member.location.line, key);
    } else if (is_control) {
      return InvalidArgument("{}:{}: {} contains a control character", name, value.location.line,
                             key);
    } else {
      settings.push_back(
          {member.location.line, key,
           value.kind == Node::Kind::kFloat ? WithoutExponent(value.text) : value.text});
    }
  }
  return {};
}

}  // namespace

Result<std::vector<FileSetting>> ParseSettings(std::string_view text, std::string_view name) {
  ASSIGN_OR_RETURN(const Node root, ParseToml(text, name));
  std::vector<FileSetting> settings;
  RETURN_IF_ERROR(Flatten(root, "", name, settings));
  std::ranges::stable_sort(settings, {}, &FileSetting::line);
  return settings;
}

std::unexpected<Error> ErrorAt(std::string_view name, const SourceLocation& location,
                               std::string_view what) {
  return InvalidArgument("{}:{}:{}: {}", name, location.line, location.column, what);
}

Result<Node> ParseToml(std::string_view text, std::string_view name) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (const auto location = FindUnsupportedToml(text)) {
    return ErrorAt(name, *location, "unexpected character; quote strings as a whole");
  }
  try {
    const toml::table table = toml::parse(text);
    auto node = Convert(table, name, 0);
    if (node) node->location = {};
    return node;
  } catch (const toml::parse_error& error) {
    return ErrorAt(name, LocationOf(error.source().begin), error.description());
  } catch (const TomlAssertionFailed&) {
    return ErrorAt(name, {.line = FirstFailingLine(text), .column = 1},
                   "not valid TOML; expected key = value, or [table]");
  } catch (const std::exception& error) {
    return ErrorAt(name, {}, error.what());
  }
}

}  // namespace reveza
