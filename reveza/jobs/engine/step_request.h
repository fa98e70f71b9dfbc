// Builds the start request of a step: expanded command, environment, cores, output files and
// cycles. Not thread-safe; belongs to the runner's loop.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/decide/machine_reading.h"
#include "reveza/jobs/definition/expander.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/definition/thread_environment.h"
#include "reveza/jobs/engine/worker_pool.h"
#include "reveza/jobs/journal/journal.h"
#include "reveza/jobs/supervisor/frames.h"

namespace reveza::jobs {

// What all requests of a run have in common; referenced objects must outlive the builder.
struct RequestDefaults {
  const Job& job;
  const Expander& expander;
  const std::vector<std::string>& environment;  // "NAME=value", of every step
  const std::vector<std::string>& gpu_prefix;   // before the command of a GPU step; may be empty
  std::filesystem::path outputs;                // output folder
  double cores = 1;                             // usable by all steps together
};

class StepRequestBuilder {
 public:
  explicit StepRequestBuilder(RequestDefaults defaults) : defaults_(std::move(defaults)) {}

  // Builds the request for `entry`, the journal's entry of the step of `active`, and sets
  // `active.first_cycle`. `workers`: steps that may run at the same time. Creates the folder of the
  // outputs; kPermission if that fails.
  Result<StartRequest> Build(const StepEntry& entry, std::size_t slot, unsigned workers,
                             Journal& journal, ActiveAttempt& active);

  // Returns CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER as the step will see them; empty if not set.
  std::optional<DeviceNames> DevicesOf(std::uint32_t step, std::size_t slot) const;

 private:
  void AddThreadSettings(const Command& command, std::size_t slot, unsigned workers,
                         StartRequest& request) const;
  Status MakeOutputFolder(const std::filesystem::path& folder);

  RequestDefaults defaults_;
  Topology topology_ = ReadTopology();
  std::set<std::filesystem::path> folders_;  // known to exist
};

}  // namespace reveza::jobs
