// What the classic model is asked for.
#pragma once

#include <cstdint>
#include <optional>

#include "datagen/blocks.h"
#include "datagen/civil_time.h"
#include "datagen/cpf.h"

namespace reveza::datagen::classic {

enum class Kind { kTransactions, kRides, kAll };

struct Options {
  Kind kind = Kind::kTransactions;
  uint64_t seed = 0;
  uint64_t transactions = 0;  // rows; not used if the kind has none
  uint64_t rides = 0;
  std::optional<uint64_t> customers;  // without: as many as the original would have
  Share frauds{.billionths = 20'000'000};
  CivilDate start;  // first and last day of transactions and rides
  CivilDate end;
  CivilDate as_of;  // the day from which ages and expiries count, in place of a clock
  bool profiles = true;
  Identities identities = Identities::kValid;
  uint64_t rows_per_block = uint64_t{1} << 21;  // of the table that has more of them
};

}  // namespace reveza::datagen::classic
