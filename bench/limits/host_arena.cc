#include "host_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

namespace reveza::bench {

using clients::SecondsNow;

HostArena::HostArena(const clients::Driver& driver, std::size_t bytes)
    : driver_(driver), bytes_(bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) clients::Die("no host memory for the arena");
  data_ = static_cast<unsigned char*>(memory);
  madvise(memory, bytes, MADV_HUGEPAGE);
  const double begin = SecondsNow();
  const std::size_t count = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
  const std::size_t part = (bytes + count - 1) / count;
  std::vector<std::thread> threads;
  for (std::size_t offset = 0; offset < bytes; offset += part) {
    threads.emplace_back([this, offset, size = std::min(part, bytes - offset)] {
      std::memset(data_ + offset, 0x11, size);
    });
  }
  for (std::thread& thread : threads) thread.join();
  touched_ = SecondsNow() - begin;
  REVEZA_CHECK(driver_, cuMemHostRegister(data_, bytes, 0));
  registered_ = SecondsNow() - begin - touched_;
}

HostArena::~HostArena() {
  REVEZA_CHECK(driver_, cuMemHostUnregister(data_));
  munmap(data_, bytes_);
}

}  // namespace reveza::bench
