// The check digits of taxpayer numbers: they hold everywhere, or, in a data set with safe
// identities, nowhere.
#pragma once

#include "datagen/check/table_check.h"

namespace reveza::datagen::check {

class CpfCheck final : public TableCheck {
 public:
  void Look(const Batch& batch, const Position& position) override;
  void Report(std::vector<Outcome>& outcomes) const override;

 private:
  Tally shapes_{"CPFs: are written ddd.ddd.ddd-dd"};
  // Those that hold, and those that do not, each counted as if it were wrong.
  Tally valid_{"CPFs: check digits hold"};
  Tally safe_{"CPFs: check digits hold"};
};

}  // namespace reveza::datagen::check
