// Identifiers: each once, of the right shape, and what refers to one refers to one that is there.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "datagen/check/data_set.h"
#include "datagen/check/number_set.h"
#include "datagen/check/table_check.h"

namespace reveza::datagen::check {

struct KeyRule {
  enum class Role { kUnique, kReference };
  std::string_view table;
  std::string_view column;
  std::string_view with;  // a second column, which is part of the key; or empty
  Role role = Role::kUnique;
  std::string_view set;     // where the keys are kept, or looked for
  std::string_view prefix;  // what stands before the digits
  std::size_t digits = 0;   // of the identifier; 0: any
};

// So many passes over the rows let the keys of this data set be looked at in a bounded memory.
uint64_t KeyPasses(const DataSet& data);

class KeyCheck final : public TableCheck {
 public:
  explicit KeyCheck(const DataSet& data);

  // The rows that come are those of this pass over all of them. Called before any row.
  void BeginPass(Pass pass);
  void Look(const Batch& batch, const Position& position) override;
  void Report(std::vector<Outcome>& outcomes) const override;

 private:
  struct Set {
    bool dense = false;
    uint64_t expected = 0;
    NumberSet numbers{false, 0, {}};
  };
  void Look(const KeyRule& rule, const Batch& batch, const Position& position, Tally& tally);

  std::vector<KeyRule> rules_;
  std::vector<Tally> tallies_;
  Tally shapes_;
  std::map<std::string_view, Set> sets_;
  Pass pass_;
};

}  // namespace reveza::datagen::check
