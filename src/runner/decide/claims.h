// What a step is expected to need, learned from steps of the same shape: those of one command with
// other parameters.
//
// Known peaks: the largest and a tenth more (at least 32 MiB). After a death for memory: half as
// much again as what it died with, until a step that needed more than that succeeds. Of an unknown
// shape: a guess, a quarter of what is free.
//
// Pure values. Thread-safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "runner/job.h"

namespace reveza::runner {

// Names a shape of commands: a hash of the template, say.
using Shape = std::uint64_t;

// How an amount is known.
enum class KnownBy {
  kDeclared,  // somebody said it: never less
  kLearned,
  kGuess,
};

// A claim in which nothing is missing any more. 0: none is needed.
struct Need {
  double cpus = 0;  // 0: not said, and no reason to wait
  Bytes memory = 0;
  KnownBy memory_by = KnownBy::kGuess;
  Bytes gpu_memory = 0;  // a step without GPU has 0
  KnownBy gpu_memory_by = KnownBy::kDeclared;
  bool gpu_alone = false;  // no other step may be on the GPU while it runs

  bool operator==(const Need&) const = default;
};

// What is to be kept of a shape between runs.
struct LearnedShape {
  Shape shape = 0;
  std::optional<Bytes> memory;      // the largest peak of a step that succeeded
  std::optional<Bytes> gpu_memory;  // the same
  Bytes memory_floor = 0;           // after deaths; 0: none
  Bytes gpu_memory_floor = 0;

  bool operator==(const LearnedShape&) const = default;
};

class Claims {
 public:
  // Puts back what was kept.
  void Restore(const LearnedShape& learned);
  // What is known of a shape, to be kept; nothing when it is nothing.
  std::optional<LearnedShape> Of(Shape shape) const;

  // A step succeeded, with these peaks, of those that could be seen.
  void Succeeded(Shape shape, std::optional<Bytes> memory, std::optional<Bytes> gpu_memory);
  // A step that runs has had so much already: none needs less, and it does not yet say how much.
  void Seen(Shape shape, std::optional<Bytes> memory, std::optional<Bytes> gpu_memory);
  // A step was killed for memory, or ended to free it. `peak`: the most that was seen of it;
  // `claimed`: what it was admitted with.
  void DiedOfMemory(Shape shape, std::optional<Bytes> peak, Bytes claimed);
  void DiedOfGpuMemory(Shape shape, std::optional<Bytes> peak, Bytes claimed);

  // What is declared holds, unless a step died with it. `free`: host memory that could be given to
  // steps now.
  Need For(Shape shape, const Claim& declared, Bytes free) const;

 private:
  struct Known {
    LearnedShape learned;
    Bytes memory_seen = 0;
    Bytes gpu_memory_seen = 0;
  };
  Known& Get(Shape shape);

  std::unordered_map<Shape, Known> shapes_;
};

}  // namespace reveza::runner
