// What the journals of this user's jobs say, for metrics: totals that only grow, and the last state
// of jobs that have ended. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "reveza/insight/monitor/snapshot.h"
#include "reveza/jobs/journal/job_folder.h"

namespace reveza::cli {

class JobRecords {
 public:
  // Returns the records of jobs that run, or whose last attempt ended at or after `since`. Reads
  // only what was added to a journal since the last call; leaves out journals that cannot be read.
  std::vector<monitor::JobRecord> Read(double since);

 private:
  struct Known {
    explicit Known(const std::string& id) { record.id = id; }

    monitor::JobRecord record;
    std::int64_t sequence = 0;  // of the last attempt in it
    std::filesystem::file_time_type changed;
  };

  static Status Update(const jobs::JobFolder& folder, Known& known);

  std::map<std::string, Known> known_;  // by id
};

}  // namespace reveza::cli
