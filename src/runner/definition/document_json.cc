#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "runner/definition/document.h"

namespace reveza::runner {
namespace {

constexpr std::size_t kDeepest = 32;

// Walks over a text and tells `reached` how far it is: so each value is known to end there.
class Walker {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Walker(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  Walker& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  Walker operator++(int) {
    const Walker before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Walker& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

bool IsOfWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '-' || c == '.';
}

// Builds the tree while the library reads.
class Builder {
 public:
  Builder(std::string_view text, std::string_view name)
      : text_(text), name_(name), reached_(text.data()) {}

  Walker begin() { return {text_.data(), &reached_}; }
  Walker end() { return {text_.data() + text_.size(), &reached_}; }
  Node root;
  Status status;

  bool null() { return Word(Node::Kind::kOther, "null"); }
  bool boolean(bool value) { return Word(Node::Kind::kBoolean, value ? "true" : "false"); }
  bool number_integer(std::int64_t value) {
    return Word(Node::Kind::kWhole, std::to_string(value));
  }
  bool number_unsigned(std::uint64_t value) {
    return Word(Node::Kind::kWhole, std::to_string(value));
  }
  bool number_float(double, const std::string& text) { return Word(Node::Kind::kNumber, text); }
  bool string(std::string& text) {
    const Place place = QuoteBegin();
    if (text.contains('\0')) return Refuse(place, kZeroInText);
    return Add(
        {.kind = Node::Kind::kText, .place = place, .text = text, .items = {}, .members = {}});
  }
  bool binary(std::vector<std::uint8_t>&) { return false; }
  bool start_object(std::size_t) { return Open(Node::Kind::kTable); }
  bool start_array(std::size_t) { return Open(Node::Kind::kList); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }

  bool key(std::string& key) {
    auto& members = open_.back()->members;
    const Place place = QuoteBegin();
    const auto same = std::ranges::find(members, key, &Member::key);
    if (same != members.end()) {
      return Refuse(place, fmt::format("'{}' is there already, in line {}", key, same->place.line));
    }
    members.push_back({.key = key, .place = place, .value = {}});
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) {
    std::string_view what = error.what();
    // "[json.exception...] parse error at line 1, column 2: what is wrong"
    if (const auto column = what.find("column "); column != what.npos) {
      const auto colon = what.find(": ", column);
      if (colon != what.npos) what.remove_prefix(colon + 2);
    }
    const std::size_t at = std::min(position == 0 ? 0 : position - 1, text_.size());
    return Refuse(PlaceOf(text_.data() + at), what);
  }

 private:
  bool Refuse(const Place& place, std::string_view what) {
    if (status) status = WrongAt(name_, place, what);
    return false;
  }

  // Asked in the order of the text, so that each line is counted once.
  Place PlaceOf(const char* at) {
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

  // The last character read is the closing quote: where is the opening one?
  Place QuoteBegin() {
    const char* at = reached_ - 1;
    while (at > text_.data()) {
      --at;
      if (*at != '"') continue;
      const char* slash = at;
      while (slash > text_.data() && slash[-1] == '\\') --slash;
      if ((at - slash) % 2 == 0) break;
    }
    return PlaceOf(at);
  }

  bool Word(Node::Kind kind, std::string text) {
    const char* at = reached_;
    while (at > text_.data() && !IsOfWord(at[-1])) --at;
    while (at > text_.data() && IsOfWord(at[-1])) --at;
    return Add(
        {.kind = kind, .place = PlaceOf(at), .text = std::move(text), .items = {}, .members = {}});
  }

  Node& Put(Node node) {
    if (open_.empty()) {
      root = std::move(node);
      return root;
    }
    Node& parent = *open_.back();
    if (parent.kind == Node::Kind::kList) return parent.items.emplace_back(std::move(node));
    return parent.members.back().value = std::move(node);
  }

  bool Add(Node node) {
    Put(std::move(node));
    return true;
  }

  bool Open(Node::Kind kind) {
    Node node;
    node.kind = kind;
    node.place = PlaceOf(std::max(reached_ - 1, text_.data()));
    if (open_.size() >= kDeepest) return Refuse(node.place, "too many tables within tables");
    // What is open is the last of its parent, which gets no other before it is closed.
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
  Place counted_;
  std::vector<Node*> open_;
};

}  // namespace

Result<Node> ParseJson(std::string_view text, std::string_view name) {
  Builder builder(text, name);
  const bool parsed = nlohmann::json::sax_parse(builder.begin(), builder.end(), &builder);
  if (!builder.status) return std::unexpected(builder.status.error());
  if (!parsed) return WrongAt(name, {}, "this is no JSON");
  if (builder.root.kind != Node::Kind::kTable) {
    return WrongAt(name, builder.root.place, "a job is written { \"run\": ... }");
  }
  return std::move(builder.root);
}

}  // namespace reveza::runner
