// The daemon's state of a client, in addition to the scheduler's, and its wait reasons for users:
// what it waits for, which job blocks it, and for how long.
//
// Thread-safe: plain data and pure functions.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "reveza/gpu/daemon/classes.h"
#include "reveza/gpu/daemon/events.h"
#include "reveza/gpu/daemon/gpus.h"
#include "reveza/gpu/scheduler/scheduler.h"
#include "reveza/gpu/usage/counters.h"
#include "reveza/gpu/wire/messages.h"

namespace reveza::daemon {

using scheduler::ClientId;
using scheduler::JobId;

struct ClientEntry {
  ClientId id = 0;
  JobId job = 0;
  pid_t pid = 0;
  std::uint16_t version = 0;  // of the protocol
  std::string name;           // display name: given by the user, else of the program
  std::string command;
  bool resident = false;
  bool gate_open = false;  // according to orders and answers so far
  std::set<GpuId> admitted;
  std::set<GpuId> with_context;
  bool contexts_away = false;  // off the card, or on the way
  // Measured context sizes. The client's own figure is an estimate until it receives this one.
  std::map<GpuId, Bytes> measured_context;

  // An unanswered order.
  struct PendingOrder {
    std::uint32_t serial = 0;
    Time sent{0};
    Bytes unchanged = 0;  // reported so far
  };
  std::optional<PendingOrder> close;
  std::map<GpuId, PendingOrder> evict;
  std::optional<PendingOrder> swap_in;
  std::map<GpuId, Bytes> swapped;      // as last reported
  std::map<GpuId, Bytes> swapping_in;  // what was swapped when the order was sent
  // Contexts that come back once readings that answer `request` have shown that there is room.
  struct Restore {
    std::uint32_t serial = 0;
    std::uint64_t request = 0;
    bool sent = false;
  };
  std::optional<Restore> restore;
  // A context whose size is being read. Until then, nothing that the client sends is handled.
  struct Measurement {
    std::uint64_t request = 0;
    GpuId gpu = 0;
    Bytes reported = 0;  // by the client
    Time since{0};
    std::vector<std::string> packets;
  };
  std::optional<Measurement> measurement;
  bool violated_protocol = false;  // by one of those packets: dropped at the next one
  // Serial of a CloseGate that timed out (0: none). If it is answered after all, the gate must
  // open.
  std::uint32_t expired_close = 0;

  // Start times of unfinished trace events; memory waits by request.
  std::map<EventKind, Time> open_spans;
  std::map<std::uint32_t, Time> growths;

  // The wait reason sent last.
  scheduler::WaitReason why = scheduler::WaitReason::kNone;
  JobId why_blocked_by = 0;

  // Of a program larger than the card: what is in memory of the host at its place, as last
  // reported, and all that has moved.
  struct OnHost {
    Bytes bytes = 0;
    Bytes hot = 0;      // changes all the time
    bool full = false;  // what is hot has no room on the card
    Time pass{0};       // over what is hot, estimated
    Bytes promoted = 0;
    Bytes demoted = 0;
  };
  std::map<GpuId, OnHost> on_host;

  Bytes copied_out = 0;
  Bytes copied_in = 0;
  Bytes unchanged = 0;  // left the GPU without a copy
  Time waited{0};       // at the gate
  Time joined{0};
};

// Returns the program name of a command line; for an interpreter, the name of the script.
std::string ProgramName(const std::string& command);

// The process at the other end of a connection.
struct Peer {
  pid_t pid = 0;  // 0: unknown
  uid_t uid = 0;
  std::uint16_t version = wire::kVersion;  // of the protocol
  Identity identity{};                     // if there are classes or quotas
};

// What the daemon knows of a job while one of its clients is connected.
struct JobEntry {
  static constexpr std::size_t kMaxWaits = 512;
  static constexpr Time kShareWindow = std::chrono::seconds(60);

  uid_t owner = 0;  // of its first client
  scheduler::Policy policy;
  std::string policy_class;  // empty: none
  scheduler::Quota quota;    // of its owner
  std::deque<Time> waits;    // the last ones at the gate
  std::string name;          // of its first client
  Bytes copied_out = 0;      // by all its clients
  Bytes copied_in = 0;
  usage::Counters reported;  // to the sink of usage so far
  // GPU time at the polls of the last kShareWindow.
  std::deque<std::pair<Time, Time>> samples;

  // Returns the wait that `share` of the last ones did not exceed.
  Time WaitPercentile(double share) const;
};

// Shares of the GPU time of all jobs that compete for a GPU: by weight, and in the last
// kShareWindow.
struct GpuShare {
  double wanted = 0;
  double got = 0;
};

// Overwrites the fields of `policy` that the message names.
void ApplyPolicy(const wire::Policy& message, scheduler::Policy& policy);
// Returns the message that restores the policy.
wire::Policy PolicyMessage(const scheduler::Policy& policy);

// Facts that the reason may refer to.
struct WaitContext {
  Time now{0};
  Time max_wait{0};
  Bytes host_free = 0;
  Bytes host_budget = 0;
  std::size_t rotating = 0;  // jobs in the rotation
  const scheduler::JobView* blocker = nullptr;
  std::string blocker_name;  // "train-a (pid 123)"
  Bytes need = 0;            // GPU memory of the waiting job
  Bytes budget = 0;          // of its first GPU, less external memory
};

// Returns one line; empty if the job does not wait.
std::string WaitReasonText(const scheduler::JobView& job, const WaitContext& context);

// Handover statistics of one GPU.
struct HandoverStats {
  std::uint64_t count = 0;
  Time total{0};
  std::uint64_t drain_count = 0, out_count = 0, in_count = 0;
  Time drain{0}, out{0}, in{0};
  Bytes bytes_out = 0, bytes_in = 0;
  Bytes bytes_unchanged = 0;  // left without a copy
  // The handover in progress (empty: none): the jobs that close, and since when.
  std::set<JobId> from;
  Time started{0};
};

}  // namespace reveza::daemon
