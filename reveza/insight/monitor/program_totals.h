// Sums up what programs used of the GPUs, by name, for counters that do not fall when one of them
// ends.
#pragma once

#include <map>
#include <string>

#include "reveza/insight/monitor/snapshot.h"

namespace reveza::monitor {

// Not thread-safe.
class ProgramTotals {
 public:
  // How long names of ended programs are kept, as ended jobs are.
  static constexpr double kEndedSeconds = 3600;

  // Adds what the clients of the snapshot used since the last call, and writes the sums to it. A
  // client that is new counts from its start.
  void Update(Snapshot& snapshot);

 private:
  struct Total {
    GpuUse used;
    double seen = 0;  // in seconds since the epoch
  };
  std::map<std::string, Total> totals_;
  // Of jobs and processes of the last snapshot.
  std::map<std::string, double> ran_;
  std::map<std::string, double> waited_;
};

}  // namespace reveza::monitor
