#include "reveza/gpu/swap/arena.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/platform/memory_headroom.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; older headers lack it
#endif

namespace reveza::swap {
namespace {

constexpr Bytes kHugePage = 2 * kMiB;
constexpr int kMaxPopulators = 8;  // measured: 8 threads populate at 42 GB/s, pinning then at 59
// Never pinned, whatever the limits. The runner's limits account for it: kLeftFree in
// reveza/jobs/decide/admission.cc.
constexpr Bytes kHeadroomReserve = 256 * kMiB;

struct Share {
  char* base;
  Bytes size;
};

void* Populate(void* argument) {
  const Share& share = *static_cast<Share*>(argument);
  if (madvise(share.base, share.size, MADV_POPULATE_WRITE) != 0) {
    for (Bytes offset = 0; offset < share.size; offset += 4096) {
      *static_cast<volatile char*>(share.base + offset) = 0;
    }
  }
  return nullptr;
}

void PopulateInParallel(char* base, Bytes size) {
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  int threads = online < 1 ? 1 : (online > kMaxPopulators ? kMaxPopulators : int(online));
  const Bytes per_thread = RoundUp((size + threads - 1) / threads, kHugePage);
  pthread_t started[kMaxPopulators];
  Share shares[kMaxPopulators];
  int count = 0;
  for (Bytes offset = 0; offset < size; offset += per_thread) {
    const Bytes part = size - offset < per_thread ? size - offset : per_thread;
    shares[count] = {base + offset, part};
    if (pthread_create(&started[count], nullptr, Populate, &shares[count]) == 0) {
      ++count;
    } else {
      Populate(&shares[count]);
    }
  }
  for (int i = 0; i < count; ++i) pthread_join(started[i], nullptr);
}

}  // namespace

HostSlot& HostSlot::operator=(HostSlot&& other) noexcept {
  if (this != &other) {
    Reset();
    arena_ = other.arena_;
    data_ = other.data_;
    size_ = other.size_;
    other.data_ = nullptr;
  }
  return *this;
}

void HostSlot::Reset() {
  if (data_ != nullptr) arena_->Free(data_, size_);
  data_ = nullptr;
}

HostArena::HostArena(const Driver& driver, Bytes limit, const char* headroom_root, Bytes chunk)
    : driver_(driver), limit_(limit), headroom_root_(headroom_root), chunk_(chunk) {}

HostArena::~HostArena() {
  for (const auto& chunk : chunks_) {
    if (chunk->registered) driver_.HostUnregister(chunk->base);
    munmap(chunk->base, chunk->ranges.size());
  }
}

bool HostArena::MayPrepare(Bytes size) const {
  const Bytes have = pinned();
  return have >= size || MayGrow(RoundUp(size - have, kHugePage));
}

bool HostArena::Prepare(Bytes size) {
  if (!MayPrepare(size)) return false;
  for (;;) {
    MutexLock lock(mutex_);
    while (growing_) grown_.Wait(mutex_);
    if (pinned_ >= size) return true;
    const Bytes missing = RoundUp(size - pinned_, kHugePage);
    if (!GrowUnlocked(missing < chunk_ ? missing : chunk_, /*ahead=*/true)) return false;
  }
}

HostSlot HostArena::Allocate(Bytes size) {
  for (;;) {
    MutexLock lock(mutex_);
    HostSlot slot = AllocateFromChunks(size);
    if (slot) return slot;
    if (growing_) {
      grown_.Wait(mutex_);
    } else if (!GrowUnlocked(RoundUp(size, kHugePage), /*ahead=*/false)) {
      return slot;
    }
  }
}

HostSlot HostArena::AllocateFromPinned(Bytes size) {
  MutexLock lock(mutex_);
  return AllocateFromChunks(size);
}

Bytes HostArena::pinned() const {
  MutexLock lock(mutex_);
  return pinned_;
}

void HostArena::DescribeLimit(char* text, std::size_t capacity) const {
  platform::DescribeHostLimit(headroom_root_, text, capacity);
}

bool HostArena::HasHeadroom(Bytes size) const {
  const Bytes headroom = platform::HostHeadroom(headroom_root_);
  return headroom >= kHeadroomReserve && headroom - kHeadroomReserve >= size;
}

bool HostArena::MayGrow(Bytes size) const { return pinned() + size <= limit_ && HasHeadroom(size); }

bool HostArena::GrowUnlocked(Bytes size, bool ahead) {
  growing_ = true;
  mutex_.Unlock();
  // What another client needs for an eviction comes before what this one prepares.
  if (ahead) ClientLock::LetOthersPass();
  const bool grown = AddChunk(size);
  mutex_.Lock();
  growing_ = false;
  grown_.NotifyAll();
  return grown;
}

bool HostArena::AddChunk(Bytes size) {
  ClientLock lock_of_clients(kLockOfClients);
  if (!lock_of_clients.Acquire(kLockTimeoutUs) || !MayGrow(size)) return false;
  const Bytes reserved = size + kHugePage;
  char* reservation = static_cast<char*>(mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (reservation == MAP_FAILED) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(reservation);
  char* base = reservation + (RoundUp(address, kHugePage) - address);
  if (base > reservation) munmap(reservation, static_cast<std::size_t>(base - reservation));
  char* end = base + size;
  if (end < reservation + reserved) {
    munmap(end, static_cast<std::size_t>(reservation + reserved - end));
  }
  madvise(base, size, MADV_HUGEPAGE);
  madvise(base, size, MADV_DONTFORK);
  PopulateInParallel(base, size);
  if (driver_.HostRegister(base, size, CU_MEMHOSTREGISTER_PORTABLE) != CUDA_SUCCESS) {
    munmap(base, size);
    return false;
  }
  MutexLock lock(mutex_);
  chunks_.push_back(std::make_unique<Chunk>(Chunk{base, FreeRanges(size)}));
  pinned_ += size;
  return true;
}

void HostArena::InvalidateRegistrations() {
  MutexLock lock(mutex_);
  for (const auto& chunk : chunks_) {
    if (chunk->registered) driver_.HostUnregister(chunk->base);
    chunk->registered = false;
  }
  has_unregistered_ = !chunks_.empty();
}

void HostArena::EnsureRegistered() {
  MutexLock lock(mutex_);
  if (!has_unregistered_) return;
  has_unregistered_ = false;
  for (const auto& chunk : chunks_) {
    if (chunk->registered) continue;
    const CUresult result =
        driver_.HostRegister(chunk->base, chunk->ranges.size(), CU_MEMHOSTREGISTER_PORTABLE);
    chunk->registered =
        result == CUDA_SUCCESS || result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    has_unregistered_ = has_unregistered_ || !chunk->registered;
  }
}

HostSlot HostArena::AllocateFromChunks(Bytes size) {
  HostSlot slot;
  for (const auto& chunk : chunks_) {
    if (const auto offset = chunk->ranges.Allocate(size)) {
      slot.arena_ = this;
      slot.data_ = chunk->base + *offset;
      slot.size_ = size;
      break;
    }
  }
  return slot;
}

void HostArena::Free(char* data, Bytes size) {
  MutexLock lock(mutex_);
  for (const auto& chunk : chunks_) {
    if (data >= chunk->base && data < chunk->base + chunk->ranges.size()) {
      chunk->ranges.Free(static_cast<Bytes>(data - chunk->base), size);
      return;
    }
  }
}

}  // namespace reveza::swap
