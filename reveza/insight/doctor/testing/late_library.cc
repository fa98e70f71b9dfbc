// A library with thread-local variables that are too large for the room that the C library keeps:
// a thread that touches them for the first time makes it ask malloc for a block.
#include <cstddef>

namespace {
constexpr std::size_t kBlock = std::size_t{3} << 20;
thread_local char block[kBlock] = {1};
}  // namespace

extern "C" __attribute__((visibility("default"))) char TouchLate(std::size_t at) {
  return ++block[at % kBlock];
}
