// What the daemon knows of one client beside what the scheduler knows.
// Thread-safety: values.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "daemon/events.h"
#include "daemon/gpus.h"
#include "scheduler/scheduler.h"

namespace reveza::daemon {

using scheduler::ClientId;
using scheduler::JobId;

struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
};

struct ClientEntry {
  ClientId id = 0;
  JobId job = 0;
  Peer peer;
  std::string name;  // as shown: what the user called it, else the program's
  std::string command;
  bool resident = false;
  bool gate_open = false;  // as far as our orders and its answers tell
  std::set<GpuId> wanted;  // a context is asked for or made
  std::set<GpuId> admitted;
  std::set<GpuId> with_context;
  // What its contexts took, where that could be measured. The client's own figure is an estimate
  // until it has heard of this one.
  std::map<GpuId, Bytes> measured_context;

  // The order that it has not answered, and since when.
  struct Order {
    std::uint32_t serial = 0;
    Time sent{0};
  };
  std::optional<Order> close;
  std::map<GpuId, Order> evict;
  std::optional<Order> swap_in;
  // A CloseGate that we stopped waiting for: should it be answered after all, the gate must open.
  std::uint32_t given_up = 0;

  // Begin of what is not over yet, for the trace. Memory waits are told apart by request.
  std::map<EventKind, Time> since;
  std::map<std::uint32_t, Time> growths;

  // Said last to the client.
  scheduler::WaitReason why = scheduler::WaitReason::kNone;
  JobId why_blocked_by = 0;

  Bytes copied_out = 0;
  Bytes copied_in = 0;
  Time waited{0};  // at the gate
  Time joined{0};
};

// The program's own name from its command line: for an interpreter, the script's.
std::string ProgramName(const std::string& command);

// Sums for the handovers of one GPU.
struct HandoverSums {
  std::uint64_t count = 0;
  Time total{0};
  std::uint64_t drains = 0, outs = 0, ins = 0;
  Time drain{0}, out{0}, in{0};
  Bytes bytes_out = 0, bytes_in = 0;
  // The one under way: whose gate began to close, and when.
  JobId from = 0;
  Time began{0};
};

}  // namespace reveza::daemon
