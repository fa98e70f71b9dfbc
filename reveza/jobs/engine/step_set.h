// A set of step numbers, in ascending order. Takes an eighth of a byte for each step of the job: a
// job may have a million. Not thread-safe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace reveza::jobs {

class StepSet {
 public:
  // Makes room for the steps below `count`.
  void Resize(std::size_t count) {
    for (auto& level : levels_) {
      count = (count + kBits - 1) / kBits;
      level.resize(count);
    }
  }

  void Insert(std::uint32_t step) {
    std::size_t at = step;
    for (auto& level : levels_) {
      level[at / kBits] |= Bit(at);
      at /= kBits;
    }
  }

  void Erase(std::uint32_t step) {
    std::size_t at = step;
    for (auto& level : levels_) {
      auto& word = level[at / kBits];
      word &= ~Bit(at);
      if (word != 0) return;
      at /= kBits;
    }
  }

  // Returns the first step that is at least `from`.
  std::optional<std::uint32_t> Next(std::size_t from) const {
    std::size_t at = from;
    std::size_t height = 0;
    // Up, until the rest of a word has something.
    for (;; ++height) {
      if (height == kHeight || at / kBits >= levels_[height].size()) return std::nullopt;
      const std::uint64_t rest = levels_[height][at / kBits] & (~std::uint64_t{0} << (at % kBits));
      if (rest != 0) {
        at = at / kBits * kBits + static_cast<std::size_t>(std::countr_zero(rest));
        break;
      }
      at = at / kBits + 1;
    }
    // Down, to the first of it.
    while (height-- > 0) {
      at = at * kBits + static_cast<std::size_t>(std::countr_zero(levels_[height][at]));
    }
    return static_cast<std::uint32_t>(at);
  }

 private:
  static constexpr std::size_t kBits = 64;
  static constexpr std::size_t kHeight = 4;  // enough for 64^4 steps

  static std::uint64_t Bit(std::size_t at) { return std::uint64_t{1} << (at % kBits); }

  // A bit of a level says whether a word of the level below has one.
  std::vector<std::uint64_t> levels_[kHeight];
};

}  // namespace reveza::jobs
