// toml++ with exceptions: without them (3.3) it goes on behind an error, and trips over some text
// that is no TOML. They end here.
#include <fmt/format.h>

#define TOML_EXCEPTIONS 1
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "runner/document.h"

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
    std::ranges::stable_sort(node.members, {}, &Member::place);
  }
  return node;
}

}  // namespace

Result<Node> ParseToml(std::string_view text, std::string_view name) {
  try {
    const toml::table table = toml::parse(text);
    auto node = Convert(table, name, 0);
    if (node) node->place = {};
    return node;
  } catch (const toml::parse_error& error) {
    return WrongAt(name, PlaceOf(error.source().begin), error.description());
  } catch (const std::exception& error) {
    return WrongAt(name, {}, error.what());
  }
}

}  // namespace reveza::runner
