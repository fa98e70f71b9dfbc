// What the bank's analysts make of its alerts. A pure function of the payment.
#pragma once

#include <cstdint>

#include "fraudgen/model/coherent/row.h"
#include "fraudgen/model/coherent/world.h"

namespace reveza::fraudgen::coherent {

// Sets when an analyst looks at the alert of a payment, if ever, and the decision. All of the row
// but these must be set, with its true label.
void Review(const World& world, Row& row);

// The hours in which analysts work: some of each weekday.
class WorkingHours {
 public:
  // Hours of the day; `opens` is below `closes`, which is at most 24.
  WorkingHours(uint32_t opens, uint32_t closes);

  // Returns when work that takes so long is done, if it starts at `time`, in the 1970s or later.
  int64_t After(int64_t time, int64_t work) const;
  // Returns the working time until what came before `time` is done: while nobody works, alerts pile
  // up that take `percent` of that time, and they come first. On Friday evening all are done.
  int64_t QueueAt(int64_t time, int64_t percent) const;

 private:
  int64_t opens_;
  int64_t closes_;
};

}  // namespace reveza::fraudgen::coherent
