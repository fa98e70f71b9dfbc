// Admission control: decides whether a step may start now and, if not, why. Pure decisions:
// readings of the machine and the time are passed in.
//
// A step is admitted when its needs fit
//  - into the budget, beside what running steps claim or use;
//  - into what is free now, minus what running steps were promised and have not allocated yet;
// and nothing is stalled on memory already. A promise lasts until the step's own use is observed.
// If the promise was a guess, or the use cannot be observed, it expires after a grace period. With
// nothing else running, a step waits only for declared needs or for memory held by other programs.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/bytes.h"
#include "reveza/gpu/nvml/gpu_monitor.h"
#include "reveza/jobs/definition/job.h"

namespace reveza::jobs {

// Learns the resource needs of steps from earlier steps of the same shape: the same command with
// other parameters.
//
// Known peaks: the largest plus 10 % (at least 32 MiB). After an out-of-memory death: 1.5 times
// what the step died with, until a step that needed more succeeds. Unknown shape: a quarter of the
// free memory, as a guess.
//
// Pure values. Not thread-safe.

// Identifies the shape of a command, e.g. a hash of its template.
using Shape = std::uint64_t;

enum class ClaimSource {
  kDeclared,  // by the user: a lower bound
  kLearned,
  kGuessed,
};

// A claim with every field resolved. 0: none needed.
struct Need {
  double cpus = 0;  // 0: not declared, never delays a step
  Bytes memory = 0;
  ClaimSource memory_source = ClaimSource::kGuessed;
  Bytes gpu_memory = 0;  // 0 for a step without GPU
  ClaimSource gpu_memory_source = ClaimSource::kDeclared;
  bool gpu_exclusive = false;  // no other step may run on the GPU meanwhile

  bool operator==(const Need&) const = default;
};

// What is known of one resource of a shape.
struct LearnedAmount {
  std::optional<Bytes> peak;  // the largest of a successful step
  Bytes floor = 0;            // minimum claim after out-of-memory deaths; 0: none

  bool operator==(const LearnedAmount&) const = default;
};

// What is persisted about a shape between runs.
struct LearnedShape {
  Shape shape = 0;
  LearnedAmount memory;
  LearnedAmount gpu_memory;

  bool operator==(const LearnedShape&) const = default;
};

class Claims {
 public:
  // Restores a shape persisted by an earlier run.
  void Restore(const LearnedShape& learned);
  // Returns what is known of a shape, to be persisted; empty if nothing is.
  std::optional<LearnedShape> Find(Shape shape) const;

  // Records the observed peaks of a successful step.
  void RecordSuccess(Shape shape, std::optional<Bytes> memory, std::optional<Bytes> gpu_memory);
  // Records the usage of a running step: a lower bound for its shape.
  void ObserveUsage(Shape shape, std::optional<Bytes> memory, std::optional<Bytes> gpu_memory);
  // Records that a step ran out of memory, or was terminated to free some. `peak`: its highest
  // observed usage; `claimed`: what it was admitted with.
  void RecordOom(Shape shape, std::optional<Bytes> peak, Bytes claimed);
  void RecordGpuOom(Shape shape, std::optional<Bytes> peak, Bytes claimed);

  // Returns the needs of a step. A declared amount is used as is, unless a step died with it.
  // `free`: host memory that could be given to steps now.
  Need Resolve(Shape shape, const Claim& declared, Bytes free) const;

 private:
  struct Amount {
    LearnedAmount learned;
    Bytes observed = 0;  // of a step that still runs
  };
  struct Known {
    Amount memory;
    Amount gpu_memory;
  };

  std::unordered_map<Shape, Known> shapes_;
};

// Returns the claim for a known peak: 10 % more, at least 32 MiB.
Bytes WithMargin(Bytes peak);

// Returns the claim for a peak that PeakModel predicts: 5 % more, at least 8 MiB, since the
// prediction is above all peaks so far.
Bytes WithMarginOfPrediction(Bytes peak);

// Returns the limit above which a step is killed:
//  - declared: plus 10 %, at least 32 MiB, because a cgroup limit includes page tables and kernel
//    memory;
//  - learned: doubled, because other parameters may need more while a runaway is still caught;
//  - guessed: none.
// GPU memory is added, with 256 MiB of headroom: it lives in host memory while other steps have the
// GPU, and without room for it nothing could be swapped out. A learned limit is dropped on the
// `last_attempt` of a step that ran out of memory before.
std::optional<Bytes> MemoryLimitFor(const Need& need, bool last_attempt = false);

using StepNumber = std::uint64_t;

struct GpuMemory {
  nvml::Uuid uuid{};
  Bytes total = 0;
  Bytes used = 0;  // by all processes
};

// The state of the machine. A value that cannot be read is absent and never delays a step.
struct MachineReading {
  std::chrono::nanoseconds now{0};
  std::optional<double> external_cpus;         // usable cores kept busy by other programs
  std::optional<Bytes> memory_total;           // of the machine
  std::optional<Bytes> memory_available;       // MemAvailable
  std::optional<Bytes> cgroup_limit;           // of our cgroup and its ancestors, the one of which
  std::optional<Bytes> cgroup_headroom;        // the least is left
  std::optional<double> memory_some;           // PSI "some" avg10, percent
  std::optional<double> memory_full;           // PSI "full" avg10, percent
  std::optional<std::vector<GpuMemory>> gpus;  // empty: the machine has none
  bool all_gpus = true;                        // false: some GPUs could not be read
  bool gpu_is_shared = false;  // steps take turns on it: any step that fits alone is admitted
};

struct RunningStep {
  StepNumber step = 0;
  Need need;  // as admitted
  std::chrono::nanoseconds since{0};
  std::optional<Bytes> memory;      // current use
  std::optional<Bytes> gpu_memory;  // current use
  std::optional<nvml::Uuid> gpu;
  bool paused = false;
  bool holds_gpu = false;                         // may hold a GPU context: must not be paused
  std::optional<std::chrono::nanoseconds> cpu{};  // processor time used so far
};

struct Budget {
  double cpus = 1;           // cores that steps may claim together
  Bytes memory_reserve = 0;  // memory kept free
  // The reserve is a default for the machine: of a smaller limit, a smaller share is kept free.
  bool default_reserve = false;
};

struct Verdict {
  enum class Kind {
    kAdmit,
    kWait,
    kReject,  // can never run on this machine
  };
  Kind kind = Kind::kAdmit;
  std::string reason{};             // "memory: 2.1 GiB free, 512 MiB reserved, ..."
  std::optional<nvml::Uuid> gpu{};  // the GPU to run on
  bool for_memory = false;          // waits for memory of the host, which a newer reading may show
};

// Decides whether a step with these needs may start now. `visible_gpus`: the GPUs that the user
// restricted the step to; null: any.
Verdict CheckAdmission(const Need& need, const MachineReading& reading,
                       std::span<const RunningStep> running, const Budget& budget,
                       const std::vector<nvml::Uuid>* visible_gpus = nullptr);

// Returns the memory that may be given to steps now, below the smallest limit that holds, of the
// machine and the cgroup: available minus reserve minus promised. Empty if it cannot be read.
std::optional<Bytes> AllocatableMemory(const MachineReading& reading,
                                       std::span<const RunningStep> running, const Budget& budget);

struct QueuedStep {
  StepNumber step = 0;
  Need need;
  std::optional<std::vector<nvml::Uuid>> visible_gpus{};  // empty: any GPU
};

// Chooses the next step from a queue. Others may bypass one that does not fit yet, the one that
// needs most memory first, but only `kMaxBypasses` times; after that nothing starts before it.
class Admission {
 public:
  static constexpr unsigned kMaxBypasses = 16;

  struct Choice {
    std::optional<std::size_t> index;  // into the queue: a step to start, or to fail if rejected
    Verdict verdict;                   // of that step; of the first one if none may start
  };

  // Chooses from `queue`: the head of the waiting steps, in the order in which they should start.
  Choice Next(const MachineReading& reading, std::span<const QueuedStep> queue,
              std::span<const RunningStep> running, const Budget& budget);

 private:
  std::optional<StepNumber> head_;
  unsigned bypasses_ = 0;  // since `head_` became the head of the queue
};

}  // namespace reveza::jobs
