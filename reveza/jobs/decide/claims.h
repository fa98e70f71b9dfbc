// Learns the resource needs of steps from earlier steps of the same shape: the same command with
// other parameters.
//
// Known peaks: the largest plus 10 % (at least 32 MiB). After an out-of-memory death: 1.5 times
// what the step died with, until a step that needed more succeeds. Unknown shape: a quarter of the
// free memory, as a guess.
//
// Pure values. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "common/base/bytes.h"
#include "reveza/jobs/definition/job.h"

namespace reveza::jobs {

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

// Returns the limit above which a step is killed:
//  - declared: plus 10 %, at least 32 MiB, because a cgroup limit includes page tables and kernel
//    memory;
//  - learned: doubled, because other parameters may need more while a runaway is still caught;
//  - guessed: none.
// GPU memory is added, with 256 MiB of headroom: it lives in host memory while other steps have the
// GPU, and without room for it nothing could be swapped out. A learned limit is dropped on the
// `last_attempt` of a step that ran out of memory before.
std::optional<Bytes> MemoryLimitFor(const Need& need, bool last_attempt = false);

}  // namespace reveza::jobs
