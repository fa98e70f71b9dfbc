#include "transfer.h"

#include <algorithm>
#include <cstring>

#include "executor.h"

namespace fakecuda {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;

// What copies may touch: what a kernel of the context may, and what the memory's own device may.
char* RangeForCopy(Execution& execution, CUdeviceptr start, std::uint64_t bytes, bool write) {
  char* memory = execution.Range(start, bytes, write);
  if (memory != nullptr) return memory;
  return execution.RangeOfOwner(start, bytes, write);
}

struct Sides {
  Place to, from;
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

 private:
  char* Side(Execution& execution, const Box& box, Place place, bool write) const {
    if (place == Place::kPageable) return reinterpret_cast<char*>(box.start);
    return RangeForCopy(execution, box.start, transfer_.Extent(box), write);
  }

  void Pay(const Execution& execution, std::uint64_t* bytes) const {
    Card& card = *State::Get().card;
    const bool to_device = sides_.to == Place::kDevice;
    const bool from_device = sides_.from == Place::kDevice;
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

// The source of a copy that the driver stages: read at once, so that the program may write to it.
std::shared_ptr<std::vector<char>> Stage(Transfer* transfer) {
  auto staged = std::make_shared<std::vector<char>>(transfer->bytes());
  char* at = staged->data();
  const char* from = reinterpret_cast<const char*>(transfer->from.start);
  for (std::uint64_t layer = 0; layer < transfer->depth; ++layer) {
    for (std::uint64_t row = 0; row < transfer->height; ++row, at += transfer->width) {
      std::memcpy(at, from + layer * transfer->from.layer + row * transfer->from.pitch,
                  transfer->width);
    }
  }
  transfer->from = {AsAddress(staged->data()), transfer->width, transfer->width * transfer->height};
  return staged;
}

}  // namespace

Place Locate(const State& state, CUdeviceptr address, bool must_be_device) {
  const Reservation* where = state.addresses.FindReservation(address);
  if (where == nullptr) return must_be_device ? Place::kNowhere : Place::kPageable;
  switch (where->kind) {
    case MemoryKind::kHost:
    case MemoryKind::kRegistered:
    case MemoryKind::kManaged:
      return Place::kPinned;
    default:
      return Place::kDevice;
  }
}

CUresult MakeCopy(const State& state, const Transfer& transfer, Operation* operation) {
  const Sides sides = {Locate(state, transfer.to.start, false),
                       Locate(state, transfer.from.start, false)};
  operation->type = CU_GRAPH_NODE_TYPE_MEMCPY;
  operation->run = Copier(transfer, sides);
  const bool to_device = sides.to == Place::kDevice, from_device = sides.from == Place::kDevice;
  operation->engine = to_device == from_device ? Engine::kCompute
                      : to_device              ? Engine::kToDevice
                                               : Engine::kFromDevice;
  return CUDA_SUCCESS;
}

CUresult MakeFill(const State& state, const Fill& fill, Operation* operation) {
  if (Locate(state, fill.start, true) == Place::kNowhere || fill.start % fill.element != 0 ||
      (fill.height > 1 && fill.pitch < fill.width * fill.element)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  operation->type = CU_GRAPH_NODE_TYPE_MEMSET;
  operation->engine = Engine::kCompute;
  operation->run = [fill](Execution& execution) { return RunFill(execution, fill); };
  operation->memset = {.dst = fill.start,
                       .pitch = fill.pitch,
                       .value = fill.value,
                       .elementSize = fill.element,
                       .width = fill.width,
                       .height = fill.height};
  return CUDA_SUCCESS;
}

CUresult IssueCopy(Current& current, CUstream handle, const Transfer& transfer, Wait wait) {
  State& state = State::Get();
  std::shared_ptr<Stream> stream;
  CUresult result = FindStream(current, handle, &stream);
  if (result != CUDA_SUCCESS) return result;
  const bool capturing = stream->capture != nullptr;
  if (capturing && wait == Wait::kYes) {
    Invalidate(*stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (transfer.bytes() == 0) return CUDA_SUCCESS;
  Transfer staged = transfer;
  std::shared_ptr<std::vector<char>> stage;
  const Place to = Locate(state, transfer.to.start, false);
  const Place from = Locate(state, transfer.from.start, false);
  if (!capturing && wait == Wait::kNo && from == Place::kPageable) {
    current.lock.unlock();
    stage = Stage(&staged);
    current.lock.lock();
  }
  Operation operation;
  result = MakeCopy(state, staged, &operation);
  if (result != CUDA_SUCCESS) return result;
  if (stage != nullptr) {
    operation.run = [stage, run = std::move(operation.run)](Execution& execution) {
      return run(execution);
    };
  }
  result = Issue(current.lock, *stream, std::move(operation));
  if (result != CUDA_SUCCESS || capturing) return result;
  // Host memory that the driver cannot write to late is written before the call returns.
  const bool waits = wait == Wait::kYes && !(to == Place::kDevice && from == Place::kDevice);
  if (!waits && to != Place::kPageable) return CUDA_SUCCESS;
  return WaitForStream(current.lock, *stream);
}

CUresult IssueFill(Current& current, CUstream handle, const Fill& fill) {
  std::shared_ptr<Stream> stream;
  CUresult result = FindStream(current, handle, &stream);
  if (result != CUDA_SUCCESS) return result;
  Operation operation;
  result = MakeFill(State::Get(), fill, &operation);
  if (result != CUDA_SUCCESS) return result;
  return Issue(current.lock, *stream, std::move(operation));
}

}  // namespace fakecuda
