#include "fraudgen/output/columnar/writer_memory.h"

#include <arrow/status.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace reveza::fraudgen {
namespace {

constexpr std::size_t BytesOf(std::size_t power) { return std::size_t{1} << power; }

arrow::Status NoMemory(int64_t bytes) {
  return arrow::Status::OutOfMemory("cannot allocate ", bytes, " bytes");
}

}  // namespace

WriterMemory::~WriterMemory() { WriterMemory::ReleaseUnused(); }

std::size_t WriterMemory::PowerOf(int64_t size) {
  return static_cast<std::size_t>(std::bit_width(static_cast<uint64_t>(size) - 1));
}

int64_t WriterMemory::cached() const {
  const MutexLock lock(mutex_);
  return cached_;
}

void WriterMemory::Count(int64_t more) {
  const int64_t now = allocated_ += more;
  if (more <= 0) return;
  total_ += more;
  int64_t peak = peak_;
  while (peak < now && !peak_.compare_exchange_weak(peak, now)) {
  }
}

uint8_t* WriterMemory::TakeCached(std::size_t power) {
  const MutexLock lock(mutex_);
  std::vector<uint8_t*>& free = free_[power];
  if (free.empty()) return nullptr;
  uint8_t* const buffer = free.back();
  free.pop_back();
  cached_ -= static_cast<int64_t>(BytesOf(power));
  return buffer;
}

uint8_t* WriterMemory::MapPages(std::size_t power) {
  if (uint8_t* const kept = TakeCached(power)) return kept;
  void* const pages =
      mmap(nullptr, BytesOf(power), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<uint8_t*>(pages);
}

void WriterMemory::FreePages(uint8_t* buffer, std::size_t power) {
  const auto bytes = static_cast<int64_t>(BytesOf(power));
  {
    const MutexLock lock(mutex_);
    if (cached_ + bytes <= peak_) {
      cached_ += bytes;
      free_[power].push_back(buffer);
      return;
    }
  }
  munmap(buffer, BytesOf(power));
}

uint8_t* WriterMemory::Resize(uint8_t* buffer, int64_t old_size, int64_t new_size) {
  const std::size_t before = PowerOf(old_size);
  const std::size_t after = PowerOf(new_size);
  if (before == after) return buffer;
  // Copying is faster than mapping new pages.
  if (uint8_t* const kept = TakeCached(after)) {
    std::memcpy(kept, buffer, static_cast<std::size_t>(std::min(old_size, new_size)));
    FreePages(buffer, before);
    return kept;
  }
  void* const moved = mremap(buffer, BytesOf(before), BytesOf(after), MREMAP_MAYMOVE);
  return moved == MAP_FAILED ? nullptr : static_cast<uint8_t*>(moved);
}

arrow::Status WriterMemory::Allocate(int64_t size, int64_t alignment, uint8_t** out) {
  if (IsLarge(size)) {
    uint8_t* const pages = MapPages(PowerOf(size));
    if (pages == nullptr) return NoMemory(size);
    *out = pages;
  } else {
    ARROW_RETURN_NOT_OK(small_.Allocate(size, alignment, out));
  }
  ++allocations_;
  Count(size);
  return arrow::Status::OK();
}

arrow::Status WriterMemory::Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                                       uint8_t** buffer) {
  if (IsLarge(old_size) != IsLarge(new_size)) {
    uint8_t* other = nullptr;
    ARROW_RETURN_NOT_OK(Allocate(new_size, alignment, &other));
    std::memcpy(other, *buffer, static_cast<std::size_t>(std::min(old_size, new_size)));
    Free(*buffer, old_size, alignment);
    *buffer = other;
    return arrow::Status::OK();
  }
  if (IsLarge(new_size)) {
    uint8_t* const resized = Resize(*buffer, old_size, new_size);
    if (resized == nullptr) return NoMemory(new_size);
    *buffer = resized;
  } else {
    ARROW_RETURN_NOT_OK(small_.Reallocate(old_size, new_size, alignment, buffer));
  }
  ++allocations_;
  Count(new_size - old_size);
  return arrow::Status::OK();
}

void WriterMemory::Free(uint8_t* buffer, int64_t size, int64_t alignment) {
  if (IsLarge(size)) {
    FreePages(buffer, PowerOf(size));
  } else {
    small_.Free(buffer, size, alignment);
  }
  Count(-size);
}

void WriterMemory::ReleaseUnused() {
  {
    const MutexLock lock(mutex_);
    for (std::size_t power = 0; power < free_.size(); ++power) {
      for (uint8_t* const pages : free_[power]) munmap(pages, BytesOf(power));
      free_[power].clear();
    }
    cached_ = 0;
  }
  small_.ReleaseUnused();
}

}  // namespace reveza::fraudgen
