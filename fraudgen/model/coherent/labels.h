// What is known of frauds at the end of a day: the bank, and the app of rides, learn of a fraud
// when it is reported. Immutable and thread-safe.
#pragma once

#include <cstdint>

#include "fraudgen/model/coherent/row.h"
#include "fraudgen/model/coherent/world.h"

namespace reveza::fraudgen::coherent {

class Labels {
 public:
  // Of the day Parameters::labels_as_of; without one, all labels are known, reported or not.
  explicit Labels(const World& world);

  bool AreComplete() const { return end_ == kForever; }
  // Returns whether what follows from a report at `time` has happened by then.
  bool Knows(int64_t time) const { return time < end_; }
  // Returns whether frauds that are reported at this time, or kNever, are known.
  bool KnowsReport(int64_t reported_at) const {
    return AreComplete() || (reported_at != kNever && Knows(reported_at));
  }
  // Reduce the label of a finished row, and the review of its alert, to what is known. A report of
  // an honest one counts as fraud until it is decided.
  void Reduce(Row& row) const;
  void Reduce(Ride& ride) const;

 private:
  void Claim(Row& row) const;
  void Claim(Ride& ride) const;

  const World* world_;
  int64_t end_ = kForever;
};

}  // namespace reveza::fraudgen::coherent
