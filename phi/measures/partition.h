// Partitions of variables. Thread-safe: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace reveza::phi {

// At least two nonempty parts that contain each of the variables 0 .. variables - 1 exactly once.
// Made by the functions below only.
class Partition {
 public:
  int variables() const { return variables_; }
  const std::vector<std::vector<int>>& parts() const { return parts_; }

  // Returns text such as "0,1|2,3".
  std::string Text() const;
  // Like Text(), with names, one per variable, in place of indices.
  std::string Text(const std::vector<std::string>& names) const;

  bool operator==(const Partition&) const = default;

  friend Result<Partition> PartitionOf(std::vector<std::vector<int>> parts, int variables,
                                       const std::vector<std::string>& names);

 private:
  Partition(std::vector<std::vector<int>> parts, int variables)
      : parts_(std::move(parts)), variables_(variables) {}

  std::vector<std::vector<int>> parts_;  // each ascending, ordered by their first variable
  int variables_ = 0;
};

// Makes a partition. Errors: fewer than two parts, an empty part, or a variable that is missing,
// duplicated or out of range. `names` are those of the variables in errors.
Result<Partition> PartitionOf(std::vector<std::vector<int>> parts, int variables,
                              const std::vector<std::string>& names = {});

// Returns the partition with one variable per part. `variables` >= 2.
Result<Partition> AtomicPartition(int variables);

// Returns the bipartition into the variables whose bit is set in `mask` and the others; neither
// part may be empty.
Result<Partition> MakeBipartition(std::uint64_t mask, int variables);

// Parses "0,1|2,3": indices or names of variables, commas within parts, bars between parts, blanks
// ignored. "atomic" is one variable per part. `names` may be empty.
Result<Partition> ParsePartition(std::string_view text, int variables,
                                 const std::vector<std::string>& names = {});

}  // namespace reveza::phi
