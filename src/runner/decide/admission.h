// Whether a step may start now, and if not, why; and what is done when memory gets scarce all the
// same. Decisions only: readings of the machine come from outside, and so does the time.
//
// A step is admitted when its needs fit three ways: into the budget beside what all running steps
// claim or have, into what is free now less what running steps were promised and do not have yet,
// and when nobody waits for memory already. A promise is kept until the step's own use is seen;
// where the promise was a guess or the use cannot be seen, it ends after a grace. With nothing else
// running, only what somebody declared, or what others hold, makes a step wait.
//
// Thread-safety: none.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "platform/gpu_monitor.h"
#include "runner/decide/claims.h"

namespace reveza::runner {

using StepNumber = std::uint64_t;

struct GpuMemory {
  platform::Uuid uuid{};
  Bytes total = 0;
  Bytes used = 0;  // by everybody
};

// The machine now. What cannot be read is absent, and no reason to wait.
struct Reading {
  std::chrono::nanoseconds now{0};
  std::optional<double> others_cpus;           // of the cores that we may use, kept busy by others
  std::optional<Bytes> memory_total;           // of the machine, or the limit of our cgroup
  std::optional<Bytes> memory_available;       // MemAvailable
  std::optional<Bytes> cgroup_headroom;        // the least of our cgroup and those above
  std::optional<double> memory_some;           // PSI avg10 in percent
  std::optional<double> memory_full;           // the same
  std::optional<std::vector<GpuMemory>> gpus;  // empty: there are none
  bool all_gpus = true;                        // false: there are others, which cannot be read
  bool gpu_is_shared = false;                  // steps take turns on it: each fits that fits alone
};

// A step that runs.
struct Admitted {
  StepNumber step = 0;
  Need need;  // with which it was admitted
  std::chrono::nanoseconds since{0};
  std::optional<Bytes> memory;      // what it has now
  std::optional<Bytes> gpu_memory;  // the same
  std::optional<platform::Uuid> gpu;
  bool paused = false;
  bool holds_gpu = false;  // it may: it is never paused
};

struct Budget {
  double cpus = 1;                // cores that steps may claim together: affinity, quota, or less
  std::optional<Bytes> memory{};  // host memory that they may have together
  Bytes memory_reserve = 0;       // that stays free
  Bytes gpu_memory_reserve = 0;   // the same on each GPU
  double memory_some_most = 20;   // percent; above it nothing starts
  double memory_full_most = 5;    // the same
  std::chrono::nanoseconds grace = std::chrono::seconds(30);
};

struct Verdict {
  enum class Kind {
    kAdmit,
    kWait,
    kNever,  // not on this machine, whatever ends
  };
  Kind kind = Kind::kAdmit;
  std::string reason{};                 // "memory: 2.1 GiB are free, 512 MiB kept back, ..."
  std::optional<platform::Uuid> gpu{};  // on which it is to run
};

// `named`: the GPUs that the step sees, where its user has named some.
Verdict Consider(const Need& need, const Reading& reading, std::span<const Admitted> running,
                 const Budget& budget, const std::vector<platform::Uuid>* named = nullptr);

// What may be given to steps now: free less kept back less promised. Nothing when it cannot be
// read.
std::optional<Bytes> FreeMemory(const Reading& reading, std::span<const Admitted> running,
                                const Budget& budget);

struct Waiting {
  StepNumber step = 0;
  Need need;
  std::optional<std::vector<platform::Uuid>> named{};  // GPUs that it sees; nothing: any
};

// Chooses from a queue. Steps that need little may pass one that does not fit yet, but only so
// often: then nothing starts before that one does.
class Admission {
 public:
  static constexpr unsigned kMostPassed = 16;

  struct Choice {
    std::optional<std::size_t> index;  // into the queue: to be started, or failed if it never can
    Verdict verdict;                   // of that one; of the first when none may start
  };

  // `queue`: the first of those that wait, in the order in which they should start.
  Choice Next(const Reading& reading, std::span<const Waiting> queue,
              std::span<const Admitted> running, const Budget& budget);

 private:
  std::optional<StepNumber> first_;
  unsigned passed_ = 0;  // since it has been the first
};

}  // namespace reveza::runner
