// The result of a check, as one line for the user, and the counters behind it. Not thread-safe.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace reveza::fraudgen::check {

struct Outcome {
  enum class Verdict { kPassed, kFailed, kSkipped };
  Verdict verdict = Verdict::kPassed;
  std::string name;    // what should hold: files: none is missing
  std::string detail;  // how much was checked, the first failure, or why it was skipped
};

// Returns the label of a verdict for the terminal, padded to a common width.
inline std::string_view LabelOf(Outcome::Verdict verdict) {
  switch (verdict) {
    case Outcome::Verdict::kPassed:
      return "ok     ";
    case Outcome::Verdict::kFailed:
      return "FAILED ";
    case Outcome::Verdict::kSkipped:
      return "skipped";
  }
  return "";
}

// Counts checked and failed items, and keeps the first failure.
class Tally {
 public:
  explicit Tally(std::string name) : name_(std::move(name)) {}

  void AddChecked(uint64_t count = 1) { checked_ += count; }
  // Adds a failure; its text, or one formatted as by fmt::format().
  void AddFailure(std::string what) {
    if (failed_++ == 0) first_ = std::move(what);
  }
  template <typename First, typename... Rest>
  void AddFailure(fmt::format_string<First, Rest...> what, First&& first, Rest&&... rest) {
    AddFailure(fmt::format(what, std::forward<First>(first), std::forward<Rest>(rest)...));
  }

  uint64_t checked() const { return checked_; }
  uint64_t failed() const { return failed_; }

  Outcome outcome() const {
    if (failed_ != 0) {
      return {Outcome::Verdict::kFailed, name_,
              fmt::format("{} failed; first: {}", failed_, first_)};
    }
    if (checked_ == 0) return {Outcome::Verdict::kSkipped, name_, "nothing to check"};
    return {Outcome::Verdict::kPassed, name_, fmt::format("{} checked", checked_)};
  }

 private:
  std::string name_;
  uint64_t checked_ = 0;
  uint64_t failed_ = 0;
  std::string first_;
};

}  // namespace reveza::fraudgen::check
