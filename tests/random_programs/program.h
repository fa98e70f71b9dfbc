// A CUDA program as a list of operations, which can be printed, parsed, generated and shrunk.
//
// The text of a program, as stored in cases/:
//
//   devices 2
//   threads 2
//   mode serial
//   resolve proc
//   0 alloc 3 0 4
//   1 memset 3 0 17 0
//
// An operation is the number of a thread, a name of kOperations and its arguments. Arguments name
// slots (of contexts, streams, events, buffers, graphs) or values. An operation whose slots are not
// what it needs does nothing, so that any part of a program is a program.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace reveza::random_programs {

inline constexpr int kContexts = 5;  // the first ones are the primary contexts of the devices
inline constexpr int kStreams = 8;
inline constexpr int kEvents = 4;
inline constexpr int kBuffers = 12;
inline constexpr int kGraphs = 4;
inline constexpr int kMaxArguments = 4;
inline constexpr int kMaxThreads = 4;
inline constexpr int kMaxDevices = 2;

enum class Kind {
  // contexts
  kRetainPrimary,   // device
  kReleasePrimary,  // device
  kResetPrimary,    // device
  kCreateContext,   // context, device
  kDestroyContext,  // context
  kUseContext,      // context
  kEnablePeer,      // context, context of the other device
  kDisablePeer,     // context, context of the other device
  // streams and events
  kCreateStream,   // stream, context, kind: blocking, non-blocking, default, per-thread default
  kDestroyStream,  // stream
  kSyncStream,     // stream
  kSyncContext,    // context
  kCreateEvent,    // event, context
  kDestroyEvent,   // event
  kRecordEvent,    // event, stream
  kWaitEvent,      // event, stream
  kSyncEvent,      // event
  // memory
  kAlloc,         // buffer, context, size
  kAllocHost,     // buffer, context, size
  kAllocManaged,  // buffer, context, size
  kAllocAsync,    // buffer, stream, size
  kCreateHandle,  // buffer, context, size, whether the handle is released at once
  kExport,        // buffer, new buffer
  kRetainHandle,  // buffer
  kMoveMapping,   // buffer
  kShareAccess,   // buffer
  kFree,          // buffer
  kFreeAsync,     // buffer, stream
  kQuery,         // buffer
  kMemoryInfo,    // device
  kBadCall,       // which, buffer
  // work
  kMemset,      // buffer, stream, value, part: all, first or second half
  kFill,        // buffer, stream, value
  kAdd,         // buffer, stream, value
  kStep,        // buffer, stream, value
  kCopy,        // to, from, stream
  kCopyKernel,  // to, from, stream
  kSpin,        // stream, microseconds
  kHostCall,    // stream, value
  kHold,        // stream: waits until the host sets a flag
  kRelease,     // sets all flags
  // graphs
  kBeginCapture,  // stream, mode: global, thread-local, relaxed
  kForkCapture,   // stream, stream that joins the capture
  kEndCapture,    // stream, graph
  kLaunchGraph,   // graph, stream
  kDestroyGraph,  // graph
  // everything
  kCheck,
  kForkProcess,
};

struct OperationInfo {
  Kind kind;
  std::string_view name;
  int arguments;
};
// In the order of Kind.
extern const std::array<OperationInfo, 48> kOperations;

struct Operation {
  int thread = 0;
  Kind kind = Kind::kCheck;
  std::array<int, kMaxArguments> arguments{};

  bool operator==(const Operation&) const = default;
};

enum class Resolve { kProc, kDlsym, kPerThread };

struct Program {
  int devices = 1;
  int threads = 1;
  // Threads run the operations one after another and share all slots. Otherwise each has slots of
  // its own, and they run concurrently.
  bool serial = true;
  Resolve resolve = Resolve::kProc;
  std::vector<Operation> operations;

  bool operator==(const Program&) const = default;
};

std::string ToText(const Operation& operation);
std::string ToText(const Program& program);
// Empty lines and lines that begin with '#' are ignored.
Result<Program> ParseProgram(std::string_view text);

// Returns a program of about `operations` operations; equal arguments give equal programs.
Program Generate(std::uint64_t seed, int devices, int operations);

}  // namespace reveza::random_programs
