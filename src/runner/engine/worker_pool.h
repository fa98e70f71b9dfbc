// The workers of a runner: a supervisor each, started when first needed, and what each runs.
// Thread-safety: none; the runner's loop.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "platform/gpu_monitor.h"
#include "runner/decide/claims.h"
#include "runner/engine/step_witness.h"
#include "runner/engine/worker.h"
#include "runner/journal/job_folder.h"

namespace reveza::runner {

// An attempt that runs.
struct Active {
  std::uint32_t step = 0;
  AttemptName name;
  std::string label;
  std::chrono::nanoseconds began{0};  // monotonic
  WallTime since = 0;
  pid_t pid = 0;  // 0: not known yet
  bool paused = false;
  bool ending = false;
  bool holds_gpu = false;       // it may: it is never paused
  std::optional<Bytes> memory;  // when last looked
  std::optional<Bytes> peak;
  std::optional<Bytes> gpu_memory;  // likewise
  std::optional<Bytes> gpu_peak;
  Need need;  // with which it was admitted
  std::optional<platform::Uuid> gpu;
  bool gpu_beside_others = false;             // another step on a GPU has run at the same time
  std::optional<std::uint64_t> kills_before;  // by the kernel, for memory, when it began
  bool ended_for_memory = false;
  bool ended_at_limit = false;  // because it was seen above its limit
  std::optional<Bytes> limit;   // of its memory
  std::filesystem::path group;  // its control group; empty: it has none
  int group_version = 0;
  GroupEnd group_end;
  bool group_told = false;  // its supervisor has said what the kernel counted in its group
  StepWitness witness;
  std::uint64_t first_cycle = 0;  // that it was to make; 0: it has none
  std::uint64_t last_cycle = 0;
  std::chrono::nanoseconds last_cycle_at{0};  // monotonic; 0: none was said yet
};

class WorkerPool {
 public:
  struct Slot {
    std::optional<Worker> worker;
    std::optional<Active> active;
  };
  // What came from a worker. `gone`: its supervisor is; `frames` came before.
  struct News {
    std::size_t slot = 0;
    std::vector<Frame> frames;
    bool gone = false;
  };
  // Of a supervisor that is gone.
  struct Remains {
    std::filesystem::path record;
    std::string end;  // "was killed by signal 9"
  };

  WorkerPool(std::filesystem::path supervisor, JobFolder folder)
      : supervisor_(std::move(supervisor)), folder_(std::move(folder)) {}

  // A slot without anything running, the lowest; makes one where there is none.
  std::size_t FreeSlot();
  // Starts the supervisor of the slot if it has none, and asks it to start the attempt.
  Status Start(std::size_t slot, const StartRequest& request, Active active);
  void Tell(std::size_t slot, FrameKind what);
  // Nothing runs there any more.
  void Clear(std::size_t slot) { slots_[slot].active.reset(); }
  // Forgets a supervisor that is gone. Waits until it has ended, a second at most: it has closed
  // its socket, and the kernel does the rest at once.
  Remains Bury(std::size_t slot);

  void AddTo(std::vector<pollfd>& descriptors) const;
  // Of the descriptors that were added, from `first` on.
  std::vector<News> Handle(const pollfd* first);

  std::vector<Slot>& slots() { return slots_; }
  const std::vector<Slot>& slots() const { return slots_; }
  unsigned active() const;

 private:
  std::filesystem::path supervisor_;
  JobFolder folder_;
  std::vector<Slot> slots_;
};

}  // namespace reveza::runner
