// Pinned host memory as fast as it can be had: huge pages, touched by several threads, registered
// once. Given back to the system at exit.
#pragma once

#include <cstddef>

#include "client.h"

namespace reveza::bench {

class HostArena {
 public:
  HostArena(const clients::Driver& driver, std::size_t bytes);
  ~HostArena();
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
