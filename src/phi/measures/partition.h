// How variables are divided into parts. Thread-safety: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace reveza::phi {

// Parts that together have each of the variables 0 .. variables - 1 exactly once, none empty, at
// least two. Only the functions below make one.
class Partition {
 public:
  int variables() const { return variables_; }
  const std::vector<std::vector<int>>& parts() const { return parts_; }

  // "0,1|2,3".
  std::string Text() const;
  // The same with names in place of numbers; there must be one for each variable.
  std::string Text(const std::vector<std::string>& names) const;

  bool operator==(const Partition&) const = default;

  friend Result<Partition> PartitionOf(std::vector<std::vector<int>> parts, int variables);

 private:
  Partition(std::vector<std::vector<int>> parts, int variables)
      : parts_(std::move(parts)), variables_(variables) {}

  std::vector<std::vector<int>> parts_;  // each ascending, ordered by their first variable
  int variables_ = 0;
};

// Errors: fewer than two parts, an empty part, a variable that is missing, there twice, or unknown.
Result<Partition> PartitionOf(std::vector<std::vector<int>> parts, int variables);

// Each variable a part of its own. `variables` >= 2.
Result<Partition> AtomicPartition(int variables);

// The variables whose bit is set in `mask`, and the others; both must be some.
Result<Partition> Bipartition(std::uint64_t mask, int variables);

// Reads "0,1|2,3": numbers or names of variables, commas inside a part, bars between parts, blanks
// anywhere between. "atomic" is each variable alone. `names` may be empty.
Result<Partition> ParsePartition(std::string_view text, int variables,
                                 const std::vector<std::string>& names = {});

}  // namespace reveza::phi
