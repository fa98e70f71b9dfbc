// Copies and fills.
#include <algorithm>
#include <cstring>

#include "fakecuda/executor.h"
#include "fakecuda/graph.h"
#include "fakecuda/memory.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;

// Copies may access what a kernel of the context or the owning device may access.
char* RangeForCopy(Execution& execution, CUdeviceptr start, std::uint64_t bytes, bool write) {
  char* memory = execution.Range(start, bytes, write);
  if (memory != nullptr) return memory;
  return execution.RangeOfOwner(start, bytes, write);
}

struct Sides {
  PointerKind to, from;
};

class Copier {
 public:
  Copier(Transfer transfer, Sides sides) : transfer_(transfer), sides_(sides) {}

  CUresult operator()(Execution& execution) const {
    if (transfer_.bytes() == 0) return CUDA_SUCCESS;
    char* to = Side(execution, transfer_.to, sides_.to, true);
    const char* from = Side(execution, transfer_.from, sides_.from, false);
    if (to == nullptr || from == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
    std::uint64_t unpaid = 0;
    for (std::uint64_t layer = 0; layer < transfer_.depth; ++layer) {
      for (std::uint64_t row = 0; row < transfer_.height; ++row) {
        char* row_to = to + layer * transfer_.to.layer + row * transfer_.to.pitch;
        const char* row_from = from + layer * transfer_.from.layer + row * transfer_.from.pitch;
        for (std::uint64_t at = 0; at < transfer_.width; at += kPiece) {
          if (execution.aborted()) return CUDA_ERROR_ILLEGAL_ADDRESS;
          const std::uint64_t bytes = std::min(kPiece, transfer_.width - at);
          std::memmove(row_to + at, row_from + at, bytes);
          unpaid += bytes;
          if (unpaid >= kPiece) Pay(execution, &unpaid);
        }
      }
    }
    if (unpaid > 0) Pay(execution, &unpaid);
    return CUDA_SUCCESS;
  }

  // Reads the source immediately, so that the program may overwrite it.
  void Stage() {
    staged_ = std::make_shared<std::vector<char>>(transfer_.bytes());
    char* at = staged_->data();
    Box& from = transfer_.from;
    for (std::uint64_t layer = 0; layer < transfer_.depth; ++layer) {
      for (std::uint64_t row = 0; row < transfer_.height; ++row, at += transfer_.width) {
        const CUdeviceptr start = from.start + layer * from.layer + row * from.pitch;
        std::memcpy(at, reinterpret_cast<const char*>(start), transfer_.width);
      }
    }
    from = {AsAddress(staged_->data()), transfer_.width, transfer_.width * transfer_.height};
  }

 private:
  char* Side(Execution& execution, const Box& box, PointerKind place, bool write) const {
    if (place == PointerKind::kPageable) return reinterpret_cast<char*>(box.start);
    return RangeForCopy(execution, box.start, transfer_.Extent(box), write);
  }

  void Pay(const Execution& execution, std::uint64_t* bytes) const {
    Card& card = *State::Get().card;
    const bool to_device = sides_.to == PointerKind::kDevice;
    const bool from_device = sides_.from == PointerKind::kDevice;
    if (to_device && from_device) {
      card.CountOnDevice(*bytes);
    } else if (to_device) {
      card.UseLink(execution.device(), Direction::kToDevice, *bytes);
    } else if (from_device) {
      card.UseLink(execution.device(), Direction::kFromDevice, *bytes);
    }
    *bytes = 0;
  }

  Transfer transfer_;
  Sides sides_;
  std::shared_ptr<std::vector<char>> staged_;
};

struct Fill {
  CUdeviceptr start;
  std::uint64_t pitch;
  unsigned value;
  unsigned element;             // bytes: 1, 2 or 4
  std::uint64_t width, height;  // in elements, in rows
};

CUresult RunFill(Execution& execution, const Fill& fill) {
  const std::uint64_t row_bytes = fill.width * fill.element;
  if (row_bytes == 0 || fill.height == 0) return CUDA_SUCCESS;
  char* to = RangeForCopy(execution, fill.start, (fill.height - 1) * fill.pitch + row_bytes, true);
  if (to == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
  for (std::uint64_t row = 0; row < fill.height; ++row) {
    char* at = to + row * fill.pitch;
    if (execution.aborted()) return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (fill.element == 1) {
      std::memset(at, static_cast<int>(fill.value), row_bytes);
    } else {
      for (std::uint64_t i = 0; i < fill.width; ++i) {
        std::memcpy(at + i * fill.element, &fill.value, fill.element);
      }
    }
  }
  return CUDA_SUCCESS;
}

// Required pointer kinds of a copy.
enum class CopySides { kAny, kToDevice, kFromDevice, kOnDevice, kPeers };

CUresult Copy(Current& current, CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
              CopySides sides, CUstream stream, Wait wait) {
  const State& state = State::Get();
  const bool on_device = sides == CopySides::kOnDevice || sides == CopySides::kPeers;
  const bool to_device = sides == CopySides::kToDevice || on_device;
  const bool from_device = sides == CopySides::kFromDevice || on_device;
  if (bytes != 0 && (ClassifyPointer(state, to, to_device) == PointerKind::kUnknown ||
                     ClassifyPointer(state, from, from_device) == PointerKind::kUnknown ||
                     to == 0 || from == 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (bytes != 0 && sides != CopySides::kPeers &&
      (!MayCopy(current, to) || !MayCopy(current, from))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return IssueCopy(current, stream, Linear(to, from, bytes), wait);
}

CUresult IssueFill(Current& current, const Fill& fill, CUstream handle) {
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, handle, &stream));
  const State& state = State::Get();
  const PointerKind kind = ClassifyPointer(state, fill.start, true);
  const bool accessible =
      kind != PointerKind::kDevice ||
      state.addresses.Translate(current.context->device, fill.start, 1, true) != nullptr;
  if (kind == PointerKind::kUnknown || !accessible || fill.start % fill.element != 0 ||
      (fill.height > 1 && fill.pitch < fill.width * fill.element)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto run = [fill](Execution& execution) { return RunFill(execution, fill); };
  return Issue(current.lock, *stream, {.engine = Engine::kCompute, .run = run});
}

}  // namespace

PointerKind ClassifyPointer(const State& state, CUdeviceptr address, bool must_be_device) {
  const Reservation* where = state.addresses.FindReservation(address);
  if (where == nullptr) return must_be_device ? PointerKind::kUnknown : PointerKind::kPageable;
  switch (where->kind) {
    case MemoryKind::kHost:
    case MemoryKind::kRegistered:
    case MemoryKind::kManaged:
      return PointerKind::kPinned;
    default:
      return PointerKind::kDevice;
  }
}

bool MayCopy(const Current& current, CUdeviceptr address) {
  const State& state = State::Get();
  const Reservation* where = state.addresses.FindReservation(address);
  return where == nullptr || where->kind != MemoryKind::kReserved ||
         state.addresses.Translate(current.context->device, address, 1, false) != nullptr;
}

CUresult IssueCopy(Current& current, CUstream handle, const Transfer& transfer, Wait wait) {
  State& state = State::Get();
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, handle, &stream));
  if (wait == Wait::kYes) RETURN_IF_ERROR(CheckNotCapturing(*stream));
  if (transfer.bytes() == 0) return CUDA_SUCCESS;
  const bool capturing = stream->capture != nullptr;
  const Sides sides = {ClassifyPointer(state, transfer.to.start, false),
                       ClassifyPointer(state, transfer.from.start, false)};
  Copier copier(transfer, sides);
  if (!capturing && wait == Wait::kNo && sides.from == PointerKind::kPageable) {
    current.lock.unlock();
    copier.Stage();
    current.lock.lock();
  }
  const bool to_device = sides.to == PointerKind::kDevice;
  const bool from_device = sides.from == PointerKind::kDevice;
  const Engine engine = to_device == from_device ? Engine::kCompute
                        : to_device              ? Engine::kToDevice
                                                 : Engine::kFromDevice;
  RETURN_IF_ERROR(Issue(current.lock, *stream, {.engine = engine, .run = std::move(copier)}));
  if (capturing) return CUDA_SUCCESS;
  // Pageable destinations are written before the call returns.
  const bool waits = wait == Wait::kYes && !(to_device && from_device);
  if (!waits && sides.to != PointerKind::kPageable) return CUDA_SUCCESS;
  return WaitForStream(current.lock, *stream);
}

namespace calls {

CUresult cuMemcpy(Current& current, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return Copy(current, to, from, bytes, CopySides::kAny, nullptr, Wait::kYes);
}

CUresult cuMemcpyAsync(Current& current, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                       CUstream stream) {
  return Copy(current, to, from, bytes, CopySides::kAny, stream, Wait::kNo);
}

CUresult cuMemcpyHtoD_v2(Current& current, CUdeviceptr to, const void* from, size_t bytes) {
  return Copy(current, to, AsAddress(from), bytes, CopySides::kToDevice, nullptr, Wait::kYes);
}

CUresult cuMemcpyHtoDAsync_v2(Current& current, CUdeviceptr to, const void* from, size_t bytes,
                              CUstream stream) {
  return Copy(current, to, AsAddress(from), bytes, CopySides::kToDevice, stream, Wait::kNo);
}

CUresult cuMemcpyDtoH_v2(Current& current, void* to, CUdeviceptr from, size_t bytes) {
  return Copy(current, AsAddress(to), from, bytes, CopySides::kFromDevice, nullptr, Wait::kYes);
}

CUresult cuMemcpyDtoHAsync_v2(Current& current, void* to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  return Copy(current, AsAddress(to), from, bytes, CopySides::kFromDevice, stream, Wait::kNo);
}

CUresult cuMemcpyDtoD_v2(Current& current, CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return Copy(current, to, from, bytes, CopySides::kOnDevice, nullptr, Wait::kYes);
}

CUresult cuMemcpyDtoDAsync_v2(Current& current, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  return Copy(current, to, from, bytes, CopySides::kOnDevice, stream, Wait::kNo);
}

CUresult cuMemcpyPeer(Current& current, CUdeviceptr to, CUcontext /*to_context*/, CUdeviceptr from,
                      CUcontext /*from_context*/, size_t bytes) {
  return Copy(current, to, from, bytes, CopySides::kPeers, nullptr, Wait::kYes);
}

CUresult cuMemcpyPeerAsync(Current& current, CUdeviceptr to, CUcontext /*to_context*/,
                           CUdeviceptr from, CUcontext /*from_context*/, size_t bytes,
                           CUstream stream) {
  return Copy(current, to, from, bytes, CopySides::kPeers, stream, Wait::kNo);
}

CUresult cuMemsetD2D8Async(Current& current, CUdeviceptr start, size_t pitch, unsigned char value,
                           size_t width, size_t height, CUstream stream) {
  return IssueFill(current, {start, pitch, value, 1, width, height}, stream);
}

CUresult cuMemsetD2D16Async(Current& current, CUdeviceptr start, size_t pitch, unsigned short value,
                            size_t width, size_t height, CUstream stream) {
  return IssueFill(current, {start, pitch, value, 2, width, height}, stream);
}

CUresult cuMemsetD2D32Async(Current& current, CUdeviceptr start, size_t pitch, unsigned value,
                            size_t width, size_t height, CUstream stream) {
  return IssueFill(current, {start, pitch, value, 4, width, height}, stream);
}

}  // namespace calls
}  // namespace fakecuda
