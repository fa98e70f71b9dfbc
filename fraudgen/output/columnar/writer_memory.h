// Memory pool of Arrow's writers. Writers use a few large, mostly unused buffers per column and new
// ones for each row group, of which a general allocator keeps every touched page. Here, large
// buffers are mmapped: untouched pages cost nothing, and they grow without copying. Freed buffers
// are cached, up to the peak usage; new pages for each row group took a fifteenth of the time.
// Thread-safe.
#pragma once

#include <arrow/memory_pool.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/mutex.h"

namespace reveza::fraudgen {

class WriterMemory final : public arrow::MemoryPool {
 public:
  // Larger buffers are mmapped.
  static constexpr int64_t kMaxSmall = int64_t{1} << 17;
  // `small` allocates the other buffers and must outlive it.
  explicit WriterMemory(arrow::MemoryPool& small) : small_(small) {}
  // All buffers must have been freed.
  ~WriterMemory() override;
  WriterMemory(const WriterMemory&) = delete;
  WriterMemory& operator=(const WriterMemory&) = delete;

  using MemoryPool::Allocate;
  using MemoryPool::Free;
  using MemoryPool::Reallocate;
  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override;
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                           uint8_t** buffer) override;
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override;
  // Releases the cache.
  void ReleaseUnused() override;

  int64_t bytes_allocated() const override { return allocated_; }
  int64_t max_memory() const override { return peak_; }
  int64_t total_bytes_allocated() const override { return total_; }
  int64_t num_allocations() const override { return allocations_; }
  std::string backend_name() const override { return "pages and " + small_.backend_name(); }

  // Returns the bytes of cached buffers.
  int64_t cached() const;

 private:
  static bool IsLarge(int64_t size) { return size > kMaxSmall; }
  // Returns log2 of the size of a large buffer.
  static std::size_t PowerOf(int64_t size);
  // Returns null if none is cached.
  uint8_t* TakeCached(std::size_t power);
  uint8_t* MapPages(std::size_t power);
  void FreePages(uint8_t* buffer, std::size_t power);
  // Keeps the contents; returns null if out of memory.
  uint8_t* Resize(uint8_t* buffer, int64_t old_size, int64_t new_size);
  void Count(int64_t more);

  arrow::MemoryPool& small_;

  mutable Mutex mutex_;
  int64_t cached_ GUARDED_BY(mutex_) = 0;
  std::array<std::vector<uint8_t*>, 64> free_ GUARDED_BY(mutex_);  // by log2 of the size

  std::atomic<int64_t> allocated_ = 0;
  std::atomic<int64_t> peak_ = 0;
  std::atomic<int64_t> total_ = 0;
  std::atomic<int64_t> allocations_ = 0;
};

}  // namespace reveza::fraudgen
