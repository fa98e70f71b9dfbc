// Copies and fills as work of the card. Everything is called under the lock.
#pragma once

#include <cuda.h>

#include "graph.h"
#include "state.h"

namespace fakecuda {

// A box of bytes: rows of `width`, `height` of them `pitch` apart, `depth` such layers.
struct Box {
  CUdeviceptr start = 0;
  std::uint64_t pitch = 0, layer = 0;
};

struct Transfer {
  Box to, from;
  std::uint64_t width = 0, height = 1, depth = 1;

  std::uint64_t Extent(const Box& box) const {
    return (depth - 1) * box.layer + (height - 1) * box.pitch + width;
  }
  std::uint64_t bytes() const { return width * height * depth; }
};

struct Fill {
  CUdeviceptr start = 0;
  std::uint64_t pitch = 0;
  unsigned value = 0;
  unsigned element = 1;                 // bytes: 1, 2 or 4
  std::uint64_t width = 0, height = 1;  // in elements, in rows
};

inline Transfer Linear(CUdeviceptr to, CUdeviceptr from, std::uint64_t bytes) {
  return {.to = {to, bytes, bytes}, .from = {from, bytes, bytes}, .width = bytes};
}
inline CUdeviceptr AsAddress(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// Where a pointer points.
enum class Place { kDevice, kPinned, kPageable, kNowhere };
// kNowhere: `must_be_device`, and the driver has never heard of it.
Place Locate(const State& state, CUdeviceptr address, bool must_be_device);

// The operation, or why the driver refuses it at once.
CUresult MakeCopy(const State& state, const Transfer& transfer, Operation* operation);
CUresult MakeFill(const State& state, const Fill& fill, Operation* operation);

enum class Wait { kNo, kYes };
// Issues the copy to the stream, with the rules of pinned and pageable memory.
CUresult IssueCopy(Current& current, CUstream stream, const Transfer& transfer, Wait wait);
CUresult IssueFill(Current& current, CUstream stream, const Fill& fill);

}  // namespace fakecuda
