#include "tests/random_programs/world.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace reveza::random_programs {

World::World(const Driver& driver, const Program& program, std::size_t memory, bool concurrent)
    : driver_(driver),
      devices_(program.devices),
      per_thread_(program.resolve == Resolve::kPerThread),
      concurrent_(concurrent),
      memory_(memory) {}

void World::Begin() {
  for (int device = 0; device < devices_; ++device) Retain(device);
  text_ += "\n";
}

void World::Run(const Operation& operation) {
  thread_ = operation.thread;
  text_ += ToText(operation) + ":";
  Dispatch(operation);
  text_ += "\n";
}

void World::Dispatch(const Operation& operation) {
  const auto [a, b, c, d] = operation.arguments;
  const Kind kind = operation.kind;
  if (RunContextOperation(kind, a, b) || RunStreamOperation(kind, a, b, c) ||
      RunMemoryOperation(kind, operation.arguments) || RunWork(kind, operation.arguments) ||
      RunGraphOperation(kind, a, b)) {
    return;
  }
  if (kind == Kind::kCheck) {
    Check();
  } else if (kind == Kind::kForkProcess && !concurrent_) {
    const pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    NoteValue(child > 0 && waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : -1);
  }
}

bool World::RunContextOperation(Kind kind, int a, int b) {
  const int context = a % kContexts;
  const int device = a % devices_;
  switch (kind) {
    case Kind::kRetainPrimary:
      Retain(device);
      return true;
    case Kind::kReleasePrimary:
      ReleasePrimary(device, false);
      return true;
    case Kind::kResetPrimary:
      ReleasePrimary(device, true);
      return true;
    case Kind::kCreateContext:
      CreateContext(context, b % devices_);
      return true;
    case Kind::kDestroyContext:
      DestroyContext(context);
      return true;
    case Kind::kUseContext:
      UseContext(context);
      return true;
    case Kind::kEnablePeer:
      ChangePeer(context, b % kContexts, true);
      return true;
    case Kind::kDisablePeer:
      ChangePeer(context, b % kContexts, false);
      return true;
    case Kind::kMemoryInfo:
      MemoryInfo(device);
      return true;
    default:
      return false;
  }
}

bool World::RunStreamOperation(Kind kind, int a, int b, int c) {
  switch (kind) {
    case Kind::kCreateStream:
      CreateStream(a % kStreams, b % kContexts, c % 4);
      return true;
    case Kind::kDestroyStream:
      DestroyStream(a % kStreams);
      return true;
    case Kind::kSyncStream:
      if (Stream* stream = Usable(a % kStreams)) {
        ReleaseHolds();
        Enter(stream->context);
        Note(driver_.cuStreamSynchronize(stream->handle));
      }
      return true;
    case Kind::kSyncContext:
      if (Exists(a % kContexts) && !(concurrent_ && IsPrimary(a % kContexts))) {
        ReleaseHolds();
        Enter(a % kContexts);
        Note(driver_.cuCtxSynchronize());
      }
      return true;
    case Kind::kCreateEvent:
      CreateEvent(a % kEvents, b % kContexts);
      return true;
    case Kind::kDestroyEvent:
      DestroyEvent(a % kEvents);
      return true;
    case Kind::kRecordEvent:
      RecordEvent(a % kEvents, b % kStreams);
      return true;
    case Kind::kWaitEvent:
      WaitEvent(a % kEvents, b % kStreams);
      return true;
    case Kind::kSyncEvent:
      if (events_[a % kEvents].handle != nullptr) {
        ReleaseHolds();
        Note(driver_.cuEventSynchronize(events_[a % kEvents].handle));
      }
      return true;
    case Kind::kHold:
      Hold(a % kStreams);
      return true;
    case Kind::kRelease:
      ReleaseHolds();
      return true;
    default:
      return false;
  }
}

bool World::RunMemoryOperation(Kind kind, const std::array<int, kMaxArguments>& arguments) {
  const auto [a, b, c, d] = arguments;
  const int buffer = a % kBuffers;
  switch (kind) {
    case Kind::kAlloc:
    case Kind::kAllocHost:
    case Kind::kAllocManaged:
      Allocate(kind, buffer, b % kContexts, c);
      return true;
    case Kind::kAllocAsync:
      AllocateAsync(buffer, b % kStreams, c);
      return true;
    case Kind::kCreateHandle:
      CreateHandle(buffer, b % kContexts, c, d % 2 == 1);
      return true;
    case Kind::kExport:
      Export(buffer, b % kBuffers);
      return true;
    case Kind::kRetainHandle:
      RetainHandle(buffer);
      return true;
    case Kind::kMoveMapping:
      MoveMapping(buffer);
      return true;
    case Kind::kShareAccess:
      ShareAccess(buffer);
      return true;
    case Kind::kFree:
      Free(buffer);
      return true;
    case Kind::kFreeAsync:
      FreeAsync(buffer, b % kStreams);
      return true;
    case Kind::kQuery:
      Query(buffer);
      return true;
    case Kind::kBadCall:
      BadCall(a, b % kBuffers);
      return true;
    default:
      return false;
  }
}

bool World::RunWork(Kind kind, const std::array<int, kMaxArguments>& arguments) {
  const auto [a, b, c, d] = arguments;
  switch (kind) {
    case Kind::kMemset:
      Memset(a % kBuffers, b % kStreams, c, d);
      return true;
    case Kind::kFill:
    case Kind::kAdd:
    case Kind::kStep:
      Kernel(kind, a % kBuffers, b % kStreams, c);
      return true;
    case Kind::kCopy:
    case Kind::kCopyKernel:
      Copy(a % kBuffers, b % kBuffers, c % kStreams, kind == Kind::kCopyKernel);
      return true;
    case Kind::kSpin:
      Spin(a % kStreams, b);
      return true;
    case Kind::kHostCall:
      HostCall(a % kStreams, b);
      return true;
    default:
      return false;
  }
}

bool World::RunGraphOperation(Kind kind, int a, int b) {
  switch (kind) {
    case Kind::kBeginCapture:
      BeginCapture(a % kStreams, b % 3);
      return true;
    case Kind::kForkCapture:
      ForkCapture(a % kStreams, b % kStreams);
      return true;
    case Kind::kEndCapture:
      EndCapture(a % kStreams, b % kGraphs);
      return true;
    case Kind::kLaunchGraph:
      LaunchGraph(a % kGraphs, b % kStreams);
      return true;
    case Kind::kDestroyGraph:
      DestroyGraph(a % kGraphs);
      return true;
    default:
      return false;
  }
}

bool World::Must(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) text_ += std::string(" ") + what + "=" + std::to_string(result);
  return result == CUDA_SUCCESS;
}

void World::EndThread(int thread) {
  thread_ = thread;
  text_ += "end of thread:";
  for (int stream = 0; stream < kStreams; ++stream) {
    if (captures_[stream].active &&
        (captures_[stream].relaxed || captures_[stream].thread == thread))
      EndCapture(stream, 0);
  }
  text_ += "\n";
}

void World::End() {
  text_ += "end:";
  Check();
  for (int graph = 0; graph < kGraphs; ++graph) DestroyGraph(graph);
  for (int buffer = 0; buffer < kBuffers; ++buffer) Free(buffer);
  for (int stream = 0; stream < kStreams; ++stream) {
    if (Usable(stream) == nullptr) continue;
    Enter(streams_[stream].context);
    Must(driver_.cuStreamSynchronize(streams_[stream].handle), "sync");
    DestroyStream(stream);
  }
  for (int context = devices_; context < kContexts; ++context) DestroyContext(context);
  for (int device = 0; device < devices_; ++device) {
    if (!Exists(device)) Retain(device);
    CUmemoryPool pool = nullptr;
    Enter(device);
    Must(driver_.cuDeviceGetDefaultMemPool(&pool, device), "pool");
    Must(driver_.cuMemPoolTrimTo(pool, 0), "trim");
  }
  text_ += "\n";
}

}  // namespace reveza::random_programs
