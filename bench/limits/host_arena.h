// Pinned host memory for fast copies: huge pages, touched by several threads, registered once.
// Freed at exit.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::bench {

class HostArena {
 public:
  HostArena(const clients::Driver& driver, std::size_t bytes) : driver_(driver), bytes_(bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) clients::Die("no host memory for the arena");
    data_ = static_cast<unsigned char*>(memory);
    madvise(memory, bytes, MADV_HUGEPAGE);
    const double begin = clients::SecondsNow();
    const std::size_t count = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
    const std::size_t part = (bytes + count - 1) / count;
    std::vector<std::thread> threads;
    for (std::size_t offset = 0; offset < bytes; offset += part) {
      threads.emplace_back([this, offset, size = std::min(part, bytes - offset)] {
        std::memset(data_ + offset, 0x11, size);
      });
    }
    for (std::thread& thread : threads) thread.join();
    touched_ = clients::SecondsNow() - begin;
    REVEZA_CHECK(driver_, cuMemHostRegister(data_, bytes, 0));
    registered_ = clients::SecondsNow() - begin - touched_;
  }
  ~HostArena() {
    REVEZA_CHECK(driver_, cuMemHostUnregister(data_));
    munmap(data_, bytes_);
  }
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  unsigned char* data() const { return data_; }
  double seconds_to_touch() const { return touched_; }
  double seconds_to_register() const { return registered_; }

 private:
  const clients::Driver& driver_;
  const std::size_t bytes_;
  unsigned char* data_ = nullptr;
  double touched_ = 0, registered_ = 0;
};

}  // namespace reveza::bench
