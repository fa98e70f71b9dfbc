// Pinned host memory that holds the contents of swapped-out pieces.
//
// Chunks of anonymous memory on huge pages, populated by several threads, registered with the
// driver once and kept until the process ends. Pinning is slower than the link, so Prepare() pins
// ahead of the first handover. MADV_DONTFORK keeps a fork from copying pinned pages. Grows only
// within HostHeadroom() of common/platform/memory_headroom.h, one client of the daemon at a time:
// what is free is read and taken under a lock, so that two of them never take the same memory.
//
// A chunk is usable as soon as it is registered; chunks are small so that an eviction during
// Prepare() waits for one chunk, not for all of them.
//
// Thread-safe. Prepare() and an Allocate() that grows the arena may take long; they hold no lock
// while populating.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/mutex.h"
#include "reveza/gpu/swap/client_lock.h"
#include "reveza/gpu/swap/driver.h"
#include "reveza/gpu/swap/free_ranges.h"

namespace reveza::swap {

class HostArena;

// Arena memory of one piece's host copy. Move-only; released to the arena on destruction.
class HostSlot {
 public:
  HostSlot() = default;
  ~HostSlot() { Reset(); }
  HostSlot(HostSlot&& other) noexcept { *this = static_cast<HostSlot&&>(other); }
  HostSlot& operator=(HostSlot&& other) noexcept;

  char* data() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }
  void Reset();

 private:
  friend class HostArena;
  HostArena* arena_ = nullptr;
  char* data_ = nullptr;
  Bytes size_ = 0;
};

class HostArena {
 public:
  // Eight pieces; takes about 20 ms to pin at the measured rates.
  static constexpr Bytes kChunk = 512 * kMiB;

  // `limit`: maximum pinned bytes. `headroom_root`: see HostHeadroom(), must outlive the arena.
  // `chunk`: chunk size, a multiple of 2 MiB.
  HostArena(const Driver& driver, Bytes limit, const char* headroom_root = "",
            Bytes chunk = kChunk);
  ~HostArena();
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  // Returns whether the limit and the headroom let the arena grow to `size` bytes.
  bool MayPrepare(Bytes size) const;
  // Grows the arena to at least `size` bytes, used and free together. A context must be current.
  // Returns false if the limit, the headroom or the system prevents it; chunks pinned so far stay.
  bool Prepare(Bytes size);
  // Allocates `size` bytes, a multiple of 2 MiB, growing the arena if necessary. Returns an empty
  // slot if it cannot grow.
  HostSlot Allocate(Bytes size);
  // Likewise, without growing it.
  HostSlot AllocateFromPinned(Bytes size);

  // Calls `make`, which takes `size` bytes of host memory outside the arena, if the headroom lets
  // it, while no other client of the daemon takes any. Returns its result; "out of memory" if it
  // was not called.
  template <typename Make>
  CUresult TakeBeside(Bytes size, Make make) {
    MutexLock lock(mutex_);
    while (growing_) grown_.Wait(mutex_);
    ClientLock lock_of_clients(kLockOfClients);
    if (!lock_of_clients.Acquire(kLockTimeoutUs) || !HasHeadroom(size)) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return make();
  }

  Bytes pinned() const;
  // Writes what limits the arena's growth and how to raise it, as the end of a sentence.
  void DescribeLimit(char* text, std::size_t capacity) const;

  // Marks all chunks unregistered: the context they were registered in is being destroyed.
  void InvalidateRegistrations();
  // Registers unregistered chunks again. A context must be current. Copies to chunks that cannot be
  // registered still work, at pageable speed.
  void EnsureRegistered();

 private:
  friend class HostSlot;
  struct Chunk {
    char* base;
    FreeRanges ranges;
    bool registered = true;
  };

  // To wait for another client that grows its arena; longer than a chunk takes to populate and pin.
  static constexpr std::int64_t kLockTimeoutUs = 10'000'000;
  static constexpr const char* kLockOfClients = "host-memory";

  bool HasHeadroom(Bytes size) const;
  bool MayGrow(Bytes size) const;
  // Grows by one chunk, with the lock released meanwhile; `ahead` of need or at once.
  bool GrowUnlocked(Bytes size, bool ahead) REQUIRES(mutex_);
  bool AddChunk(Bytes size);
  HostSlot AllocateFromChunks(Bytes size) REQUIRES(mutex_);
  void Free(char* data, Bytes size);

  const Driver& driver_;
  const Bytes limit_;
  const char* const headroom_root_;
  const Bytes chunk_;
  mutable Mutex mutex_;
  CondVar grown_;
  bool growing_ GUARDED_BY(mutex_) = false;  // at most one thread grows the arena
  std::vector<std::unique_ptr<Chunk>> chunks_ GUARDED_BY(mutex_);
  Bytes pinned_ GUARDED_BY(mutex_) = 0;
  bool has_unregistered_ GUARDED_BY(mutex_) = false;
};

}  // namespace reveza::swap
