// What a check says of a data set: one line for a person. Values, safe from any thread that owns
// them.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reveza::datagen::check {

struct Outcome {
  enum class Verdict { kFine, kFinding, kSkipped };
  Verdict verdict = Verdict::kFine;
  std::string name;    // what should be so: transactions.device_id is in devices
  std::string detail;  // how many were looked at, or what is wrong, or why it was not looked at
};

// Where a batch stands in its data set.
struct Position {
  std::string_view file;
  uint64_t block = 0;
  uint64_t first_row = 0;  // of the batch, in the file, from 0
};

// Counts what was looked at and what was wrong, and keeps the first that was.
class Tally {
 public:
  explicit Tally(std::string name) : name_(std::move(name)) {}

  void Look(uint64_t count = 1) { looked_ += count; }
  // `describe` makes the text of the value; it is called for the first one only.
  template <typename Describe>
  void Bad(const Position& position, std::size_t row, Describe&& describe) {
    if (bad_++ == 0) {
      first_ =
          fmt::format("{} row {}: {}", position.file, position.first_row + row + 1, describe());
    }
  }
  // For what stands in no row.
  void Bad(std::string what) {
    if (bad_++ == 0) first_ = std::move(what);
  }

  uint64_t looked() const { return looked_; }
  uint64_t bad() const { return bad_; }

  // Where so many were made wrong on purpose: fine with them, and only with them.
  Outcome OutcomeBut(uint64_t meant) const {
    if (meant == 0) return outcome();
    if (bad_ == meant) {
      return {Outcome::Verdict::kFine, name_,
              fmt::format("{} looked at, {} broken on purpose", looked_, meant)};
    }
    return {Outcome::Verdict::kFinding, name_,
            fmt::format("{} wrong, {} of them on purpose; first {}", bad_, meant, first_)};
  }

  Outcome outcome() const {
    if (bad_ != 0) {
      return {Outcome::Verdict::kFinding, name_, fmt::format("{} wrong; first {}", bad_, first_)};
    }
    if (looked_ == 0) return {Outcome::Verdict::kSkipped, name_, "there are none"};
    return {Outcome::Verdict::kFine, name_, fmt::format("{} looked at", looked_)};
  }

 private:
  std::string name_;
  uint64_t looked_ = 0;
  uint64_t bad_ = 0;
  std::string first_;
};

}  // namespace reveza::datagen::check
