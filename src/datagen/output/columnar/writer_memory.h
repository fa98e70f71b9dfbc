// Where Arrow takes the memory of the files it writes. Of each column it has a few large buffers,
// which grow by doubling and of which only the front is used, and it goes on with new ones after
// each row group: a general allocator keeps what was ever touched of them. Here a large buffer is
// pages of its own, which cost nothing before they are written to and grow without a copy. Those
// that are free wait to be used again, as many bytes as were ever in use: new pages for each row
// group took a fifteenth of all the time. Safe from several threads.
#pragma once

#include <arrow/memory_pool.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace reveza::datagen {

class WriterMemory final : public arrow::MemoryPool {
 public:
  // Buffers of more bytes than this are large.
  static constexpr int64_t kMostSmall = int64_t{1} << 17;
  // `small` has the other buffers, and must outlive it.
  explicit WriterMemory(arrow::MemoryPool& small) : small_(small) {}
  // All buffers must be free.
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
  // Nothing waits any more.
  void ReleaseUnused() override;

  int64_t bytes_allocated() const override { return allocated_; }
  int64_t max_memory() const override { return most_allocated_; }
  int64_t total_bytes_allocated() const override { return in_all_; }
  int64_t num_allocations() const override { return allocations_; }
  std::string backend_name() const override { return "pages and " + small_.backend_name(); }

  // Bytes of large buffers that are free and wait.
  int64_t kept() const;

 private:
  static bool IsLarge(int64_t size) { return size > kMostSmall; }
  // Of two, and that is how large such a buffer is.
  static std::size_t PowerOf(int64_t size);
  // Null: none waits.
  uint8_t* TakeKept(std::size_t power);
  uint8_t* TakePages(std::size_t power);
  void GivePages(uint8_t* buffer, std::size_t power);
  // The contents move too; null: there is no memory.
  uint8_t* Resize(uint8_t* buffer, int64_t old_size, int64_t new_size);
  void Count(int64_t more);

  arrow::MemoryPool& small_;

  mutable std::mutex mutex_;
  int64_t kept_ = 0;
  std::array<std::vector<uint8_t*>, 64> free_;  // by their power

  std::atomic<int64_t> allocated_ = 0;
  std::atomic<int64_t> most_allocated_ = 0;
  std::atomic<int64_t> in_all_ = 0;
  std::atomic<int64_t> allocations_ = 0;
};

}  // namespace reveza::datagen
