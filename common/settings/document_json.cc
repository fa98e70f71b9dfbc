#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/settings/document.h"

namespace reveza {
namespace {

constexpr std::size_t kMaxDepth = 32;

// An iterator that records its position in `reached`, which locates the end of each value.
class TrackingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  TrackingIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  TrackingIterator operator++(int) {
    const TrackingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TrackingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

bool IsLiteralCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '-' || c == '.';
}

// SAX handler that builds the document tree.
class DocumentBuilder {
 public:
  DocumentBuilder(std::string_view text, std::string_view name)
      : text_(text), name_(name), reached_(text.data()) {}

  TrackingIterator begin() { return {text_.data(), &reached_}; }
  TrackingIterator end() { return {text_.data() + text_.size(), &reached_}; }
  Node root;
  Status status;

  bool null() { return Literal(Node::Kind::kOther, "null"); }
  bool boolean(bool value) { return Literal(Node::Kind::kBoolean, value ? "true" : "false"); }
  bool number_integer(std::int64_t value) {
    return Literal(Node::Kind::kInteger, std::to_string(value));
  }
  bool number_unsigned(std::uint64_t value) {
    return Literal(Node::Kind::kInteger, std::to_string(value));
  }
  bool number_float(double, const std::string& text) { return Literal(Node::Kind::kFloat, text); }
  bool string(std::string& text) {
    const SourceLocation location = StringBegin();
    if (text.contains('\0')) return SetError(location, kNulByteError);
    return Add({.kind = Node::Kind::kString,
                .location = location,
                .text = text,
                .items = {},
                .members = {}});
  }
  bool binary(std::vector<std::uint8_t>&) { return false; }
  bool start_object(std::size_t) { return Open(Node::Kind::kTable); }
  bool start_array(std::size_t) { return Open(Node::Kind::kArray); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }

  bool key(std::string& key) {
    auto& members = open_.back()->members;
    const SourceLocation location = StringBegin();
    const auto same = std::ranges::find(members, key, &Member::key);
    if (same != members.end()) {
      return SetError(
          location, fmt::format("duplicate key '{}', first in line {}", key, same->location.line));
    }
    members.push_back({.key = key, .location = location, .value = {}});
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) {
    std::string_view what = error.what();
    // "[json.exception...] parse error at line 1, column 2: description"
    if (const auto column = what.find("column "); column != what.npos) {
      const auto colon = what.find(": ", column);
      if (colon != what.npos) what.remove_prefix(colon + 2);
    }
    const std::size_t at = std::min(position == 0 ? 0 : position - 1, text_.size());
    return SetError(LocationOf(text_.data() + at), what);
  }

 private:
  bool SetError(const SourceLocation& location, std::string_view what) {
    if (status) status = ErrorAt(name_, location, what);
    return false;
  }

  // Amortised O(1) for ascending positions: each line is counted once.
  SourceLocation LocationOf(const char* at) {
    if (at < counted_to_ || counted_to_ == nullptr) {
      counted_to_ = text_.data();
      counted_ = {};
    }
    for (; counted_to_ < at; ++counted_to_) {
      if (*counted_to_ == '\n') {
        counted_ = {.line = counted_.line + 1, .column = 1};
      } else if ((static_cast<unsigned char>(*counted_to_) & 0xC0) != 0x80) {
        ++counted_.column;
      }
    }
    return counted_;
  }

  // Finds the opening quote of the string that ends at `reached_`.
  SourceLocation StringBegin() {
    const char* at = reached_ - 1;
    while (at > text_.data()) {
      --at;
      if (*at != '"') continue;
      const char* slash = at;
      while (slash > text_.data() && slash[-1] == '\\') --slash;
      if ((at - slash) % 2 == 0) break;
    }
    return LocationOf(at);
  }

  bool Literal(Node::Kind kind, std::string text) {
    const char* at = reached_;
    while (at > text_.data() && !IsLiteralCharacter(at[-1])) --at;
    while (at > text_.data() && IsLiteralCharacter(at[-1])) --at;
    return Add({.kind = kind,
                .location = LocationOf(at),
                .text = std::move(text),
                .items = {},
                .members = {}});
  }

  Node& Put(Node node) {
    if (open_.empty()) {
      root = std::move(node);
      return root;
    }
    Node& parent = *open_.back();
    if (parent.kind == Node::Kind::kArray) return parent.items.emplace_back(std::move(node));
    return parent.members.back().value = std::move(node);
  }

  bool Add(Node node) {
    Put(std::move(node));
    return true;
  }

  bool Open(Node::Kind kind) {
    Node node;
    node.kind = kind;
    node.location = LocationOf(std::max(reached_ - 1, text_.data()));
    if (open_.size() >= kMaxDepth) return SetError(node.location, "nested too deeply");
    // The pointer stays valid: the parent gets no further element before this one is closed.
    open_.push_back(&Put(std::move(node)));
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  std::string_view name_;
  const char* reached_;
  const char* counted_to_ = nullptr;
  SourceLocation counted_;
  std::vector<Node*> open_;
};

}  // namespace

Result<Node> ParseJson(std::string_view text, std::string_view name) {
  DocumentBuilder builder(text, name);
  const bool parsed = nlohmann::json::sax_parse(builder.begin(), builder.end(), &builder);
  if (!builder.status) return std::unexpected(builder.status.error());
  if (!parsed) return ErrorAt(name, {}, "not valid JSON");
  if (builder.root.kind != Node::Kind::kTable) {
    return ErrorAt(name, builder.root.location, "expected an object: { ... }");
  }
  return std::move(builder.root);
}

}  // namespace reveza
