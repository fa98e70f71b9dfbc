// Builds the start request of a step: expanded command, environment, cores, output files and
// cycles. Not thread-safe; belongs to the runner's loop.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/decide/machine_reading.h"
#include "reveza/jobs/definition/expander.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/definition/thread_environment.h"
#include "reveza/jobs/engine/worker_pool.h"
#include "reveza/jobs/journal/journal.h"
#include "reveza/jobs/supervisor/disk_space.h"
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

struct StepRequest {
  StartRequest start;
  WorkerPool::Inherited inherited;  // the same for many steps
};

class StepRequestBuilder {
 public:
  explicit StepRequestBuilder(RequestDefaults defaults);

  // Builds the request for the step of `active`, and sets `active.first_cycle`. `files`: its
  // outputs without extension, relative to the output folder. `workers`: steps that may run at the
  // same time. Creates the folder of the outputs; kPermission if that fails.
  Result<StepRequest> Build(const std::string& files, std::size_t slot, unsigned workers,
                            Journal& journal, ActiveAttempt& active);

  // Returns CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER as the step will see them; empty if not set.
  std::optional<DeviceNames> DevicesOf(std::uint32_t step, std::size_t slot) const;

 private:
  // The thread settings of the last step of a slot.
  struct SlotThreads {
    std::uint32_t command = 0;
    unsigned workers = 0;  // 0: none yet
    std::vector<std::string> variables;
    std::vector<unsigned> processors;
  };

  const WorkerPool::Inherited& InheritedBy(std::uint32_t command);
  void AddThreadSettings(std::uint32_t command, std::size_t slot, unsigned workers,
                         StepRequest& request);
  SlotThreads MakeThreads(std::uint32_t command, std::size_t slot, unsigned workers,
                          const StepRequest& request) const;
  // Sets where the outputs go, and makes room for them. `path`: without extension.
  Status PrepareOutputs(const std::filesystem::path& path, const ActiveAttempt& active,
                        StartRequest& request);

  RequestDefaults defaults_;
  Topology topology_ = ReadTopology();
  WorkerPool::Inherited inherited_;  // by commands that set no variables
  WorkerPool::Inherited inherited_by_last_;
  std::uint32_t last_command_ = 0;  // that sets variables, whose is inherited_by_last_
  std::vector<SlotThreads> threads_;
  std::map<std::filesystem::path, bool> folders_;  // that exist; whether this run made them
  DiskSpace space_;
};

}  // namespace reveza::jobs
