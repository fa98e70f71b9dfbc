// Allocations, and the comparison of what memory holds.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tests/recorded_calls/driver.h"
#include "tests/recorded_calls/player.h"

namespace reveza::recorded_calls {
namespace {

constexpr std::uint64_t kGranularity = 2 << 20;
constexpr std::uint64_t kMaxPendingBytes = 8 << 20;

std::uint64_t AsWord(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

}  // namespace

std::shared_ptr<Region> Player::AddRegion(std::uint64_t recorded, std::uint64_t recorded_bytes,
                                          std::uint64_t address, std::uint64_t bytes, Place place) {
  return memory_.Add({.recorded = recorded,
                      .recorded_bytes = recorded_bytes,
                      .address = address,
                      .bytes = bytes,
                      .place = place,
                      .context = CurrentContext(),
                      .storage = std::make_shared<Storage>(bytes)});
}

void Player::Allocate() {
  std::uint64_t address = 0;
  const std::uint64_t bytes = memory_.Scaled(Number(1));
  if (!Do({AsWord(&address), bytes})) return;
  AddRegion(Written(0), Number(1), address, bytes, Place::kDevice);
}

void Player::AllocatePitch() {
  std::uint64_t address = 0, pitch = 0;
  const std::uint64_t recorded_bytes = Written(1) * Number(3);
  const std::uint64_t bytes = memory_.Scaled(recorded_bytes);
  // One row, so that offsets are what they were.
  if (!Do({AsWord(&address), AsWord(&pitch), bytes, 1, Number(4)})) return;
  AddRegion(Written(0), recorded_bytes, address, bytes, Place::kDevice);
}

void Player::AllocateManaged() {
  std::uint64_t address = 0;
  const std::uint64_t bytes = memory_.Scaled(Number(1));
  if (!Do({AsWord(&address), bytes, Number(2)})) return;
  AddRegion(Written(0), Number(1), address, bytes, Place::kDevice);
}

// cuMemAllocAsync(address, bytes, stream), cuMemAllocFromPoolAsync(address, bytes, pool, stream)
void Player::AllocateAsync() {
  std::uint64_t address = 0;
  const std::uint64_t bytes = memory_.Scaled(Number(1));
  const bool pool = current_.values.size() == 4;
  const Stream stream = StreamOf(Number(pool ? 3 : 2));
  std::vector<std::uint64_t> words{AsWord(&address), bytes};
  if (pool) {
    std::uint64_t handle = 0;
    if (!Map("CUmemoryPool", Number(2), &handle)) return Skip("of a handle that was not made here");
    words.push_back(handle);
  }
  words.push_back(stream.handle);
  if (!Do(words)) return;
  const auto region = AddRegion(Written(0), Number(1), address, bytes, Place::kDevice);
  // At each launch of a graph the memory is new.
  After(stream, {region->storage}, [region] { ForgetBytes({region, 0, region->bytes}); });
}

// cuMemHostAlloc(address, bytes, flags), cuMemAllocHost(address, bytes)
void Player::AllocateHost() {
  std::uint64_t address = 0;
  const std::uint64_t bytes = memory_.Scaled(Number(1));
  std::vector<std::uint64_t> words{AsWord(&address), bytes};
  if (current_.values.size() > 2) words.push_back(Number(2));
  if (!Do(words)) return;
  const auto region = AddRegion(Written(0), Number(1), address, bytes, Place::kHost);
  auto* const host = reinterpret_cast<unsigned char*>(address);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    host[i] = pattern_[(i + current_.record->sequence) % pattern_.size()];
  }
  WriteBytes({region, 0, bytes}, host);
}

void Player::RegisterHost() {
  const std::uint64_t bytes = (memory_.Scaled(Number(1)) + 4095) / 4096 * 4096;
  void* const host =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (host == MAP_FAILED) return Skip("out of host memory");
  std::memset(host, static_cast<int>(current_.record->sequence & 0xff), bytes);
  if (!Do({AsWord(host), bytes, Number(2)})) {
    munmap(host, bytes);
    return;
  }
  const auto region =
      AddRegion(Number(0), Number(1), AsWord(host), memory_.Scaled(Number(1)), Place::kHost);
  WriteBytes({region, 0, region->bytes}, static_cast<const unsigned char*>(host));
}

void Player::UnregisterHost() {
  const auto region = memory_.Find(Number(0));
  if (region == nullptr) return Skip("of memory that was not allocated here");
  CheckRegion(*region);
  if (!Do({region->address})) return;
  munmap(reinterpret_cast<void*>(region->address), (region->bytes + 4095) / 4096 * 4096);
  memory_.Remove(region);
}

void Player::DevicePointer() {
  const auto region = memory_.Find(Number(1));
  if (region == nullptr) return Skip("of memory that was not allocated here");
  std::uint64_t address = 0;
  if (!Do({AsWord(&address), region->address, Number(2)})) return;
  if (Written(0) == region->recorded) return;
  Region alias = *region;
  alias.recorded = Written(0);
  alias.address = address;
  memory_.Add(alias);
}

void Player::Free() {
  const auto region = memory_.Find(Number(0));
  if (Number(0) != 0 && (region == nullptr || region->recorded != Number(0))) {
    return Skip("of memory that was not allocated here");
  }
  if (region != nullptr) CheckRegion(*region);
  if (Do({region != nullptr ? region->address : 0}) && region != nullptr) memory_.Remove(region);
}

void Player::FreeAsync() {
  const auto region = memory_.Find(Number(0));
  if (region == nullptr) return Skip("of memory that was not allocated here");
  const Stream stream = StreamOf(Number(1));
  if (!Order(stream, {region->storage})) return;
  if (!Do({region->address, stream.handle})) return;
  const bool captured = CaptureOf(stream) != 0;
  const auto storage = region->storage;
  memory_.Remove(region);
  // A graph that frees what it allocates can be launched again.
  if (captured) storage->freed = false;
}

void Player::FreeHost() {
  const auto region = memory_.Find(Number(0));
  if (region == nullptr) return Skip("of memory that was not allocated here");
  CheckRegion(*region);
  if (Do({region->address})) memory_.Remove(region);
}

// Addresses cost nothing, so the range keeps its size and mappings keep their places in it.
void Player::Reserve() {
  std::uint64_t address = 0;
  if (!Do({AsWord(&address), Number(1), Number(2), 0, Number(4)})) return;
  reservations_[Written(0)] = {address, Number(1)};
}

void Player::CreateHandle() {
  const std::uint64_t bytes =
      (memory_.Scaled(Number(1)) + kGranularity - 1) / kGranularity * kGranularity;
  std::uint64_t handle = 0;
  std::string properties = current_.values[2].bytes;
  const calls::Type& type = recording_.types()[current_.call->parameters[2].type];
  if (properties.size() < type.bytes ||
      !MapStruct(type, reinterpret_cast<unsigned char*>(properties.data()))) {
    return Skip("of unknown properties");
  }
  if (!Do({AsWord(&handle), bytes, AsWord(properties.data()), Number(3)})) return;
  handle_memory_[Written(0)].push_back({handle, bytes, std::make_shared<Storage>(bytes)});
}

void Player::RetainHandle() {
  const auto region = memory_.Find(Number(1));
  if (region == nullptr) return Skip("of memory that was not allocated here");
  std::uint64_t handle = 0;
  if (!Do({AsWord(&handle), region->address})) return;
  handle_memory_[Written(0)].push_back({handle, region->storage->bytes.size(), region->storage});
}

// cuMemExportToShareableHandle(file, handle, type, flags)
void Player::ExportHandle() {
  const HandleMemory* const memory = FindHandle(Number(1));
  if (memory == nullptr) return Skip("of a handle that was not made here");
  int file = -1;
  if (Number(2) != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return Skip("to no file");
  if (Do({AsWord(&file), memory->handle, Number(2), Number(3)})) {
    exports_[Written(0)] = {file, *memory};
  }
}

// cuMemImportFromShareableHandle(handle, file, type): of what the same process exported.
void Player::ImportHandle() {
  const auto exported = exports_.find(Number(1));
  if (exported == exports_.end()) return Skip("of another process");
  std::uint64_t handle = 0;
  if (!Do({AsWord(&handle), static_cast<std::uint64_t>(exported->second.file), Number(2)})) return;
  HandleMemory memory = exported->second.memory;
  memory.handle = handle;
  handle_memory_[Written(0)].push_back(std::move(memory));
}

const Player::HandleMemory* Player::FindHandle(std::uint64_t recorded) const {
  const auto found = handle_memory_.find(recorded);
  return found == handle_memory_.end() || found->second.empty() ? nullptr : &found->second.back();
}

void Player::ReleaseHandle() {
  const HandleMemory* const memory = FindHandle(Number(0));
  if (memory == nullptr) return Skip("of a handle that was not made here");
  if (Do({memory->handle})) handle_memory_[Number(0)].pop_back();
}

// cuMemMap(address, bytes, offset, handle, flags)
void Player::MapHandle() {
  const HandleMemory* const memory = FindHandle(Number(3));
  auto reservation = reservations_.upper_bound(Number(0));
  if (memory == nullptr || reservation == reservations_.begin()) {
    return Skip("of a handle or memory that was not made here");
  }
  --reservation;
  const std::uint64_t address = reservation->second.address + (Number(0) - reservation->first);
  const std::uint64_t bytes = memory->bytes;
  if (!Do({address, bytes, Number(2), memory->handle, Number(4)})) return;
  memory_.Add({.recorded = Number(0),
               .recorded_bytes = Number(1),
               .address = address,
               .bytes = bytes,
               .place = Place::kMapped,
               .context = CurrentContext(),
               .storage = memory->storage});
}

// cuMemSetAccess(address, bytes, descriptions, count), for each mapping in the range: they are
// smaller than they were.
void Player::SetAccess() {
  const auto regions = memory_.Within(Number(0), Number(1));
  if (regions.empty()) return Skip("of memory that was not allocated here");
  for (const auto& region : regions) {
    Do({region->address, region->bytes, AsWord(current_.values[2].bytes.data()), Number(3)});
  }
}

void Player::Unmap() {
  const auto regions = memory_.Within(Number(0), Number(1));
  if (regions.empty()) return Skip("of memory that was not allocated here");
  for (const auto& region : regions) {
    CheckRegion(*region);
    if (Do({region->address, region->bytes})) memory_.Remove(region);
  }
}

// cuMemPrefetchAsync(address, bytes, device, stream), and with a location and flags.
void Player::Prefetch() {
  const Range range = memory_.At(Number(0), Number(1));
  if (range.region == nullptr) return Skip("of memory that was not allocated here");
  std::vector<std::uint64_t> words{range.address(), range.bytes};
  for (std::size_t i = 2; i + 1 < current_.values.size(); ++i) words.push_back(Number(i));
  words.push_back(StreamOf(Number(current_.values.size() - 1)).handle);
  Do(words);
}

void Player::Compare(const Storage& expected, std::uint64_t begin, const unsigned char* bytes,
                     std::uint64_t count, const std::string& where) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!expected.known[begin + i]) continue;
    ++checked_bytes_;
    if (bytes[i] == expected.bytes[begin + i]) continue;
    return Wrong(where + ": byte " + std::to_string(i) + " of " + std::to_string(count) + " is " +
                 std::to_string(bytes[i]) + ", not " + std::to_string(expected.bytes[begin + i]));
  }
}

// Compares a region, unless a capture forbids to wait for it.
void Player::CheckRegion(const Region& region) {
  if (!captures_.empty() || region.bytes == 0) return;
  Storage& storage = *region.storage;
  if (std::ranges::none_of(storage.known, [](bool known) { return known; })) return;
  CallDriver("cuCtxPushCurrent_v2", region.context);
  if (storage.last != nullptr) CallDriver("cuEventSynchronize", storage.last->event);
  std::vector<unsigned char> bytes(region.bytes);
  CUresult result = CUDA_SUCCESS;
  if (region.place == Place::kHost) {
    std::memcpy(bytes.data(), reinterpret_cast<const void*>(region.address), bytes.size());
  } else {
    result = CallDriver("cuMemcpyDtoH_v2", bytes.data(), region.address, region.bytes);
  }
  std::uint64_t popped = 0;
  CallDriver("cuCtxPopCurrent_v2", &popped);
  const std::string where =
      "memory of " + std::to_string(region.bytes) + " bytes at call " +
      (current_.record == nullptr ? std::string("end") : std::to_string(current_.record->sequence));
  // Managed memory cannot be copied without a context that owns it; mappings without access fail.
  if (result != CUDA_SUCCESS) {
    failures_ += "unread: " + where + ": " + std::to_string(static_cast<int>(result)) + "\n";
    return;
  }
  Compare(storage, 0, bytes.data(), std::min<std::uint64_t>(region.bytes, storage.bytes.size()),
          where);
}

// Compares what was copied to pageable memory, if the copies are complete.
void Player::CheckReads(bool wait) {
  if (!captures_.empty()) return;
  std::uint64_t pending = 0;
  for (const PendingRead& read : reads_) pending += read.bytes.size();
  wait = wait || pending > kMaxPendingBytes;
  std::erase_if(reads_, [&](const PendingRead& read) {
    if (wait) CallDriver("cuEventSynchronize", read.mark->event);
    if (!wait && CallDriver("cuEventQuery", read.mark->event) != CUDA_SUCCESS) return false;
    Compare(*read.expected, 0, read.bytes.data(), read.bytes.size(),
            "copy of call " + std::to_string(read.sequence));
    return true;
  });
}

// Changes a byte that is known, behind the back of the shadow.
void Player::Corrupt() {
  for (const auto& region : memory_.All()) {
    const auto known = std::ranges::find(region->storage->known, true);
    if (region->place != Place::kDevice || known == region->storage->known.end()) continue;
    const auto offset = static_cast<std::uint64_t>(known - region->storage->known.begin());
    const auto value = static_cast<unsigned>(region->storage->bytes[offset]) ^ 1u;
    if (region->storage->last != nullptr) {
      CallDriver("cuEventSynchronize", region->storage->last->event);
    }
    CallDriver("cuMemsetD8_v2", region->address + offset, value, std::uint64_t{1});
    corrupt_at_ = 0;
    return;
  }
}

}  // namespace reveza::recorded_calls
