// libnvidia-ml.so.1 for the fake devices: names, total memory and memory per process. Lets the
// daemon measure contexts and detect external processes. As on a real card, NVML knows a
// partitioned card (FAKECUDA_MIG) as one device, and not how much each process uses of it.
//
// While the process is off the card (checkpoint.h), the real library blocks for ever; this one ends
// it. Thread-safe, like NVML; each call reads the shared state anew.
#include <nvml.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "fakecuda/card.h"
#include "fakecuda/options.h"

#define FAKECUDA_EXPORT extern "C" __attribute__((visibility("default")))

namespace fakecuda {
namespace {

std::size_t IndexOf(nvmlDevice_t device) { return reinterpret_cast<std::size_t>(device) - 1; }

// Returns the shared state, or nullptr if no program has created it yet.
std::unique_ptr<Card> Look() {
  std::unique_ptr<Card> card = Card::Open(Options::FromEnvironment(), true);
  if (card != nullptr && card->IsAway()) {
    std::fprintf(stderr, "fakecuda: a call of NVML while the process is off the card\n");
    std::abort();
  }
  return card;
}

bool Is(Nvml nvml) { return Options::FromEnvironment().nvml == nvml; }

std::uint64_t TotalConfigured() {
  const Options options = Options::FromEnvironment();
  return options.instances.empty()
             ? options.memory
             : std::accumulate(options.instances.begin(), options.instances.end(), 0ull);
}

// Returns the devices of the driver that make up a device of NVML.
std::vector<int> DevicesOf(const Card& card, nvmlDevice_t device) {
  if (!card.partitioned()) return {static_cast<int>(IndexOf(device))};
  std::vector<int> all(static_cast<std::size_t>(card.devices()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace
}  // namespace fakecuda

using fakecuda::Card;
using fakecuda::CardState;
using fakecuda::DevicesOf;
using fakecuda::IndexOf;
using fakecuda::Is;
using fakecuda::Look;
using fakecuda::TotalConfigured;

FAKECUDA_EXPORT nvmlReturn_t nvmlInit_v2() {
  Look();
  return Is(fakecuda::Nvml::kNone) ? NVML_ERROR_DRIVER_NOT_LOADED : NVML_SUCCESS;
}
FAKECUDA_EXPORT nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }

FAKECUDA_EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  const fakecuda::Options options = fakecuda::Options::FromEnvironment();
  *count = options.instances.empty() ? static_cast<unsigned>(options.devices) : 1;
  return NVML_SUCCESS;
}

FAKECUDA_EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  *device = reinterpret_cast<nvmlDevice_t>(static_cast<std::size_t>(index) + 1);
  return NVML_SUCCESS;
}

FAKECUDA_EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  // The bytes of cuDeviceGetUuid: "fakecuda-device-" with the device's digit last.
  std::snprintf(uuid, length, "GPU-66616b65-6375-6461-2d64-6576696365%02x",
                static_cast<unsigned>('0' + IndexOf(device)));
  return NVML_SUCCESS;
}

FAKECUDA_EXPORT nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  unsigned count = 0;
  nvmlDeviceGetCount_v2(&count);
  for (unsigned index = 0; index < count; ++index) {
    nvmlDeviceGetHandleByIndex_v2(index, device);
    char known[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
    nvmlDeviceGetUUID(*device, known, sizeof known);
    if (std::strcmp(known, uuid) == 0) return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

FAKECUDA_EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t, char* name, unsigned length) {
  std::snprintf(name, length, "fakecuda");
  return NVML_SUCCESS;
}

FAKECUDA_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  *memory = {};
  const std::unique_ptr<Card> card = Look();
  if (card == nullptr) memory->total = TotalConfigured();
  for (const int index : card == nullptr ? std::vector<int>{} : DevicesOf(*card, device)) {
    memory->total += card->memory(index);
    memory->used += card->Used(index);
  }
  memory->free = memory->total - memory->used;
  return NVML_SUCCESS;
}

FAKECUDA_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device,
                                                                     unsigned* count,
                                                                     nvmlProcessInfo_t* infos) {
  const unsigned room = *count;
  *count = 0;
  const std::unique_ptr<Card> card = Look();
  if (card == nullptr) return NVML_SUCCESS;
  const std::unique_ptr<CardState> state = card->Snapshot();
  const bool unknown = Is(fakecuda::Nvml::kNoProcessMemory) || card->partitioned();
  for (const fakecuda::ProcessSlot& process : state->processes) {
    std::uint64_t used = 0;
    for (const int index : DevicesOf(*card, device)) {
      used += process.Used(index);
    }
    if (process.pid == 0 || used == 0) continue;
    if (*count < room) {
      infos[*count] = {};
      infos[*count].pid = static_cast<unsigned>(process.pid);
      infos[*count].usedGpuMemory =
          unknown ? static_cast<unsigned long long>(NVML_VALUE_NOT_AVAILABLE) : used;
    }
    ++*count;
  }
  return *count <= room ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}
