// toml++ 3.3 trips over some text that is no TOML: it asserts where it should refuse, as fuzzing
// found, and without asserts it goes on with what cannot be. So here its asserts throw, in every
// build, and errors do; both end in this file. Where the library is used otherwise its functions
// have the same names, and the linker would take either: so here they have another.
#undef NDEBUG
namespace reveza::runner {
struct NotUnderstood {};
[[noreturn]] static void GiveUp() { throw NotUnderstood(); }
}  // namespace reveza::runner
#define TOML_ASSERT(expression) \
  (static_cast<bool>(expression) ? static_cast<void>(0) : reveza::runner::GiveUp())
#define TOML_EXCEPTIONS 1
#define TOML_HEADER_ONLY 1
#define toml toml_that_throws
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/definition/document.h"
#include "runner/definition/toml_check.h"

namespace reveza::runner {
namespace {

constexpr unsigned kDeepest = 32;

Place PlaceOf(const toml::source_position& position) {
  return {.line = position.line, .column = position.column};
}

Result<Node> Convert(const toml::node& from, std::string_view name, unsigned depth) {
  Node node;
  node.place = PlaceOf(from.source().begin);
  if (depth > kDeepest) return WrongAt(name, node.place, "too many tables within tables");
  if (const auto* text = from.as_string()) {
    node.kind = Node::Kind::kText;
    node.text = text->get();
    if (node.text.contains('\0')) return WrongAt(name, node.place, kZeroInText);
  } else if (const auto* whole = from.as_integer()) {
    node.kind = Node::Kind::kWhole;
    node.text = fmt::format("{}", whole->get());
  } else if (const auto* number = from.as_floating_point()) {
    node.kind = Node::Kind::kNumber;
    node.text = fmt::format("{}", number->get());
  } else if (const auto* boolean = from.as_boolean()) {
    node.kind = Node::Kind::kBoolean;
    node.text = boolean->get() ? "true" : "false";
  } else if (const auto* list = from.as_array()) {
    node.kind = Node::Kind::kList;
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
                              .place = PlaceOf(key.source().begin),
                              .value = *std::move(converted)});
    }
    // The library sorts keys by their names.
    std::ranges::sort(node.members, {}, &Member::place);
  }
  return node;
}

// Whether the library gives up on a text without saying where.
bool IsNotUnderstood(std::string_view text) {
  try {
    static_cast<void>(toml::parse(text));
  } catch (const NotUnderstood&) {
    return true;
  } catch (const toml::parse_error&) {
    return false;
  }
  return false;
}

// The first line with which it gives up: it reads from front to back, so it does with all that are
// longer.
std::size_t LineNotUnderstood(std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1)) {
    ends.push_back(at + 1);
  }
  const auto first = std::ranges::partition_point(
      ends, [&](std::size_t end) { return !IsNotUnderstood(text.substr(0, end)); });
  return static_cast<std::size_t>(first - ends.begin()) + 1;
}

}  // namespace

Result<Node> ParseToml(std::string_view text, std::string_view name) {
  if (const auto place = StrangePlace(text)) {
    return WrongAt(name, *place, "this cannot stand here; write texts in quotes, as a whole");
  }
  try {
    const toml::table table = toml::parse(text);
    auto node = Convert(table, name, 0);
    if (node) node->place = {};
    return node;
  } catch (const toml::parse_error& error) {
    return WrongAt(name, PlaceOf(error.source().begin), error.description());
  } catch (const NotUnderstood&) {
    return WrongAt(name, {.line = LineNotUnderstood(text), .column = 1},
                   "this is no TOML; write: key = value, or [[steps]]");
  } catch (const std::exception& error) {
    return WrongAt(name, {}, error.what());
  }
}

}  // namespace reveza::runner
