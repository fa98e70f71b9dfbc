// How many cores programs of others keep busy: what the machine did, less what our steps did, over
// the seconds between two looks. Values; no clock. Thread-safety: none.
#pragma once

#include <chrono>
#include <optional>

#include "platform/machine_load.h"

namespace reveza::runner {

class OthersLoad {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // `ours`: CPU time of all steps until now, those that have ended included. What comes less than
  // half a second after the last is left out.
  void Seen(nanoseconds now, const platform::CpuTicks& machine, nanoseconds ours);

  // Cores that they keep busy; newer looks weigh more. Nothing before the second look.
  std::optional<double> busy() const { return busy_; }

  // Of `budget` cores that we may use, how many others keep busy: where the machine has more, they
  // may have those. Less than half a core is no news: a clock, a shell, ourselves.
  std::optional<double> Beyond(double budget) const;

 private:
  struct Look {
    nanoseconds at{0};
    platform::CpuTicks machine;
    nanoseconds ours{0};
  };
  std::optional<Look> last_;
  std::optional<double> busy_;
};

}  // namespace reveza::runner
