// Managed memory: host memory whose granules take memory of a device while they are there. A
// granule comes when work of the device uses it, which is counted as a fault, or by a prefetch. Use
// by the host is not seen, and leaves it where it is.
#include <sys/mman.h>

#include <algorithm>

#include "fakecuda/executor.h"
#include "fakecuda/graph.h"
#include "fakecuda/memory.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {
namespace {

constexpr std::int8_t kOnHost = -1;

// Moves the granules that overlap a range to `target`, as far as it has room. Returns how many.
std::uint64_t Move(Card& card, Allocation& managed, CUdeviceptr start, std::uint64_t bytes,
                   std::int8_t target) {
  const std::size_t first = (start - managed.start) / kGranule;
  const std::size_t last = std::min<std::size_t>(
      (start + bytes - managed.start + kGranule - 1) / kGranule, managed.pages.size());
  std::uint64_t moved = 0;
  for (std::size_t i = first; i < last; ++i) {
    std::int8_t& page = managed.pages[i];
    if (page == target) continue;
    if (target != kOnHost && !card.AddManaged(target, kGranule)) continue;
    if (page != kOnHost) card.RemoveManaged(page, kGranule);
    page = target;
    ++moved;
  }
  return moved;
}

Allocation* FindManaged(State& state, CUdeviceptr address) {
  Allocation* found = FindAllocation(state, address);
  return found != nullptr && found->kind == MemoryKind::kManaged ? found : nullptr;
}

bool IsInManaged(State& state, CUdeviceptr start, std::uint64_t bytes) {
  const Allocation* managed = FindManaged(state, start);
  return managed != nullptr && bytes > 0 && bytes <= managed->start + managed->bytes - start;
}

bool IsKnown(const State& state, CUmemLocation location) {
  return location.type == CU_MEM_LOCATION_TYPE_HOST ||
         (location.type == CU_MEM_LOCATION_TYPE_DEVICE && state.card->HasDevice(location.id));
}

}  // namespace

void TouchManaged(State& state, int device, CUdeviceptr start, std::uint64_t bytes) {
  Allocation* managed = FindManaged(state, start);
  if (managed == nullptr) return;
  const auto target = static_cast<std::int8_t>(device);
  state.card->CountFaults(Move(*state.card, *managed, start, bytes, target));
}

void ReleaseManaged(Card& card, const Allocation& gone) {
  for (const std::int8_t page : gone.pages) {
    if (page != kOnHost) card.RemoveManaged(page, kGranule);
  }
}

namespace calls {

CUresult cuMemAllocManaged(Current& current, State& state, CUdeviceptr* pointer, size_t bytes,
                           unsigned flags) {
  if (pointer == nullptr || bytes == 0 ||
      (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  void* memory = mmap(nullptr, RoundUp(bytes, 4096), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = reinterpret_cast<CUdeviceptr>(memory);
  state.addresses.AddHost(memory, bytes, MemoryKind::kManaged);
  AddAllocation(current, *pointer, bytes, MemoryKind::kManaged)
      .pages.assign(RoundUp(bytes) / kGranule, kOnHost);
  return CUDA_SUCCESS;
}

CUresult cuMemPrefetchAsync_v2(Current& current, State& state, CUdeviceptr pointer, size_t bytes,
                               CUmemLocation location, unsigned flags, CUstream handle) {
  if (flags != 0 || !IsInManaged(state, pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (!IsKnown(state, location)) return CUDA_ERROR_INVALID_DEVICE;
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, handle, &stream));
  RETURN_IF_ERROR(CheckNotCapturing(*stream));
  const bool to_host = location.type == CU_MEM_LOCATION_TYPE_HOST;
  const auto target = to_host ? kOnHost : static_cast<std::int8_t>(location.id);
  const auto run = [pointer, bytes, target, to_host](Execution& execution) {
    State& all = State::Get();
    StateLock lock(all.mutex);
    Allocation* managed = FindManaged(all, pointer);
    if (managed == nullptr) return CUDA_SUCCESS;
    const std::uint64_t moved = Move(*all.card, *managed, pointer, bytes, target) * kGranule;
    lock.unlock();
    all.card->UseLink(execution.device(), to_host ? Direction::kFromDevice : Direction::kToDevice,
                      moved);
    return CUDA_SUCCESS;
  };
  return Submit(current.lock, *stream,
                {.engine = to_host ? Engine::kFromDevice : Engine::kToDevice, .run = run});
}

CUresult cuMemAdvise_v2(State& state, CUdeviceptr pointer, size_t bytes, CUmem_advise,
                        CUmemLocation) {
  return IsInManaged(state, pointer, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace calls
}  // namespace fakecuda
