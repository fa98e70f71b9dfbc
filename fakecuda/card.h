// The cards that all processes of one FAKECUDA_DIR share: who holds how much memory, how busy the
// link is, events that processes share, and the counters. The state is one mapped file under a
// robust lock; the contents of each allocation are a file of its own. A process that has died
// holds nothing: whoever is short of memory, or counts it, looks for the dead first.
//
// Safe to call from any thread.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "options.h"

namespace fakecuda {

inline constexpr int kMostDevices = 8;
inline constexpr int kMostProcesses = 256;
inline constexpr int kMostAllocations = 65536;
inline constexpr int kMostSharedEvents = 1024;
inline constexpr int kMostCounters = 1024;
inline constexpr std::uint64_t kGranule = 2ull << 20;

enum class Direction { kToDevice, kFromDevice };

// Bits of the processes that hold something.
struct Holders {
  std::uint64_t words[kMostProcesses / 64];
  void Add(int process) { words[process / 64] |= 1ull << (process % 64); }
  void Remove(int process) { words[process / 64] &= ~(1ull << (process % 64)); }
  bool Has(int process) const { return (words[process / 64] >> (process % 64) & 1) != 0; }
  bool Empty() const { return (words[0] | words[1] | words[2] | words[3]) == 0; }
};

struct ProcessSlot {
  std::int32_t pid;  // 0: free
  std::uint64_t start_time;
  std::uint64_t context_bytes[kMostDevices];
  std::uint64_t allocated[kMostDevices];
  std::uint64_t peak[kMostDevices];
  std::uint64_t to_device, from_device, calls;
};

enum class AllocationState : std::uint32_t {
  kFree,
  kHeld,       // by a process
  kExported,   // by a file descriptor alone
  kReleasing,  // by nobody, but not back yet
};

struct AllocationSlot {
  std::uint64_t id;
  std::uint64_t bytes;
  std::uint64_t release_at;  // nanoseconds of the monotonic clock
  AllocationState state;
  std::uint32_t device;
  std::uint32_t handle_types;
  std::uint32_t exported;
  Holders holders;
};

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
  std::int32_t allocations_used;  // slots at and after this one were never used
  std::uint64_t memory, next_id;
  double link;
  std::uint64_t used[kMostDevices], peak[kMostDevices];
  std::uint64_t link_free_at[kMostDevices][2];
  std::uint64_t to_device, from_device, on_device;
  std::uint64_t counters[kMostCounters];
  ProcessSlot processes[kMostProcesses];
  EventSlot events[kMostSharedEvents];
  AllocationSlot allocations[kMostAllocations];
};

struct AllocationInfo {
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
  int device = 0;
  unsigned handle_types = 0;
};

class Card {
 public:
  // Null when the folder cannot be used (said on stderr). An observer takes no place in the table
  // of processes and makes nothing.
  static std::unique_ptr<Card> Open(const Options& options, bool observer = false);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  // This process ends: it holds nothing any more, as if it had died.
  void Leave();

  int devices() const { return state_->devices; }
  std::uint64_t memory() const { return state_->memory; }
  std::uint64_t Used(int device);

  // False when the card is full. New memory is filled with 0xDB.
  bool Allocate(int device, std::uint64_t bytes, unsigned handle_types, AllocationInfo* info);
  // Adds this process to the holders. False when there is no such memory (any more).
  bool Hold(std::uint64_t id, AllocationInfo* info);
  // This process holds it no longer.
  void Drop(std::uint64_t id);
  // The file with the contents, open; -1 on failure.
  int OpenContents(std::uint64_t id) const;
  // A file descriptor that names and keeps the memory, for another process. -1 on failure.
  int Export(std::uint64_t id);
  // The id that such a descriptor names; 0 when it names none.
  static std::uint64_t ImportedId(int descriptor);

  bool AddContextBytes(int device, std::uint64_t bytes);
  void RemoveContextBytes(int device, std::uint64_t bytes);

  // Counts the bytes and waits as long as they need the link.
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
  // What this process holds. Zeros for an observer.
  ProcessSlot Self();
  // A copy, with the dead taken out.
  std::unique_ptr<CardState> Snapshot();

 private:
  Card() = default;
  bool MapState(const Options& options, bool observer);
  void Initialise(const Options& options, bool fresh);
  bool Register();
  void Reclaim();
  void RemoveProcess(int process);
  void Free(AllocationSlot* slot);
  void Abandon(AllocationSlot* slot);
  bool ExportInUse(const AllocationSlot& slot) const;
  AllocationSlot* Find(std::uint64_t id);
  AllocationSlot* FreeSlot();
  bool FillContents(std::uint64_t id, std::uint64_t bytes) const;
  std::string ContentsPath(std::uint64_t id) const;
  std::string ExportPath(std::uint64_t id) const;
  void CountAllocated(int device, std::int64_t bytes);

  class Lock;
  std::string directory_;
  std::uint64_t late_release_nanoseconds_ = 0;
  CardState* state_ = nullptr;
  int process_ = -1;
};

std::uint64_t NowNanoseconds();

}  // namespace fakecuda
