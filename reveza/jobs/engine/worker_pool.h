// The workers of a runner: one supervisor per slot, started on demand, and the attempt that each
// runs. Not thread-safe; belongs to the runner's loop.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/base/unique_fd.h"
#include "reveza/gpu/nvml/gpu_monitor.h"
#include "reveza/jobs/decide/admission.h"
#include "reveza/jobs/engine/failure_explanation.h"
#include "reveza/jobs/journal/import_records.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal.h"
#include "reveza/jobs/supervisor/frames.h"

namespace reveza::jobs {

// The runner's end of one supervisor process. Not thread-safe.
class Worker {
 public:
  // Starts `program` (reveza-supervisor) in a session of its own with a new record file at
  // `record`. Uses posix_spawn, so the cost does not grow with the size of this process.
  static Result<Worker> Start(const std::filesystem::path& program,
                              const std::filesystem::path& record);

  Worker(Worker&& other) noexcept = default;
  Worker& operator=(Worker&& other) noexcept = default;
  // Closes the socket without waiting: the supervisor exits when its step has ended.
  ~Worker() = default;

  // Sends a frame. What the socket does not take is buffered; call Flush() when `descriptor()` is
  // writable.
  void Send(std::string_view frame);
  void Flush();
  bool wants_to_write() const { return !unsent_.empty(); }

  // Appends the received frames. Returns false if the supervisor has exited or sent garbage.
  bool Receive(std::vector<Frame>& frames);

  int descriptor() const { return socket_.get(); }
  pid_t pid() const { return pid_; }
  const std::filesystem::path& record() const { return record_; }

 private:
  Worker(UniqueFd socket, pid_t pid, std::filesystem::path record)
      : socket_(std::move(socket)), pid_(pid), record_(std::move(record)) {}

  UniqueFd socket_;
  pid_t pid_ = 0;
  std::filesystem::path record_;
  std::string unsent_;
  FrameReader reader_;
};

// A running attempt.
struct ActiveAttempt {
  std::uint32_t step = 0;
  AttemptName name;
  std::string label;
  std::chrono::nanoseconds began{0};  // monotonic
  WallTime since = 0;
  pid_t pid = 0;  // 0: not started yet
  bool paused = false;
  bool ending = false;
  bool holds_gpu = false;                       // may hold a GPU context: must not be paused
  std::optional<std::chrono::nanoseconds> cpu;  // processor time, last sample
  std::optional<Bytes> memory;                  // last sample
  std::optional<Bytes> peak;
  std::optional<Bytes> gpu_memory;  // last sample
  std::optional<Bytes> gpu_peak;
  Need need;  // as admitted
  std::optional<nvml::Uuid> gpu;
  bool gpu_shared = false;                    // another GPU step ran at the same time
  std::optional<std::uint64_t> kills_before;  // the kernel's OOM kill count at the start
  bool terminated_for_memory = false;
  bool exceeded_limit = false;  // terminated because a sample was above its limit
  std::optional<Bytes> limit;   // of its memory
  std::filesystem::path group;  // its cgroup; empty: none
  int group_version = 0;
  GroupStats group_end;
  bool group_reported = false;  // `group_end` was received
  DeathEvidence evidence;
  std::uint64_t first_cycle = 0;  // the first one requested; 0: a step without cycles
  std::uint64_t last_cycle = 0;
  std::chrono::nanoseconds last_cycle_at{0};  // monotonic; 0: no cycle yet
};

class WorkerPool {
 public:
  using Inherited = std::shared_ptr<const InheritedEnvironment>;
  struct Slot {
    std::optional<Worker> worker;
    std::optional<ActiveAttempt> active;
    Inherited inherited;  // as the worker was told last
  };
  // Input from a worker: frames, then possibly the end of its supervisor.
  struct Event {
    std::size_t slot = 0;
    std::vector<Frame> frames;
    bool exited = false;
  };
  struct ReapedSupervisor {
    std::filesystem::path record;
    std::string end;  // "was killed by signal 9"
  };

  WorkerPool(std::filesystem::path supervisor, JobFolder folder)
      : supervisor_(std::move(supervisor)), folder_(std::move(folder)) {}

  // Returns the lowest idle slot, a new one if all are busy.
  std::size_t FreeSlot();
  // Starts the slot's supervisor if necessary, and requests the start of the attempt. `inherited`:
  // sent only if it is another one than for the last attempt.
  Status Start(std::size_t slot, const StartRequest& request, const Inherited& inherited,
               ActiveAttempt active);
  void Send(std::size_t slot, FrameKind what);
  // Marks the slot idle.
  void Clear(std::size_t slot) { slots_[slot].active.reset(); }
  // Reaps an exited supervisor. Waits up to a second for its end, which follows the closing of its
  // socket at once.
  ReapedSupervisor Reap(std::size_t slot);

  // Appends the descriptors to poll; Handle() then takes the polled entries, starting at `first`.
  void AddTo(std::vector<pollfd>& descriptors) const;
  std::vector<Event> Handle(const pollfd* first);

  std::vector<Slot>& slots() { return slots_; }
  const std::vector<Slot>& slots() const { return slots_; }
  unsigned active() const;

 private:
  std::filesystem::path supervisor_;
  JobFolder folder_;
  std::vector<Slot> slots_;
};

// Attempts without a supervisor connection: of an earlier runner, or of a supervisor that died.
// Polls their records until they have ended. Not thread-safe; belongs to the runner's loop.
class AdoptedAttempts {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  explicit AdoptedAttempts(std::vector<LiveAttempt> attempts) : attempts_(std::move(attempts)) {}

  bool empty() const { return attempts_.empty(); }
  const std::vector<LiveAttempt>& all() const { return attempts_; }
  Nanoseconds next_poll() const { return next_poll_; }

  // Adds an attempt and polls it as soon as possible.
  void Add(LiveAttempt attempt);
  // Stops tracking; the attempts end by themselves, and the next run imports their records.
  void Clear() { attempts_.clear(); }

  struct Polled {
    std::vector<AttemptResult> ended;  // outcome kUnknown if the record has no result
    std::vector<std::string> notes;    // for the user
    std::vector<Error> errors;         // of the journal; the attempts concerned are polled again
  };
  // Imports the records of ended attempts into `journal` and returns their results, except of steps
  // that are not listed any more. Does nothing until `next_poll()`.
  Polled Poll(Nanoseconds now, Journal& journal,
              const std::function<bool(const Identity&)>& is_listed);

 private:
  std::vector<LiveAttempt> attempts_;
  Nanoseconds next_poll_{0};
  std::string last_error_;  // why the state of an attempt cannot be determined
};

}  // namespace reveza::jobs
