// What is counted of a job, and who is told.
//
// Thread-compatible value types.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "reveza/gpu/scheduler/scheduler.h"

namespace reveza::usage {

// Times in nanoseconds, sizes in bytes. From kHandover on: the time waited, in the order of
// scheduler::WaitReason; kHandover is that of kNone, while memory was swapped in.
enum class Counter : std::uint8_t {
  kGpuTime,  // with an open gate, times the number of GPUs
  kTurns,
  kBytesOut,
  kBytesIn,
  kHandover,
  kTurn,
  kContext,
  kGpuMemory,
  kHostMemory,
  kUnpreemptible,
  kQueue,
  kUnresponsive,
  kPaused,
};
// The names in the database and in the output of programs.
inline constexpr auto kCounterNames = std::to_array<std::string_view>(
    {"gpu_ns", "turns", "bytes_out", "bytes_in", "wait_handover_ns", "wait_turn_ns",
     "wait_context_ns", "wait_gpu_memory_ns", "wait_host_memory_ns", "wait_unpreemptible_ns",
     "wait_queue_ns", "wait_unresponsive_ns", "wait_paused_ns"});
inline constexpr std::size_t kFirstWait = static_cast<std::size_t>(Counter::kHandover);
static_assert(kCounterNames.size() == kFirstWait + scheduler::kWaitReasons);

class Counters {
 public:
  std::int64_t& operator[](std::size_t index) { return values_[index]; }
  std::int64_t operator[](std::size_t index) const { return values_[index]; }
  std::int64_t& operator[](Counter counter) { return values_[static_cast<std::size_t>(counter)]; }
  std::int64_t operator[](Counter counter) const {
    return values_[static_cast<std::size_t>(counter)];
  }

  Counters& operator+=(const Counters& other);
  Counters operator-(const Counters& other) const;
  friend bool operator==(const Counters&, const Counters&) = default;

  // Returns the time waited, except by its own user's pause.
  std::int64_t Waited() const;

 private:
  std::array<std::int64_t, kCounterNames.size()> values_{};
};

// What a job used since it was last reported.
struct Usage {
  std::uint64_t job = 0;
  uid_t user = 0;
  std::string name;
  Counters counters;
};

// Receives reports. Must not block.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void Add(const Usage& usage) = 0;
};

}  // namespace reveza::usage
