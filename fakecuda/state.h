// Everything that one process knows of the fake driver, under one lock.
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

#include "address_space.h"
#include "card.h"
#include "options.h"

namespace fakecuda {

struct Context;
struct Stream;
struct Graph;
struct GraphNode;

// Handles are numbers that are never used twice, so that a stale one is always seen.
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
  const std::map<std::uintptr_t, std::shared_ptr<Object>>& all() const { return objects_; }

 private:
  std::uintptr_t next_;
  std::map<std::uintptr_t, std::shared_ptr<Object>> objects_;
};

// One execution of work by the card.
class Execution {
 public:
  Execution(Context* context, int device, std::uint64_t number)
      : context_(context), device_(device), number_(number) {}
  // Where the card finds these bytes; null (an illegal address) when they are not mapped for it.
  // As long as the work runs nobody takes them away without aborting it.
  char* Range(CUdeviceptr start, std::uint64_t bytes, bool write);
  // The same with the access of the device that the memory is on.
  char* RangeOfOwner(CUdeviceptr start, std::uint64_t bytes, bool write);
  // True when memory in use was taken away: the work ends as soon as it can.
  bool aborted() const { return aborted_.load(std::memory_order_relaxed); }
  void Abort() { aborted_.store(true, std::memory_order_relaxed); }
  bool Uses(CUdeviceptr start, std::uint64_t bytes) const;
  Context* context() const { return context_; }
  int device() const { return device_; }
  std::uint64_t number() const { return number_; }

 private:
  char* Find(int device, CUdeviceptr start, std::uint64_t bytes, bool write);

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
  WorkFunction run = nullptr;             // without the lock, except for kInstant
  std::function<bool()> ready = nullptr;  // under the lock; none: ready when its turn comes
  bool polled = false;                    // what it waits for may change without a word
  bool even_after_failure = false;
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
  std::vector<GraphNode*> tail;  // what the next captured node depends on

  bool blocking() const { return (flags & CU_STREAM_NON_BLOCKING) == 0; }
};

// One recording of an event.
struct Marker {
  bool done = false;
  std::uint64_t time = 0;
  EventSlot* shared = nullptr;  // for events between processes
  std::uint64_t generation = 0;
};

struct Event {
  Context* context = nullptr;
  unsigned flags = 0;
  EventSlot* shared = nullptr;
  std::shared_ptr<Marker> marker;    // null: never recorded
  std::shared_ptr<Capture> capture;  // recorded in a capture
  std::vector<GraphNode*> captured_tail;
};

struct Context {
  CUcontext handle = nullptr;
  std::uint64_t id = 0;
  int device = 0;
  unsigned flags = 0;
  unsigned version = 0;
  bool primary = false;
  CUresult failed = CUDA_SUCCESS;  // sticky
  std::uint64_t bytes = 0;         // what it takes of the card, with what launches took
  std::shared_ptr<Stream> legacy;
  std::map<std::thread::id, std::shared_ptr<Stream>> per_thread;
  std::set<std::shared_ptr<Stream>> streams;  // these and all others, also destroyed ones with work
  std::set<int> peers;
  std::set<const void*> loaded_functions;
  std::map<int, std::size_t> limits;
};

// What the program was given: a pointer from an allocation call.
struct Allocation {
  CUdeviceptr start = 0;
  std::uint64_t bytes = 0;
  Context* context = nullptr;
  int device = 0;
  MemoryKind kind = MemoryKind::kNative;
  unsigned flags = 0;
  std::uint64_t buffer_id = 0;
  CUdeviceptr slab = 0;  // the small ones share a granule
  CUmemoryPool pool = nullptr;
};

struct Kernel;
struct Module {
  Context* context = nullptr;  // null for a library
};
struct Function {
  const Kernel* kernel = nullptr;
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
};

struct Pool {
  int device = 0;
  CUmemPoolProps properties = {};
  std::uint64_t release_threshold = 0;
  std::uint64_t used = 0, used_high = 0, reserved_high = 0;
  std::map<CUmemPool_attribute, int> switches;
  std::multimap<std::uint64_t, CUdeviceptr> cached;
  std::uint64_t cached_bytes = 0;
};

struct Array {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  CUdeviceptr memory = 0;
};

struct Primary {
  std::shared_ptr<Context> context;
  int references = 0;
  unsigned flags = 0;
};

struct State {
  static State& Get();

  std::mutex mutex;
  std::condition_variable work_changed;  // for the workers
  std::condition_variable done_changed;  // for who waits for work to end, or for room in a queue

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
  HandleTable<CUlibrary, Module> libraries{0x50000000};
  HandleTable<CUfunction, Function> functions{0x60000000};
  HandleTable<CUgraph, Graph> graphs{0x70000000};
  HandleTable<CUgraphExec, Graph> executables{0x80000000};
  HandleTable<CUgraphNode, GraphNode> nodes{0x90000000};
  HandleTable<CUmemoryPool, Pool> pools{0xa0000000};
  HandleTable<CUarray, Array> arrays{0xb0000000};
  std::array<Primary, kMostDevices> primaries;
  std::array<CUmemoryPool, kMostDevices> default_pools = {};
  std::array<CUmemoryPool, kMostDevices> current_pools = {};
  std::map<std::uint64_t, std::shared_ptr<Capture>> captures;

  Context* FindContext(CUcontext handle) const { return contexts.Find(handle).get(); }
};

// What belongs to one thread.
struct ThreadState {
  std::vector<CUcontext> contexts;
  bool per_thread_default = false;  // the entry in progress is a _ptsz or _ptds twin
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  bool in_callback = false;
  static ThreadState& Get();
};

using StateLock = std::unique_lock<std::mutex>;

// The lock, and the context that is current to the calling thread. `result` says why there is
// none that works.
struct Current {
  StateLock lock;
  Context* context = nullptr;
  CUresult result = CUDA_SUCCESS;
  bool ok() const { return result == CUDA_SUCCESS; }
};
Current EnterContext();

}  // namespace fakecuda
