// State shared by all processes of one FAKECUDA_DIR: memory per process, link occupancy,
// interprocess events and counters. The state is a mapped file under a robust mutex; the contents
// of each allocation are a file of their own. Memory of dead processes, which no longer lock their
// slot, is reclaimed when memory is short or counted. Users who may write the directory share its
// devices, whoever made a file.
//
// Thread-safe.
#pragma once

#include <pthread.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fakecuda/options.h"

namespace fakecuda {

inline constexpr int kMaxDevices = 8;
inline constexpr int kMaxProcesses = 256;
inline constexpr int kMaxAllocations = 65536;
inline constexpr int kMaxSharedEvents = 1024;
inline constexpr int kMaxCounters = 1024;
inline constexpr std::uint64_t kGranule = 2ull << 20;

constexpr std::uint64_t RoundUp(std::uint64_t bytes, std::uint64_t to = kGranule) {
  return (bytes + to - 1) / to * to;
}

enum class Direction { kToDevice, kFromDevice };

// Set of processes that hold an object.
struct Holders {
  std::uint64_t words[kMaxProcesses / 64];
  void Add(int process) { words[process / 64] |= 1ull << (process % 64); }
  void Remove(int process) { words[process / 64] &= ~(1ull << (process % 64)); }
  bool Has(int process) const { return (words[process / 64] >> (process % 64) & 1) != 0; }
  bool Empty() const { return (words[0] | words[1] | words[2] | words[3]) == 0; }
};

struct ProcessSlot {
  std::int32_t pid;     // 0: free
  std::uint64_t token;  // random, of the process
  std::uint64_t context_bytes[kMaxDevices];
  std::uint64_t away_context_bytes[kMaxDevices];  // of a checkpointed process
  std::uint64_t allocated[kMaxDevices];
  std::uint64_t managed[kMaxDevices];  // pages of managed memory that are on the device
  std::uint64_t peak[kMaxDevices];
  std::uint64_t on_host;
  std::uint64_t to_device, from_device, calls;
  std::uint64_t faults;  // pages of managed memory that work of the device had to wait for

  std::uint64_t Used(int device) const {
    return allocated[device] + managed[device] + context_bytes[device];
  }
};

enum class AllocationState : std::uint32_t {
  kFree,
  kHeld,       // by at least one process
  kExported,   // only by an exported file descriptor
  kReleasing,  // by no process; release is delayed
  kAway,       // of a checkpointed process: takes no device memory
};

struct AllocationSlot {
  std::uint64_t id;
  std::uint64_t bytes;
  std::uint64_t release_at;  // CLOCK_MONOTONIC, ns
  AllocationState state;
  std::uint32_t device;
  std::uint32_t handle_types;
  std::uint32_t exported;
  std::uint32_t on_host;  // memory of the host's NUMA node, not of the device
  Holders holders;
};

// Returns whether it takes memory of its device.
inline bool TakesMemory(const AllocationSlot& slot) {
  return slot.state != AllocationState::kFree && slot.state != AllocationState::kAway &&
         slot.on_host == 0;
}

struct EventSlot {
  std::uint64_t id;  // 0: free
  std::uint64_t recorded, completed;
  std::uint64_t time;
  Holders holders;
};

struct CardState {
  std::uint64_t magic;
  pthread_mutex_t mutex;
  std::int32_t devices;
  std::int32_t allocations_used;  // slots from this index on were never used
  std::int32_t partitioned;       // the devices are MIG instances of one card
  std::uint64_t next_id;
  std::uint64_t memory[kMaxDevices];
  double link;
  std::uint64_t used[kMaxDevices], peak[kMaxDevices];
  std::uint64_t host_memory;  // of the NUMA node; 0: unlimited
  std::uint64_t host_used, host_peak;
  std::uint64_t link_free_at[kMaxDevices][2];
  std::uint64_t to_device, from_device, on_device;
  std::uint64_t counters[kMaxCounters];
  ProcessSlot processes[kMaxProcesses];
  EventSlot events[kMaxSharedEvents];
  AllocationSlot allocations[kMaxAllocations];

  std::span<AllocationSlot> Slots() {
    return {allocations, static_cast<std::size_t>(allocations_used)};
  }
};

struct AllocationInfo {
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
  int device = 0;
  unsigned handle_types = 0;
  bool on_host = false;
};

class Card {
 public:
  // Returns nullptr if the directory is unusable (reported on stderr). An observer does not
  // register as a process and creates nothing.
  static std::unique_ptr<Card> Open(const Options& options, bool observer = false);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  // Releases everything that this process holds, as if it had died.
  void Unregister();

  int devices() const { return state_->devices; }
  bool HasDevice(int device) const { return device >= 0 && device < devices(); }
  bool partitioned() const { return state_->partitioned != 0; }
  std::uint64_t memory(int device) const { return state_->memory[device]; }
  std::uint64_t Used(int device);

  // Returns false if the device is full. New memory is filled with 0xDB.
  bool Allocate(int device, std::uint64_t bytes, unsigned handle_types, AllocationInfo* info);
  // Allocates memory of the host's NUMA node. Returns false if that is full.
  bool AllocateOnHost(std::uint64_t bytes, unsigned handle_types, AllocationInfo* info);
  // Adds this process to the holders. Returns false if the memory does not exist.
  bool Hold(std::uint64_t id, AllocationInfo* info);
  // Removes this process from the holders.
  void Drop(std::uint64_t id);
  // Opens the contents file; -1 on failure.
  int OpenContents(std::uint64_t id) const;
  // Returns a file descriptor that refers to and keeps the memory, for another process; -1 on
  // failure.
  int Export(std::uint64_t id);
  // Returns the id that an exported descriptor refers to; 0 if invalid.
  static std::uint64_t ImportedId(int descriptor);

  bool AddContextBytes(int device, std::uint64_t bytes);
  void RemoveContextBytes(int device, std::uint64_t bytes);
  // Takes memory of the device for pages of managed memory. Returns false if it is full.
  bool AddManaged(int device, std::uint64_t bytes);
  void RemoveManaged(int device, std::uint64_t bytes);
  void CountFaults(std::uint64_t pages);

  // Takes the memory of this process off the devices. Returns false, without effect, if other
  // processes have a part in it.
  bool TakeAway();
  // Brings it back. Returns false, without effect, if there is not enough room for all of it.
  bool BringBack();

  // Returns whether the memory of this process, also of another library of it, is away.
  bool IsAway();

  // Counts the bytes and blocks for the duration of the transfer.
  void UseLink(int device, Direction direction, std::uint64_t bytes);
  void CountOnDevice(std::uint64_t bytes);
  void CountCall(int entry);

  EventSlot* NewSharedEvent();
  EventSlot* HoldSharedEvent(std::uint64_t id);
  void DropSharedEvent(EventSlot* slot);
  std::uint64_t RecordSharedEvent(EventSlot* slot);
  void CompleteSharedEvent(EventSlot* slot, std::uint64_t generation);
  bool SharedEventDone(EventSlot* slot, std::uint64_t generation);
  std::uint64_t SharedEventRecorded(EventSlot* slot);

  void ResetCounters();
  // Returns the slot of this process; zeros for an observer.
  ProcessSlot Self();
  // Returns a copy without dead processes.
  std::unique_ptr<CardState> Snapshot();

 private:
  Card() = default;
  bool MapState(const Options& options, bool observer);
  void Initialise(const Options& options, bool fresh);
  bool Register();
  bool IsAlive(int slot) const;
  void Reclaim();
  void RemoveProcess(int process);
  void Free(AllocationSlot* slot);
  void ReleaseUnheld(AllocationSlot* slot);
  bool ExportInUse(const AllocationSlot& slot) const;
  AllocationSlot* Find(std::uint64_t id);
  AllocationSlot* FreeSlot();
  // Takes a slot for new memory, held by this process; nullptr if there is none.
  AllocationSlot* NewSlot(std::uint64_t bytes, unsigned handle_types);
  bool Fill(const AllocationInfo& info);
  static AllocationInfo Info(const AllocationSlot& slot);
  bool FillContents(std::uint64_t id, std::uint64_t bytes) const;
  std::string ContentsPath(std::uint64_t id) const;
  std::string ExportPath(std::uint64_t id) const;
  // Takes memory of a device for an account of this process. Returns false if the device is full.
  bool Take(int device, std::uint64_t bytes, std::uint64_t* account);
  void CountAllocated(int device, std::int64_t bytes);
  void CountAllocated(const AllocationSlot& slot, std::int64_t bytes);

  class Lock;
  std::string directory_;
  std::uint64_t token_ = 0;
  std::uint64_t late_release_nanoseconds_ = 0;
  CardState* state_ = nullptr;
  int process_ = -1;
};

// Opens a file of a card's directory. Whoever may write the directory may write a file made there.
int OpenOrCreate(const std::string& path, int flags);

// Robust lock of the shared state.
class Card::Lock {
 public:
  explicit Lock(CardState* state) : state_(state) {
    // A process that died holding the lock leaves at worst inconsistent totals: recompute them.
    if (pthread_mutex_lock(&state->mutex) == EOWNERDEAD) {
      Repair(state);
      pthread_mutex_consistent(&state->mutex);
    }
  }
  ~Lock() { pthread_mutex_unlock(&state_->mutex); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  static void Repair(CardState* state) {
    // Allocations without holders: it died while freeing them.
    for (AllocationSlot& slot : state->Slots()) {
      if (slot.state != AllocationState::kHeld || !slot.holders.Empty()) continue;
      slot.state = AllocationState::kReleasing;
      slot.release_at = 0;
    }
    for (int device = 0; device < kMaxDevices; ++device) state->used[device] = 0;
    state->host_used = 0;
    for (const AllocationSlot& slot : state->Slots()) {
      if (TakesMemory(slot)) state->used[slot.device] += slot.bytes;
      if (slot.state != AllocationState::kFree && slot.on_host != 0) state->host_used += slot.bytes;
    }
    for (const ProcessSlot& process : state->processes) {
      if (process.pid == 0) continue;
      for (int device = 0; device < kMaxDevices; ++device) {
        state->used[device] += process.context_bytes[device] + process.managed[device];
      }
    }
  }

  CardState* state_;
};

std::uint64_t NowNanoseconds();

}  // namespace fakecuda
