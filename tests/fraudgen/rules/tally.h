// Counts of checked and failed items. Not thread-safe.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reveza::fraudgen::rules {

// The position of a batch among the rows of a model.
struct Position {
  uint64_t block = 0;
  uint64_t first_row = 0;  // in the block, from 0
};

// Counts what a rule applies to, and keeps the first failure.
class Tally {
 public:
  explicit Tally(std::string name) : name_(std::move(name)) {}

  void AddChecked(uint64_t count = 1) { checked_ += count; }
  // Adds a checked item of a row, and a failure unless it is valid.
  template <typename Describe>
  void Check(bool valid, const Position& position, std::size_t row, Describe&& describe) {
    ++checked_;
    if (!valid) AddFailure(position, row, describe);
  }
  // Adds a failure in a row. `describe` returns its text; called for the first failure only.
  template <typename Describe>
  void AddFailure(const Position& position, std::size_t row, Describe&& describe) {
    if (failed_++ == 0) {
      first_ = fmt::format("block {} row {}: {}", position.block, position.first_row + row + 1,
                           describe());
    }
  }
  // Adds a failure that is not in a row; its text, or one formatted as by fmt::format().
  void AddFailure(std::string what) {
    if (failed_++ == 0) first_ = std::move(what);
  }
  template <typename First, typename... Rest>
  void AddFailure(fmt::format_string<First, Rest...> what, First&& first, Rest&&... rest) {
    AddFailure(fmt::format(what, std::forward<First>(first), std::forward<Rest>(rest)...));
  }

  const std::string& name() const { return name_; }
  uint64_t checked() const { return checked_; }
  uint64_t failed() const { return failed_; }
  const std::string& first() const { return first_; }

 private:
  std::string name_;
  uint64_t checked_ = 0;
  uint64_t failed_ = 0;
  std::string first_;
};

using Tallies = std::vector<Tally>;

}  // namespace reveza::fraudgen::rules
