// Per-process state of the fake driver, under one lock.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "fakecuda/address_space.h"
#include "fakecuda/card.h"
#include "fakecuda/options.h"

// Returns the result of `expression` from the function unless it is CUDA_SUCCESS.
#define RETURN_IF_ERROR(expression)                                                     \
  do {                                                                                  \
    if (const CUresult result_ = (expression); result_ != CUDA_SUCCESS) return result_; \
  } while (false)

namespace fakecuda {

struct Context;
struct Stream;
struct Graph;
struct GraphNode;
struct ExecutableGraph;

// Maps handles to objects. Handles are never reused, so that stale ones are detected.
template <typename Handle, typename Object>
class HandleTable {
 public:
  explicit HandleTable(std::uintptr_t first) : next_(first) {}
  Handle Add(std::shared_ptr<Object> object) {
    const std::uintptr_t number = next_;
    next_ += 16;
    objects_[number] = std::move(object);
    return reinterpret_cast<Handle>(number);
  }
  std::shared_ptr<Object> Find(Handle handle) const {
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }
  void Remove(Handle handle) { objects_.erase(reinterpret_cast<std::uintptr_t>(handle)); }
  template <typename Condition>
  void RemoveIf(Condition condition) {
    std::erase_if(objects_, [&](const auto& entry) { return condition(*entry.second); });
  }
  const std::map<std::uintptr_t, std::shared_ptr<Object>>& all() const { return objects_; }

 private:
  std::uintptr_t next_;
  std::map<std::uintptr_t, std::shared_ptr<Object>> objects_;
};

using StateLock = std::unique_lock<std::mutex>;

// One execution of work.
class Execution {
 public:
  Execution(Context* context, int device, std::uint64_t number)
      : context_(context), device_(device), number_(number) {}
  // Returns the host pointer to a device range; nullptr (illegal address) if the device cannot
  // access it. The range stays valid while the work runs, unless it is aborted.
  char* Range(CUdeviceptr start, std::uint64_t bytes, bool write);
  // Like Range(), with the access rights of the device that owns the memory.
  char* RangeOfOwner(CUdeviceptr start, std::uint64_t bytes, bool write);
  // Returns whether memory in use was revoked; the work should end as soon as possible.
  bool aborted() const { return aborted_.load(std::memory_order_relaxed); }
  void Abort() { aborted_.store(true, std::memory_order_relaxed); }
  bool Uses(CUdeviceptr start, std::uint64_t bytes) const;
  Context* context() const { return context_; }
  int device() const { return device_; }
  std::uint64_t number() const { return number_; }

 private:
  char* Find(StateLock& lock, int device, CUdeviceptr start, std::uint64_t bytes, bool write);

  struct Use {
    CUdeviceptr start;
    std::uint64_t bytes;
  };
  Context* const context_;
  const int device_;
  const std::uint64_t number_;
  std::atomic<bool> aborted_ = false;
  std::vector<Use> uses_;  // under the lock of State
};

enum class Engine { kInstant, kCompute, kToDevice, kFromDevice, kHost };

using WorkFunction = std::function<CUresult(Execution&)>;

// One item of a stream.
struct Work {
  Engine engine = Engine::kCompute;
  WorkFunction run = nullptr;             // runs without the lock, except for kInstant
  std::function<bool()> ready = nullptr;  // called under the lock; null: always ready
  bool polled = false;                    // `ready` may change without notification
  bool runs_after_failure = false;
  std::uint64_t sequence = 0;
};

struct Capture {
  std::uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  Stream* origin = nullptr;
  std::shared_ptr<Graph> graph;
  bool invalidated = false;
  std::set<Stream*> streams;
};

struct Stream {
  Context* context = nullptr;
  CUstream handle = nullptr;
  std::uint64_t id = 0;
  unsigned flags = 0;
  int priority = 0;
  bool legacy = false;
  bool running = false;
  std::deque<Work> queue;
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode*> tail;  // dependencies of the next captured node

  bool blocking() const { return (flags & CU_STREAM_NON_BLOCKING) == 0; }
};

// One record of an event.
struct EventRecord {
  bool done = false;
  std::uint64_t time = 0;
  EventSlot* shared = nullptr;  // for interprocess events
  std::uint64_t generation = 0;
};

struct Event {
  Context* context = nullptr;
  unsigned flags = 0;
  EventSlot* shared = nullptr;
  std::shared_ptr<EventRecord> record;  // nullptr: never recorded
  std::shared_ptr<Capture> capture;     // recorded in a capture
  std::vector<GraphNode*> captured_tail;
};

struct Context {
  CUcontext handle = nullptr;
  int device = 0;
  bool primary = false;
  int references = 1;              // of cuCtxAttach
  CUresult failed = CUDA_SUCCESS;  // sticky
  std::uint64_t bytes = 0;         // device memory of the context, including lazily loaded code
  std::shared_ptr<Stream> legacy;
  std::map<std::thread::id, std::shared_ptr<Stream>> per_thread;
  std::set<std::shared_ptr<Stream>> streams;  // including destroyed ones with pending work
  std::set<int> peers;
  std::set<const void*> loaded_functions;
};

// A pointer returned by an allocating entry.
struct Allocation {
  CUdeviceptr start = 0;
  std::uint64_t bytes = 0;
  Context* context = nullptr;
  int device = 0;
  MemoryKind kind = MemoryKind::kNative;
  std::uint64_t buffer_id = 0;
  CUdeviceptr slab = 0;  // the shared granule of a small allocation
  CUmemoryPool pool = nullptr;
  // kManaged: the device of each granule; -1: on the host.
  std::vector<std::int8_t> pages = {};
};

struct Kernel;
struct Module {
  Context* context = nullptr;
};
struct Function {
  const Kernel* kernel = nullptr;
  CUmodule module = nullptr;
};

struct Pool {
  int device = 0;
  std::uint64_t release_threshold = 0;
  std::uint64_t used = 0, used_high = 0;  // as requested; what is freed counts no more at once
  std::uint64_t reserved = 0, reserved_high = 0;
  std::map<CUmemPool_attribute, int> switches;
  std::multimap<std::uint64_t, CUdeviceptr> cached;
  std::uint64_t cached_bytes = 0;
};

struct Array {
  Context* context = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  CUdeviceptr memory = 0;
};

// Memory of a graph's allocation node: a range, and physical memory from the first launch on. The
// device keeps what no graph needs any more for others, until it is trimmed.
struct GraphMemory {
  CUdeviceptr start = 0;
  std::uint64_t bytes = 0;
  int device = 0;
  bool mapped = false;
};

struct Primary {
  std::shared_ptr<Context> context;
  int references = 0;
};

struct State {
  static State& Get();

  std::mutex mutex;
  std::condition_variable work_changed;  // wakes the workers
  std::condition_variable done_changed;  // wakes waiters for work or queue space

  Options options;
  std::unique_ptr<Card> card;
  std::mt19937_64 random;
  std::uint64_t next_sequence = 1;
  std::uint64_t next_id = 1;
  bool workers_started = false;

  AddressSpace addresses;
  std::map<CUdeviceptr, Allocation> allocations;
  struct Slab {
    int device;
    Context* context;
    std::map<std::uint64_t, std::uint64_t> free;  // offset -> bytes
  };
  std::map<CUdeviceptr, Slab> slabs;
  std::map<CUmemGenericAllocationHandle, std::shared_ptr<Physical>> physicals;
  std::set<Execution*> executions;

  HandleTable<CUcontext, Context> contexts{0x10000000};
  HandleTable<CUstream, Stream> streams{0x20000000};
  HandleTable<CUevent, Event> events{0x30000000};
  HandleTable<CUmodule, Module> modules{0x40000000};
  HandleTable<CUfunction, Function> functions{0x60000000};
  HandleTable<CUgraph, Graph> graphs{0x70000000};
  HandleTable<CUgraphExec, ExecutableGraph> executables{0x80000000};
  HandleTable<CUgraphNode, GraphNode> nodes{0x90000000};
  HandleTable<CUmemoryPool, Pool> pools{0xa0000000};
  HandleTable<CUarray, Array> arrays{0xb0000000};
  // With their devices: a thread can still ask for that of its current context.
  std::map<CUcontext, int> destroyed_contexts;
  std::array<Primary, kMaxDevices> primaries;
  std::array<CUmemoryPool, kMaxDevices> default_pools = {};
  std::array<CUmemoryPool, kMaxDevices> current_pools = {};  // null: the default pool
  std::map<std::uint64_t, std::shared_ptr<Capture>> captures;
  std::vector<std::shared_ptr<GraphMemory>> graph_memory;

  Context* FindContext(CUcontext handle) const { return contexts.Find(handle).get(); }
};

// Per-thread state.
struct ThreadState {
  std::vector<CUcontext> contexts;
  bool per_thread_default = false;  // the current entry is a _ptsz or _ptds variant
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  bool in_callback = false;
  static ThreadState& Get();
};

// The lock and the current context of the calling thread. `result` is the error if there is no
// usable context.
struct Current {
  StateLock lock;
  Context* context = nullptr;
  CUresult result = CUDA_SUCCESS;
  bool ok() const { return result == CUDA_SUCCESS; }
};
Current EnterContext();

}  // namespace fakecuda
