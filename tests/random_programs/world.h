// Executes the operations of a random program and writes down what the driver returned and what the
// memory held. The text depends on the program alone: work on the same memory is ordered by events,
// and values that depend on time or addresses are not written.
//
// Not thread-safe: the operations of one world run one at a time, on the threads that they name.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/random_programs/driver.h"

namespace reveza::random_programs {

class World {
 public:
  // `memory` bounds what the world allocates on a device. `concurrent`: other worlds of the process
  // run at the same time, so calls that affect their contexts or captures are left out.
  World(const Driver& driver, const Program& program, std::size_t memory, bool concurrent);

  // Retains and prepares the primary contexts.
  void Begin();
  void Run(const Operation& operation);
  // Ends what `thread` has begun and only it can end. Call for each thread before End().
  void EndThread(int thread);
  // Checks and frees everything but the primary contexts.
  void End();

  // Holds `bytes` of each device and works on them until `more` returns false. Returns 0 if they
  // always held what was written.
  int Contend(std::size_t bytes, const std::function<bool()>& more);

  const std::string& text() const { return text_; }

 private:
  // A point in a stream: the last use of some memory.
  struct Mark {
    CUevent event = nullptr;  // null: the work has ended with its context
    int context = 0;
    int stream = -1;  // the stream while it exists; then the event is recorded for good
  };
  struct Context {
    CUcontext handle = nullptr;
    CUfunction fill = nullptr, add = nullptr, step = nullptr, copy = nullptr, spin = nullptr;
    unsigned* flags = nullptr;  // pinned, one of each stream
    int device = 0;
    int references = 0;
    std::set<int> peers;  // contexts
  };
  struct Stream {
    bool exists = false;
    CUstream handle = nullptr;
    int context = 0;
    int kind = 0;
    int thread = 0;          // whose per-thread stream it is
    int capture = -1;        // the stream whose capture this one takes part in
    CUevent fork = nullptr;  // joins other streams to the capture
    unsigned held = 0;       // value that the flag must reach
    std::shared_ptr<Mark> mark;
  };
  enum class Type { kNative, kHost, kManaged, kPool, kHandle };
  // Memory, which several buffers may map.
  struct Storage {
    Type type = Type::kNative;
    std::size_t bytes = 0;
    int device = -1;
    int context = 0;
    bool written = false;
    CUmemGenericAllocationHandle handle = 0;
    int mappings = 0;
    std::shared_ptr<Mark> last;
    int branch = -1;  // the stream that uses it in a capture
  };
  struct Buffer {
    std::shared_ptr<Storage> storage;
    CUdeviceptr address = 0;
  };
  struct Capture {
    bool active = false;
    int thread = 0;
    bool relaxed = false;
    std::vector<std::shared_ptr<Storage>> storages;
  };
  struct Graph {
    CUgraphExec executable = nullptr;
    int context = 0;
    std::vector<std::weak_ptr<Storage>> storages;
  };
  struct Event {
    CUevent handle = nullptr;
    int context = 0;
  };
  struct HostCallData {
    std::atomic<long long>* sum;
    int value;
  };

  // world.cc
  void Note(CUresult result) { text_ += " " + std::to_string(result); }
  void NoteValue(long long value) { text_ += " =" + std::to_string(value); }
  // Writes down the result of a call that is no operation of its own, unless it succeeded.
  bool Must(CUresult result, const char* what);
  void Dispatch(const Operation& operation);
  bool RunContextOperation(Kind kind, int a, int b);
  bool RunStreamOperation(Kind kind, int a, int b, int c);
  bool RunMemoryOperation(Kind kind, const std::array<int, kMaxArguments>& arguments);
  bool RunWork(Kind kind, const std::array<int, kMaxArguments>& arguments);
  bool RunGraphOperation(Kind kind, int a, int b);

  // world_contexts.cc
  bool Exists(int context) const;
  bool IsPrimary(int context) const { return context < devices_; }
  void Enter(int context);
  void Prepare(int context);
  void Retain(int device);
  void ReleasePrimary(int device, bool reset);
  void CreateContext(int context, int device);
  void DestroyContext(int context);
  void UseContext(int context);
  void BeforeContextEnds(int context);
  void AfterContextEnded(int context);
  void ChangePeer(int context, int peer, bool enable);
  void MemoryInfo(int context);

  // world_streams.cc
  Stream* Usable(int stream);
  void CreateStream(int stream, int context, int kind);
  void DestroyStream(int stream);
  std::shared_ptr<Mark> NewMark(int stream);
  // Makes `stream` wait for the last work on the memory. False: it may not use the memory.
  bool Order(const std::shared_ptr<Storage>& storage, int stream);
  void WaitFor(const std::shared_ptr<Storage>& storage);
  void ReleaseHolds();
  void Hold(int stream);
  void CreateEvent(int event, int context);
  void DestroyEvent(int event);
  void RecordEvent(int event, int stream);
  void WaitEvent(int event, int stream);
  bool AnyCapture() const;

  // world_memory.cc
  std::size_t Used(int device) const;
  bool MayAllocate(int buffer, int context, std::size_t bytes, int device);
  void Store(int buffer, Type type, CUdeviceptr address, std::size_t bytes, int context,
             CUmemGenericAllocationHandle handle = 0);
  void Allocate(Kind kind, int buffer, int context, int size);
  void AllocateAsync(int buffer, int stream, int size);
  void CreateHandle(int buffer, int context, int size, bool release);
  CUdeviceptr Map(CUmemGenericAllocationHandle handle, std::size_t bytes, int device);
  void Unmap(CUdeviceptr address, std::size_t bytes);
  void Export(int buffer, int copy);
  void RetainHandle(int buffer);
  void MoveMapping(int buffer);
  void ShareAccess(int buffer);
  void Free(int buffer);
  void FreeAsync(int buffer, int stream);
  void Query(int buffer);
  void BadCall(int which, int buffer);
  void Check();

  // world_work.cc
  bool Ready(int buffer, int stream, bool by_kernel, bool whole = false);
  bool MayAccess(const Storage& storage, int context) const;
  void Launch(int stream, CUfunction function, std::vector<void*> arguments);
  void Memset(int buffer, int stream, int value, int part);
  void Kernel(Kind kind, int buffer, int stream, int value);
  void Copy(int to, int from, int stream, bool by_kernel);
  void Spin(int stream, int microseconds);
  void HostCall(int stream, int value);

  // world_graphs.cc
  void BeginCapture(int stream, int mode);
  void ForkCapture(int stream, int other);
  void EndCapture(int stream, int graph);
  void LaunchGraph(int graph, int stream);
  void DestroyGraph(int graph);

  const Driver& driver_;
  const int devices_;
  const bool per_thread_;  // the default stream is the thread's own
  const bool concurrent_;
  const std::size_t memory_;
  int thread_ = 0;  // that runs
  unsigned next_held_ = 1;
  std::size_t baseline_[kMaxDevices] = {};  // free memory with nothing allocated
  std::string text_;
  Context contexts_[kContexts];
  Stream streams_[kStreams];
  Event events_[kEvents];
  Buffer buffers_[kBuffers];
  Capture captures_[kStreams];
  Graph graphs_[kGraphs];
  std::vector<std::shared_ptr<Mark>> marks_;
  std::unique_ptr<std::atomic<long long>> host_sum_ = std::make_unique<std::atomic<long long>>(0);
  std::vector<std::unique_ptr<HostCallData>> host_calls_;
};

}  // namespace reveza::random_programs
