// The host arena: pinned host memory that swapped-out pieces are kept in.
//
// Chunks of anonymous memory on huge pages, populated by several threads, registered with the
// driver once and kept until the process ends (pinning runs at a fraction of link speed, so it
// never happens in a handover if Prepare came first). MADV_DONTFORK: a fork would copy pinned
// pages. Grows only within HostHeadroom().
//
// A chunk can be used as soon as it is registered, so chunks are small: who must leave in the
// middle of the preparation waits for the next chunk and not for all of them.
//
// Thread-safety: all methods may be called from any thread; Prepare and a growing Take run long
// and hold no lock while they populate.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "swap/driver.h"
#include "swap/free_ranges.h"
#include "swap/sync.h"

namespace reveza::swap {

class HostArena;

// Where a piece's host copy lives. Move-only; gives the memory back to the arena.
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
  // Eight pieces; at the measured rates 20 ms.
  static constexpr Bytes kChunk = 512 * kMiB;

  // `limit`: never more than this in all. `headroom_root`: see HostHeadroom. `chunk`: a multiple
  // of 2 MiB.
  HostArena(const Driver& driver, Bytes limit, const char* headroom_root = "",
            Bytes chunk = kChunk);
  ~HostArena();
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  // Makes at least `size` bytes of pinned memory exist in all (used and unused together). A
  // context must be current. false: the limit, the headroom or the system forbids it; what was
  // pinned by then stays.
  bool Prepare(Bytes size);
  // `size` bytes, a multiple of 2 MiB; grows when there is no room. Empty when it cannot.
  HostSlot Take(Bytes size);

  Bytes pinned() const;

  // The context in which memory was registered may have ended, and the registrations with it.
  void RegistrationsEnd();
  // Registers again what RegistrationsEnd forgot. A context must be current. Copies to memory that
  // could not be registered still work, slowly.
  void EnsureRegistered();

 private:
  friend class HostSlot;
  struct Chunk {
    char* base;
    FreeRanges ranges;
    bool registered = true;
  };

  bool MayGrow(Bytes size) const;
  bool GrowAlone(Bytes size);
  bool Grow(Bytes size);
  HostSlot TakeFrom(Bytes size);
  void Give(char* data, Bytes size);

  const Driver& driver_;
  const Bytes limit_;
  const char* const headroom_root_;
  const Bytes chunk_;
  mutable Mutex mutex_;
  Condition grown_;
  bool growing_ = false;  // one grower at a time
  std::vector<std::unique_ptr<Chunk>> chunks_;
  Bytes pinned_ = 0;
  bool some_unregistered_ = false;
};

}  // namespace reveza::swap
