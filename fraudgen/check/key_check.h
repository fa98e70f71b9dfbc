// Identifiers are unique and well-formed, and references exist.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "fraudgen/check/data_set.h"
#include "fraudgen/check/number_set.h"
#include "fraudgen/check/table_check.h"

namespace reveza::fraudgen::check {

struct KeyRule {
  enum class Role { kUnique, kReference };
  std::string_view table;
  std::string_view column;
  std::string_view with;  // second column of a composite key; or empty
  Role role = Role::kUnique;
  std::string_view set;     // set of keys to insert into or to search
  std::string_view prefix;  // before the digits
  std::size_t digits = 0;   // of the identifier; 0: any
};

// Returns the number of passes over the rows with which the keys fit into memory.
uint64_t KeyPasses(const DataSet& data);

class KeyCheck final : public TableCheck {
 public:
  explicit KeyCheck(const DataSet& data);

  // Starts a pass over all rows.
  void BeginPass(Pass pass);
  void Add(const Batch& batch, const Position& position) override;
  void Report(std::vector<Outcome>& outcomes) const override;

 private:
  struct Set {
    uint64_t dense_below = 0;
    NumberSet numbers{0, {}};
  };
  void Check(const KeyRule& rule, const Batch& batch, const Position& position, Tally& tally);

  std::vector<KeyRule> rules_;
  std::vector<Tally> tallies_;
  Tally shapes_;
  std::map<std::string_view, Set> sets_;
  Pass pass_;
};

}  // namespace reveza::fraudgen::check
