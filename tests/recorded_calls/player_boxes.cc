// Copies in two and three dimensions.
#include <algorithm>
#include <cstring>

#include "tests/recorded_calls/driver.h"
#include "tests/recorded_calls/player.h"

namespace reveza::recorded_calls {
namespace {

std::uint64_t AsWord(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// The copy in either struct, as three dimensions.
CUDA_MEMCPY3D AsBox(const CUDA_MEMCPY2D& copy) {
  CUDA_MEMCPY3D box{};
  box.srcXInBytes = copy.srcXInBytes;
  box.srcY = copy.srcY;
  box.srcMemoryType = copy.srcMemoryType;
  box.srcHost = copy.srcHost;
  box.srcDevice = copy.srcDevice;
  box.srcPitch = copy.srcPitch;
  box.dstXInBytes = copy.dstXInBytes;
  box.dstY = copy.dstY;
  box.dstMemoryType = copy.dstMemoryType;
  box.dstHost = copy.dstHost;
  box.dstDevice = copy.dstDevice;
  box.dstPitch = copy.dstPitch;
  box.WidthInBytes = copy.WidthInBytes;
  box.Height = copy.Height;
  box.Depth = 1;
  return box;
}

// One side of a copy.
struct Side {
  std::uint64_t start, pitch, layer;
};

Side SideOf(CUmemorytype type, const void* host, CUdeviceptr device, std::uint64_t x,
            std::uint64_t y, std::uint64_t z, std::uint64_t pitch, std::uint64_t height,
            const CUDA_MEMCPY3D& box) {
  if (pitch == 0) pitch = box.WidthInBytes;
  const std::uint64_t layer = pitch * (height == 0 ? box.Height : height);
  const std::uint64_t base = type == CU_MEMORYTYPE_HOST ? AsWord(host) : device;
  return {base + z * layer + y * pitch + x, pitch, layer};
}

std::uint64_t Extent(const Side& side, const CUDA_MEMCPY3D& box) {
  return (box.Depth - 1) * side.layer + (box.Height - 1) * side.pitch + box.WidthInBytes;
}

}  // namespace

// Copies the same rows, or in a replay with other sizes as many bytes in one row. Memory that the
// program did not allocate from the driver is left out: a row there may be anywhere.
void Player::CopyBox() {
  const bool flat = current_.base.contains("2D");
  const std::string& bytes = current_.values[0].bytes;
  if (bytes.size() < (flat ? sizeof(CUDA_MEMCPY2D) : sizeof(CUDA_MEMCPY3D))) {
    return Skip("of no memory");
  }
  CUDA_MEMCPY3D box{};
  if (flat) {
    CUDA_MEMCPY2D copy;
    std::memcpy(&copy, bytes.data(), sizeof copy);
    box = AsBox(copy);
  } else {
    std::memcpy(&box, bytes.data(), sizeof box);
  }
  if (box.srcMemoryType == CU_MEMORYTYPE_ARRAY || box.dstMemoryType == CU_MEMORYTYPE_ARRAY) {
    return Skip("of arrays");
  }
  if (box.WidthInBytes == 0 || box.Height == 0 || box.Depth == 0) return Skip("of no memory");
  Side sides[2] = {SideOf(box.dstMemoryType, box.dstHost, box.dstDevice, box.dstXInBytes, box.dstY,
                          box.dstZ, box.dstPitch, box.dstHeight, box),
                   SideOf(box.srcMemoryType, box.srcHost, box.srcDevice, box.srcXInBytes, box.srcY,
                          box.srcZ, box.srcPitch, box.srcHeight, box)};
  Range ranges[2];
  for (int i = 0; i < 2; ++i) ranges[i] = memory_.At(sides[i].start, Extent(sides[i], box));
  if (ranges[0].region == nullptr || ranges[1].region == nullptr) {
    return Skip("of memory that was not allocated here");
  }
  if (options_.scale > 1) {
    box.WidthInBytes = std::min({ranges[0].bytes, ranges[1].bytes,
                                 memory_.Scaled(box.WidthInBytes * box.Height * box.Depth)});
    box.Height = box.Depth = 1;
    sides[0].pitch = sides[1].pitch = box.WidthInBytes;
  } else if (ranges[0].bytes < Extent(sides[0], box) || ranges[1].bytes < Extent(sides[1], box)) {
    return Skip("beyond the memory");
  }
  CopyRows(box, {sides[0].pitch, sides[1].pitch}, {sides[0].layer, sides[1].layer}, ranges[0],
           ranges[1], flat);
}

void Player::CopyRows(const CUDA_MEMCPY3D& box, std::pair<std::uint64_t, std::uint64_t> pitches,
                      std::pair<std::uint64_t, std::uint64_t> layers, const Range& to,
                      const Range& from, bool flat) {
  const bool async = current_.values.size() == 2;
  const Stream stream = StreamOf(async ? Number(1) : 0);
  if (!Order(stream, {to.region->storage, from.region->storage})) return;
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = from.address();
  copy.srcPitch = pitches.second;
  copy.dstDevice = to.address();
  copy.dstPitch = pitches.first;
  copy.WidthInBytes = box.WidthInBytes;
  copy.Height = box.Height;
  CUDA_MEMCPY3D cube = AsBox(copy);
  cube.Depth = box.Depth;
  cube.dstHeight = layers.first / pitches.first;
  cube.srcHeight = layers.second / pitches.second;
  std::vector<std::uint64_t> words{flat ? AsWord(&copy) : AsWord(&cube)};
  if (async) words.push_back(stream.handle);
  if (!Do(words)) return;
  After(stream, {to.region->storage, from.region->storage}, [=] {
    for (std::uint64_t z = 0; z < box.Depth; ++z) {
      for (std::uint64_t y = 0; y < box.Height; ++y) {
        CopyBytes(
            {to.region, to.offset + z * layers.first + y * pitches.first, box.WidthInBytes},
            {from.region, from.offset + z * layers.second + y * pitches.second, box.WidthInBytes});
      }
    }
  });
}

}  // namespace reveza::recorded_calls
